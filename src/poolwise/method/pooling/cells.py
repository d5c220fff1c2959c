"""The cells of a grid or pyramid (stage 6 of the method).

Row i of h positions belongs to row ⌊i·G/h⌋ of a grid with G rows, so 27 rows split 14 + 13. A pyramid is a list of grids,
and its cells come one after another: grid by grid, row by row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from poolwise.support.parameters import NAME, Grids, ParameterError
from poolwise.support.types import Array

Grid = int | tuple[int, int] | Sequence[int | tuple[int, int]]


def as_grids(grid: Grid) -> tuple[tuple[int, int], ...]:
    """Read what users write: 2 is 2×2, (2, 3) is two rows of three cells, a list is a pyramid.

    >>> as_grids(2), as_grids((2, 3)), as_grids([1, (1, 3)])
    (((2, 2),), ((2, 3),), ((1, 1), (1, 3)))
    """
    return Grids().check("grid", grid)


def cell_edges(h: int, G: int) -> list[int]:
    """Where the G cells of h positions begin, and the end: the i with ⌊i·G/h⌋ = g are edges[g] .. edges[g + 1] - 1.

    >>> cell_edges(27, 2)
    [0, 14, 27]
    """
    if G > h:
        raise ParameterError(
            f"a grid of {G} cells does not fit on a row or column of {h} patch position{'s' * (h > 1)}: some would be empty. "
            f"Give a coarser grid, or a smaller {{Patches.size}} or {{Patches.stride}}",
            **{"Patches.size": NAME, "Patches.stride": NAME},
        )
    return [-(-g * h // G) for g in range(G + 1)]


@dataclass(frozen=True)
class Cells:
    """The cells of a pyramid, cut into atoms so that one pass over the activations serves every level.

    y_edges, x_edges : borders of the atoms, the union of all grids' borders
    corners : (cells, 4), each cell's first and end atom row, first and end atom column
    sizes   : (cells,), positions in each cell
    """

    grids: tuple[tuple[int, int], ...]
    y_edges: Array
    x_edges: Array
    corners: Array
    sizes: Array

    def counts(self, positions: Array) -> Array:
        """(h, w) some positions to (cells,): how many of them each cell has."""
        y, x = self.y_edges, self.x_edges
        return np.array([np.count_nonzero(positions[y[a] : y[b], x[c] : x[d]]) for a, b, c, d in self.corners])


def cut_cells(positions: tuple[int, int], grids: Iterable[tuple[int, int]]) -> Cells:
    """Lay grids over (h, w) positions.

    >>> cut_cells((27, 27), [(2, 2)]).sizes
    array([196, 182, 182, 169])
    """
    grids = tuple(grids)
    h, w = positions
    y_edges = sorted({edge for rows, _ in grids for edge in cell_edges(h, rows)})
    x_edges = sorted({edge for _, columns in grids for edge in cell_edges(w, columns)})
    corners, sizes = [], []
    for rows, columns in grids:
        ye, xe = cell_edges(h, rows), cell_edges(w, columns)
        for i in range(rows):
            for j in range(columns):
                corners.append((y_edges.index(ye[i]), y_edges.index(ye[i + 1]), x_edges.index(xe[j]), x_edges.index(xe[j + 1])))
                sizes.append((ye[i + 1] - ye[i]) * (xe[j + 1] - xe[j]))
    return Cells(grids, np.array(y_edges), np.array(x_edges), np.array(corners), np.array(sizes))
