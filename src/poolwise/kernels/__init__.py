"""The few compiled inner loops: what NumPy would do in many passes over memory, done while a tile is in cache.

Everything here works on float32 arrays, releases the GIL and starts no thread of its own; `poolwise.extraction` and
`poolwise.kmeans` call it from one thread per shard. The plain NumPy statement of each loop stands in `tests/test_kernels.py`.
"""

from poolwise.kernels.extraction import (
    CONSTANT,
    MAX,
    NEAREST,
    SQUARE,
    SUM,
    THRESHOLD,
    TRIANGLE,
    contrast,
    extract_block,
    nearest_only,
    patch_columns,
    pool_tile,
    shifted_strips,
    triangle,
)
from poolwise.kernels.kmeans import assign_shard, scan_codes, sum_by_label

__all__ = [
    "CONSTANT",
    "MAX",
    "NEAREST",
    "SQUARE",
    "SUM",
    "THRESHOLD",
    "TRIANGLE",
    "assign_shard",
    "contrast",
    "extract_block",
    "nearest_only",
    "patch_columns",
    "pool_tile",
    "scan_codes",
    "shifted_strips",
    "sum_by_label",
    "triangle",
]
