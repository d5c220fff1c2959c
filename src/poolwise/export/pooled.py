"""Pooling, scale and projection as nodes: activations to features.

    first order   Slice and Reduce of every cell
    second order  S = F Fᵀ / n of every cell, F: the outputs that are multiplied
    both orders   Concat of these, cell by cell
    root          Y of  Y ← Y T, Z ← T Z, T = (μ / 2) (3 I - μ² Z Y),  from Y = S / tr S, Z = I

The eigenvalues of (S + ε s̄ I) / tr are at least ε / (m (1 + ε)), m: the rows of S. So μ of every round, which follows from
a bound below them (`kernels.roots`), is known before: the graph has as many rounds as the smallest could need.
"""

import math

import numpy as np

from poolwise.export.graph import Graph, real, whole
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import BothOrders, Pool, SecondOrder
from poolwise.method.pooling.cells import cut_cells
from poolwise.method.scale import Scale
from poolwise.method.symmetry import N_COPIES

_CLOSE = 1e-6  # of all eigenvalues to 1, after the last round
_SMALLEST = 1e-30


def copies(graph: Graph, layer: Layer, x: str) -> str:
    """Images (n, c, H, W) and behind them their copies, (copies · n, c, H, W); see `method.symmetry`."""
    found = []
    for turns in range(4 if layer.symmetry == "dihedral" else 1):
        turned = x
        if turns % 2:
            turned = graph("Transpose", turned, perm=[0, 1, 3, 2])
        for axis in {0: (), 1: (2,), 2: (2, 3), 3: (3,)}[turns]:
            turned = _flipped(graph, turned, axis)
        found.append(turned)
        if layer.symmetry is not None:
            found.append(_flipped(graph, turned, 3))
    return graph.join(found, 0)


def _flipped(graph: Graph, x: str, axis: int) -> str:
    return graph.part(x, (axis,), (-1,), (-(2**31),), -1)


def pooled(graph: Graph, layer: Layer, parts: list[str]) -> str:
    """Activations of all copies, (copies · n, some, h, w) each, to (n, cells, width): averaged over copies and normalised."""
    pooling = layer.pooling
    if isinstance(pooling, Pool):
        return _first_order(graph, layer, pooling, parts)
    if isinstance(pooling, SecondOrder):
        return _second_order(graph, layer, pooling, parts)
    if isinstance(pooling, BothOrders):
        first = _first_order(graph, layer, pooling.first_order(), parts)
        return graph.join([first, _second_order(graph, layer, pooling.second_order, parts)], 2)
    raise AssertionError("check_layer has refused it")


def mean_of_copies(graph: Graph, layer: Layer, x: str, *shape: int) -> str:
    """(copies · n, cells, *shape) to (n, cells, *shape)"""
    if layer.symmetry is None:
        return x
    x = graph.reshape(x, N_COPIES[layer.symmetry], -1, layer.n_cells, *shape)
    return graph("ReduceMean", x, axes=[0], keepdims=0)


def standardized(graph: Graph, x: str, scale: Scale) -> str:
    if not scale.mean.any() and (scale.spread == 1).all():
        return x
    return graph("Div", graph("Sub", x, scale.mean.astype(np.float32)), scale.spread.astype(np.float32))


def projected(graph: Graph, x: str, projection: Projection | None) -> str:
    """(n, cells, width) to features, (n, cells · rows)."""
    return graph("Flatten", x if projection is None else graph("MatMul", x, projection.right), axis=1)


def parts_of_cells(graph: Graph, layer: Layer, x: str, positions: tuple[int, int]) -> list[tuple[str, int]]:
    """Of (n, some, h, w) each cell's part, and how many positions it has; positions : (h, w)"""
    h, w = positions
    cut = cut_cells((h, w), layer.pooling.grids)
    found = []
    for (ya, yb, xa, xb), size in zip(cut.corners.tolist(), cut.sizes.tolist(), strict=True):
        top, bottom, left, right = (int(edge) for edge in (*cut.y_edges[[ya, yb]], *cut.x_edges[[xa, xb]]))
        whole_image = (top, bottom, left, right) == (0, h, 0, w)
        found.append((x if whole_image else graph.part(x, (2, 3), (top, left), (bottom, right)), size))
    return found


def stacked(graph: Graph, cells: list[str]) -> str:
    """What was found of each cell, (n, ...), to (n, cells, ...)."""
    return graph.join([graph("Unsqueeze", cell, whole(1)) for cell in cells], 1)


def _first_order(graph: Graph, layer: Layer, pooling: Pool, parts: list[str]) -> str:
    """Every output by itself, (n, cells, width)."""
    x = mean_of_copies(graph, layer, _reduced_cells(graph, layer, pooling.how, parts), pooling.width(layer.n_outputs))
    x = graph("Sqrt", x) if pooling.how == "rms" else x
    return _signed_root(graph, x) if pooling.root else x


