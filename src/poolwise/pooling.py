"""Spatial pooling over the cells of a grid or pyramid (stage 6 of the method).

Row i of h positions belongs to row ⌊i·G/h⌋ of a grid with G rows, so 27 rows split 14 + 13. A pyramid is a list of grids,
and its cells stand one after another: grid by grid, row by row.

    average  (1/n) Σ f      sum  Σ f      max  max f      rms  sqrt((1/n) Σ f²)

F : (h, w, K) activations at the positions of one image    x : (cells, K) pooled activations
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poolwise.arrays import Array

Pool = Literal["average", "max", "sum", "rms"]
Grid = int | tuple[int, int] | Sequence[int | tuple[int, int]]

POOLS = ("average", "max", "sum", "rms")


def as_grids(grid: Grid) -> tuple[tuple[int, int], ...]:
    """Read what users write: 2 is 2×2, (2, 3) is two rows of three cells, a list is a pyramid.

    >>> as_grids(2), as_grids((2, 3)), as_grids([1, (1, 3)])
    (((2, 2),), ((2, 3),), ((1, 1), (1, 3)))
    """
    levels = grid if isinstance(grid, list) else [grid]
    grids = tuple(level if isinstance(level, tuple) else (level, level) for level in levels)
    for rows_columns in grids:
        whole = len(rows_columns) == 2 and all(
            isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 for n in rows_columns
        )
        if not whole:
            raise ValueError(f"grid must be a whole number, (rows, columns), or a list of these; got {grid!r}")
    if not grids or len(set(grids)) < len(grids):
        raise ValueError(f"a pyramid is a list of at least one grid, each different; got {grid!r}")
    return tuple((int(rows), int(columns)) for rows, columns in grids)


def cell_edges(h: int, G: int) -> list[int]:
    """Where the G cells of h positions begin, and the end: the i with ⌊i·G/h⌋ = g are edges[g] .. edges[g + 1] - 1.

    >>> cell_edges(27, 2)
    [0, 14, 27]
    """
    if G > h:
        raise ValueError(
            f"a grid of {G} cells does not fit on a row or column of {h} patch position{'s' * (h > 1)}: some would be empty. "
            f"Give a coarser grid, or a smaller patch_size or stride"
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

    def combine(self, atoms: Array, pool: Pool, out: Array) -> None:
        """Pooled atoms to pooled cells.

        atoms : (n, rows, columns, F) sums, sums of squares (rms) or maxima    out : (n, cells, F), filled in
        """
        for cell, (ya, yb, xa, xb) in enumerate(self.corners):
            part = atoms[:, ya:yb, xa:xb]
            if pool == "max":
                part.max(axis=(1, 2), out=out[:, cell])
                continue
            part.sum(axis=(1, 2), out=out[:, cell])
            if pool != "sum":
                out[:, cell] /= self.sizes[cell]
            if pool == "rms":
                np.sqrt(out[:, cell], out=out[:, cell])


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


def pool_activations(F: Array, pool: Pool, grid: Grid = 2) -> Array:
    """Pool the activations of one image, (h, w, K) to (cells, K); right for negative values too.

    The plain statement of what `extraction` does while the activations are in cache; use it for descriptors of your own.

    >>> pool_activations(np.arange(16.0).reshape(4, 4, 1), "max", 2).ravel()
    array([ 5.,  7., 13., 15.])
    """
    reduce: dict[str, Callable[[Array], Array]] = {
        "average": lambda f: f.mean(axis=0),
        "sum": lambda f: f.sum(axis=0),
        "max": lambda f: f.max(axis=0),
        "rms": lambda f: np.sqrt((f**2).mean(axis=0)),
    }
    h, w, K = F.shape
    pooled = []
    for rows, columns in as_grids(grid):
        ye, xe = cell_edges(h, rows), cell_edges(w, columns)
        for i in range(rows):
            for j in range(columns):
                pooled.append(reduce[pool](F[ye[i] : ye[i + 1], xe[j] : xe[j + 1]].reshape(-1, K)))
    return np.stack(pooled)
