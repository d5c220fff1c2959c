"""The few compiled inner loops: what NumPy would do in many passes over memory, done while a tile is in cache.

Everything here works on float32 arrays, releases the GIL and starts no thread of its own; the method calls it from one thread
per shard. Import the module that has the loop. The plain NumPy statement of each loop is in `tests/kernels/test_kernels.py`.
"""