def _reduced_cells(graph: Graph, layer: Layer, how: str, parts: list[str]) -> str:
    """(copies · n, cells, width)"""
    if how == "rms":
        parts = [graph("Mul", part, part) for part in parts]
    by_part = [parts_of_cells(graph, layer, part, layer.positions) for part in parts]
    hows = ("average", "max") if how == "both" else (how,)
    found = []
    for cell in range(layer.n_cells):
        reduced = [_reduced(graph, cells[cell][0], one) for one in hows for cells in by_part]
        found.append(graph.join(reduced, 1))
    return stacked(graph, found)


def _reduced(graph: Graph, x: str, how: str) -> str:
    if how == "sum":
        return graph("ReduceSum", x, whole(2, 3), keepdims=0)
    return graph("ReduceMax" if how == "max" else "ReduceMean", x, axes=[2, 3], keepdims=0)


def _second_order(graph: Graph, layer: Layer, pooling: SecondOrder, parts: list[str]) -> str:
    """Products of the first outputs, as many as the layer's pooling multiplies, (n, cells, width)."""
    m = layer.pooling.multiplied(layer.n_outputs)
    F = _leading(graph, parts, layer.n_outputs, m)
    S = mean_of_copies(graph, layer, _second_moments(graph, layer, F, m), m, m)
    return _normalized(graph, layer, pooling, S, m)


def _leading(graph: Graph, parts: list[str], outputs: int, m: int) -> str:
    """The first m of that many outputs, of which every part has as many."""
    each = outputs // len(parts)
    taken = math.ceil(m / each)
    x = graph.join(parts[:taken], 1)
    return x if m == taken * each else graph.part(x, (1,), (0,), (m,))


def _second_moments(graph: Graph, layer: Layer, x: str, m: int) -> str:
    """Of (copies · n, m, h, w): (copies · n, cells, m, m)."""
    found = []
    for part, size in parts_of_cells(graph, layer, x, layer.positions):
        F = graph.reshape(part, 0, m, size)
        S = graph("MatMul", F, graph("Transpose", F, perm=[0, 2, 1]))
        found.append(graph("Div", S, real(size)))
    return stacked(graph, found)


def _normalized(graph: Graph, layer: Layer, pooling: SecondOrder, S: str, m: int) -> str:
    """(n, cells, m, m) to the upper triangles, (n, cells, width)."""
    if pooling.normalize == "root":
        S = _matrix_root(graph, S, m, pooling.offset)
    rows, columns = np.triu_indices(m)
    flat = graph.reshape(S, 0, layer.n_cells, m * m)
    upper = graph("Gather", flat, (rows * m + columns).astype(np.int64), axis=2)
    if pooling.normalize == "power":
        upper = _signed_root(graph, upper)
    return graph("Mul", upper, np.where(rows == columns, 1, math.sqrt(2)).astype(np.float32))


def _signed_root(graph: Graph, x: str) -> str:
    return graph("Mul", graph("Sign", x), graph("Sqrt", graph("Abs", x)))


def rounds_of_root(least: float) -> list[float]:
    """μ of every round for eigenvalues in [least, 1].

    >>> len(rounds_of_root(0.1 / (50 * 1.1)))
    7
    """
    a, found = math.sqrt(least), list[float]()
    while 1 - a >= _CLOSE:
        found.append(math.sqrt(3 / (1 + a + a * a)))
        a = min(1.0, found[-1] * a * (3 - found[-1] ** 2 * a * a) / 2)
    return found or [1.0]


def _matrix_root(graph: Graph, S: str, m: int, offset: float) -> str:
    """(n, cells, m, m) to (S + ε s̄ I)^½; of zeros to zeros."""
    eye = graph.constant(np.eye(m, dtype=np.float32))
    trace = graph("ReduceSum", graph("Mul", S, eye), whole(2, 3), keepdims=1)
    S = graph("Add", S, graph("Mul", graph("Mul", trace, real(offset / m)), eye))
    norm = graph("Mul", trace, real(1 + offset))
    Y, Z = graph("Div", S, graph("Max", norm, real(_SMALLEST))), ""
    rounds = rounds_of_root(offset / (m * (1 + offset)))
    for number, mu in enumerate(rounds):
        T = graph("MatMul", Z, Y) if number else Y
        T = graph("Add", graph("Mul", T, real(-0.5 * mu**3)), graph("Mul", eye, real(1.5 * mu)))
        Y = graph("MatMul", Y, T)
        if number < len(rounds) - 1:
            Z = graph("MatMul", T, Z) if number else T
    return graph("Mul", Y, graph("Sqrt", norm))
