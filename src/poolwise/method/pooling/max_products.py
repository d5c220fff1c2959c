"""The largest product of every two outputs over the cells of a grid or pyramid (stage 6; max pooling of Carreira and others).

    x_ij = max f_i f_j  over the positions of a cell,   x ← sign(x) √|x|

x : the upper triangle, row by row    F : (h, w, outputs) activations at the positions of one image
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from poolwise.method.pooling.base import Pooling
from poolwise.method.pooling.first_order import Pool, signed_root
from poolwise.support.lazy import np
from poolwise.support.parameters import Grids, parameter

if TYPE_CHECKING:
    from poolwise.method.pooling.cells import Cells, Grid
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class MaxProducts(Pooling):
    """Whether two outputs respond strongly at one position: K (K + 1) / 2 numbers a cell.

    For sparse activations and large cells; averages (`SecondOrder`) are more accurate on small images, and faster.

    Parameters
    ----------
    grid : int, (rows, columns) or list of these
        Cells to pool over; a list is a pyramid.

    Examples
    --------
    >>> F = np.array([[[1.0, 2.0], [3.0, 0.0]]])
    >>> MaxProducts(grid=1)(F).round(4)
    array([[3.    , 1.4142, 2.    ]])
    """

    words = ("max_products",)

    grid: Grid = parameter(2, Grids(), "Cells to pool over: 2, 2x3, or a pyramid 1,2,4; may be repeated.")

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        return Grids().check("MaxProducts.grid", self.grid)

    def width(self, outputs: int) -> int:
        return outputs * (outputs + 1) // 2

    def multiplied(self, outputs: int) -> int:
        return outputs

    def products(self, outputs: int) -> int:
        return outputs * (outputs + 1) // 2

    def names(self, outputs: list[str]) -> list[str]:
        return [f"{a}*{b}" for i, a in enumerate(outputs) for b in outputs[i:]]

    def fitted_to(self, positions: tuple[int, int], *, clip: bool = False) -> Self:
        return self.but(grid=Pool("average", grid=self.grid).fitted_to(positions, clip=clip).grid)

    def first_order(self) -> Pool:
        return Pool("max", grid=self.grid)

    def statistics(self, F: Array) -> Array:
        from poolwise.method.pooling.cells import cut_cells

        edges = cut_cells(F.shape[:2], self.grids)
        y, x, (i, j) = edges.y_edges, edges.x_edges, np.triu_indices(F.shape[2])
        parts = [F[y[a] : y[b], x[c] : x[d]].reshape(-1, F.shape[2]) for a, b, c, d in edges.corners]
        return np.stack([(f[:, i] * f[:, j]).max(axis=0) for f in parts])

    def normalized(self, x: Array) -> Array:
        return signed_root(x)

    def start(self, cells: Cells, outputs: int) -> Array:
        return np.full((len(cells.y_edges) - 1, len(cells.x_edges) - 1, self.width(outputs)), -np.inf, np.float32)

    def add(self, F: Array, y: int, cells: Cells, into: Array) -> None:
        from poolwise.kernels.moments import largest_products

        for i, (top, bottom) in enumerate(zip(cells.y_edges[:-1] - y, cells.y_edges[1:] - y, strict=True)):
            rows = F[max(top, 0) : max(bottom, 0)]
            for j, (left, right) in enumerate(zip(cells.x_edges[:-1], cells.x_edges[1:], strict=True)):
                largest_products(np.ascontiguousarray(rows[:, left:right]).reshape(-1, F.shape[2]), into[i, j])

    def combine(self, into: Array, cells: Cells) -> Array:
        return Pool("max").combine(into, cells)
