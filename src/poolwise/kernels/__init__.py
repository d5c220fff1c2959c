"""The few compiled inner loops: what NumPy would do in many passes over memory, done while a tile is in cache.

Everything here works on float32 arrays, releases the GIL and starts no thread of its own; `poolwise.extraction` and
`poolwise.kmeans` call it from one thread per shard. The plain NumPy statement of each loop stands in `tests/test_kernels.py`.
"""

from poolwise.kernels.affinity import pass_messages
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
from poolwise.kernels.medoids import gains, losses, nearest_two, remove, swap_sweep
from poolwise.kernels.svm import line_slopes, take_step, weighted_sums

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
    "gains",
    "line_slopes",
    "losses",
    "nearest_only",
    "nearest_two",
    "pass_messages",
    "patch_columns",
    "pool_tile",
    "remove",
    "scan_codes",
    "shifted_strips",
    "sum_by_label",
    "swap_sweep",
    "take_step",
    "triangle",
    "weighted_sums",
]
