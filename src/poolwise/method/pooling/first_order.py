"""First-order pooling: each output for itself, over the cells of a grid or pyramid (stage 6 of the method).

    average  (1/n) Σ f      sum  Σ f      max  max f      rms  sqrt((1/n) Σ f²)      both  average, and behind it max

F : (h, w, outputs) activations at the positions of one image    x : (cells, width) pooled activations, width = outputs or, for
both, 2 · outputs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from poolwise.method.pooling.base import Pooling
from poolwise.support.lazy import np
from poolwise.support.parameters import AUTO, Choice, Flag, Grids, parameter

if TYPE_CHECKING:
    from poolwise.method.pooling.cells import Cells, Grid
    from poolwise.support.types import Array

How = Literal["auto", "average", "max", "sum", "rms", "both"]
_BOTH: tuple[Literal["average"], Literal["max"]] = ("average", "max")
_CHOSEN_FROM: dict[How, tuple[int, ...]] = {
    "average": (2, 1, 3, 4),
    "max": (2, 3, 4),
}  # grids of "auto"; the first without labels
_OF_BOTH_ORDERS = (1, 2)  # the same of both orders, which have many more numbers a cell
_LEAST_SIDE = 2  # positions along the side of a cell of "auto"


@dataclass(frozen=True, repr=False)
class Pool(Pooling):
    """Average, maximum, sum or root mean square of each output in each cell, or average and maximum.

    "auto" is decided in `fit`: with labels, the average over 1, 2, 3 or 4 cells a side or the maximum over 2, 3 or 4,
    whichever predicts the labels best when each image is left out in turn; or, where that does clearly better still,
    `BothOrders` over 1 or 2 cells a side. Without labels, the average over 2×2.

    Average keeps how much of a pattern there is and suits small images and many of them; max keeps whether it occurs at all,
    and suits large images and fine grids. "both" is for where neither is clearly better: twice the features at nearly the
    same cost; selection then sees the averages, and there is no projection.

    Parameters
    ----------
    how : {"auto", "average", "max", "sum", "rms", "both"}
    grid : "auto", int, (rows, columns) or list of these
        Cells to pool over; a list is a pyramid.
    root : bool
        x ← sign(x) √|x| of what is pooled: large activations count less.
    """

    words = ("auto", "average", "max", "sum", "rms", "both")
    word_field = "how"

    how: How = parameter("average", Choice(words), "How activations are pooled.", "--pool")
    grid: Grid | str = parameter(2, Grids(AUTO), "Cells to pool over: auto, 2, 2x3, or a pyramid 1,2,4; may be repeated.")
    root: bool = parameter(False, Flag("--no-root"), "Take the root of what is pooled, with its sign.")

    @classmethod
    def of_word(cls, word: str) -> Self:
        return cls(word, AUTO) if word == AUTO else cls(word)  # type: ignore[arg-type]

    @property
    def is_open(self) -> bool:
        return self.how == AUTO or self.grid == AUTO

    def choices(self, positions: tuple[int, int]) -> tuple[Pooling, ...]:
        """
        >>> Pool("max", grid="auto").choices((27, 27))
        (Pool(how='max'), Pool(how='max', grid=3), Pool(how='max', grid=4))
        >>> Pool("auto", grid=2).choices((27, 27))
        (Pool(), Pool(how='max'), BothOrders(), BothOrders(first='max'))
        """
        from poolwise.method.pooling.both_orders import BothOrders

        hows: tuple[How, ...] = tuple(_CHOSEN_FROM) if self.how == AUTO else (self.how,)
        found = []
        for how in hows:
            grids = _CHOSEN_FROM.get(how, _CHOSEN_FROM["average"]) if self.grid == AUTO else (self.grid,)
            found += [Pool(how, grid, self.root) for grid in grids]
        fitting = [pool for pool in found if self.grid != AUTO or _LEAST_SIDE * pool.grids[0][0] <= min(positions)]
        if not fitting:
            return (Pool(hows[0], 1, self.root),)
        if self.how != AUTO or self.root:
            return tuple(fitting)
        once = [pool for pool in fitting if pool.how == hows[0] and (self.grid != AUTO or pool.grid in _OF_BOTH_ORDERS)]
        return (*fitting, *(BothOrders(pool.grid, first=first) for first in _BOTH for pool in once))  # type: ignore[arg-type]

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        if isinstance(self.grid, str):
            raise ValueError(f"{self!r} is decided in fit; the layer that was learned has the grid chosen")
        found: tuple[tuple[int, int], ...] = Grids().check("Pool.grid", self.grid)
        return found

    def width(self, outputs: int) -> int:
        return 2 * outputs if self.how == "both" else outputs

    def names(self, outputs: list[str]) -> list[str]:
        return [f"{name}_{how}" for how in _BOTH for name in outputs] if self.how == "both" else outputs

    def fitted_to(self, positions: tuple[int, int], *, clip: bool = False) -> Self:
        from poolwise.method.pooling.cells import cut_cells

        if self.is_open:
            return self.but(**self.choices(positions)[0].get_params()).fitted_to(positions, clip=clip) if clip else self
        grids = self.grids
        if clip:
            grids = tuple(dict.fromkeys((1, min(columns, positions[1])) for _, columns in grids))
        cut_cells(positions, grids)
        return self.but(grid=list(grids))

    def statistics(self, F: Array) -> Array:
        return pool_activations(
            F * F if self.how == "rms" else F, "average" if self.how == "rms" else self.how, list(self.grids)
        )

    def normalized(self, x: Array) -> Array:
        x = np.sqrt(x) if self.how == "rms" else x
        return signed_root(x) if self.root else x

    def first_order(self) -> Pool:
        return self.but(how="average") if self.how == "both" else self

    def start(self, cells: Cells, outputs: int) -> Array:
        shape = (len(cells.y_edges) - 1, len(cells.x_edges) - 1, self.width(outputs))
        into = np.full(shape, -np.inf if self.how == "max" else 0.0, np.float32)
        into[:, :, outputs:] = -np.inf  # the maxima of "both"
        return into

    def add(self, F: Array, y: int, cells: Cells, into: Array) -> None:
        if self.how == "both":
            for half, part in self._halves(into):
                half.add(F, y, cells, part)
            return
        F = F * F if self.how == "rms" else F
        for i, (top, bottom) in enumerate(zip(cells.y_edges[:-1] - y, cells.y_edges[1:] - y, strict=True)):
            rows = F[max(top, 0) : max(bottom, 0)]
            if not len(rows):
                continue
            for j, (left, right) in enumerate(zip(cells.x_edges[:-1], cells.x_edges[1:], strict=True)):
                part = rows[:, left:right]
                if self.how == "max":
                    np.maximum(into[i, j], part.max(axis=(0, 1)), out=into[i, j])
                else:
                    into[i, j] += part.sum(axis=(0, 1))

    def combine(self, into: Array, cells: Cells) -> Array:
        if self.how == "both":
            return np.concatenate([half.combine(part, cells) for half, part in self._halves(into)], axis=2)
        n, outputs = len(into), into.shape[-1]
        if len(cells.grids) == 1:  # each cell is an atom: nothing to add up, and no other memory
            out = into.reshape(n, len(cells.corners), outputs)
            if self.how in ("average", "rms"):
                out /= cells.sizes[:, None].astype(np.float32)
            return out
        out = np.empty((n, len(cells.corners), outputs), np.float32)
        for cell, (ya, yb, xa, xb) in enumerate(cells.corners):
            part = into[:, ya:yb, xa:xb]
            if self.how == "max":
                part.max(axis=(1, 2), out=out[:, cell])
                continue
            part.sum(axis=(1, 2), out=out[:, cell])
            if self.how != "sum":
                out[:, cell] /= cells.sizes[cell]
        return out

    def _halves(self, into: Array) -> Iterator[tuple[Pool, Array]]:
        """Average and maximum, each with its half of an accumulator."""
        outputs = into.shape[-1] // 2
        return zip((self.but(how=how) for how in _BOTH), (into[..., :outputs], into[..., outputs:]), strict=True)


def signed_root(x: Array) -> Array:
    """sign(x) √|x|."""
    return np.sign(x) * np.sqrt(np.abs(x))


def pool_activations(F: Array, how: How, grid: Grid = 2) -> Array:
    """Pool the activations of one image, (h, w, K) to (cells, K or, for both, 2K); right for negative values too.

    >>> pool_activations(np.arange(16.0).reshape(4, 4, 1), "max", 2).ravel()
    array([ 5.,  7., 13., 15.])
    """
    from poolwise.method.pooling.cells import as_grids, cell_edges

    reduce: dict[str, Callable[[Array], Array]] = {
        "average": lambda f: f.mean(axis=0),
        "max": lambda f: f.max(axis=0),
        "sum": lambda f: f.sum(axis=0),
        "rms": lambda f: np.sqrt((f**2).mean(axis=0)),
        "both": lambda f: np.concatenate([f.mean(axis=0), f.max(axis=0)]),
    }
    Choice(Pool.words[1:]).check("Pool.how", how)  # not "auto"
    h, w, K = F.shape
    pooled = []
    for rows, columns in as_grids(grid):
        ye, xe = cell_edges(h, rows), cell_edges(w, columns)
        for i in range(rows):
            for j in range(columns):
                pooled.append(reduce[how](F[ye[i] : ye[i + 1], xe[j] : xe[j + 1]].reshape(-1, K)))
    return np.stack(pooled)
