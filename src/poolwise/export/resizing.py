"""Resizing inside a graph, as `open_images(resize=)` does it: by the triangle filter, made wider where pictures shrink.

    y = R_h x R_wᵀ        first the rows of pixels, then the columns

R : (new, old), its rows sum up to 1; pixels of 8 bits are rounded after each product
"""

import numpy as np

from poolwise.export.graph import Graph
from poolwise.support.types import Array

_ONE = float(1 << 22)


def triangle_weights(old: int, new: int) -> Array:
    """(new, old) float64.

    >>> (7 * triangle_weights(4, 2)).round(6)
    array([[3., 3., 1., 0.],
           [0., 1., 3., 3.]])
    """
    scale = old / new
    reach = max(scale, 1.0)
    found = np.zeros((new, old))
    for i in range(new):
        centre = (i + 0.5) * scale
        first, end = max(0, int(centre - reach + 0.5)), min(old, int(centre + reach + 0.5))
        weights = np.maximum(0, 1 - np.abs((np.arange(first, end) - centre + 0.5) / reach))
        found[i, first:end] = weights / weights.sum()
    return found


def resized(graph: Graph, x: str, old: tuple[int, int], new: tuple[int, int], *, is_bytes: bool) -> str:
    """(n, c, *old) float32 to (n, c, *new); is_bytes : whole numbers of 8 bits, which stay such"""
    if old == new:
        return x
    if not is_bytes:
        x = x if old[1] == new[1] else graph("MatMul", x, triangle_weights(old[1], new[1]).T.astype(np.float32))
        return x if old[0] == new[0] else graph("MatMul", triangle_weights(old[0], new[0]).astype(np.float32), x)
    x = graph.cast(x, np.float64)
    if old[1] != new[1]:
        x = graph("Floor", graph("Add", graph("MatMul", x, _of_bytes(old[1], new[1]).T), np.float64(0.5)))
    if old[0] != new[0]:
        x = graph("Floor", graph("Add", graph("MatMul", _of_bytes(old[0], new[0]), x), np.float64(0.5)))
    return graph.cast(x, np.float32)


def _of_bytes(old: int, new: int) -> Array:
    """The weights that Pillow has for whole numbers: multiples of 2⁻²², whose sums float64 holds exactly."""
    return np.ascontiguousarray(np.floor(triangle_weights(old, new) * _ONE + 0.5) / _ONE)
