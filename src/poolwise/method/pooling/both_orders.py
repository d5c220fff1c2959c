"""First and second order in the same cells: every output by itself, and products of the first ones (stage 6 of the method).

    x = (x₁, x₂)    x₁ : as `Pool` has them, all outputs    x₂ : as `SecondOrder` has them, the first outputs of `pairs` codes

F : (h, w, outputs) activations at the positions of one image    m : outputs that are multiplied, at most `pairs`
statistics : (cells, outputs + m²), of first order before those of second
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from poolwise.method.pooling.base import Pooling
from poolwise.method.pooling.first_order import Pool
from poolwise.method.pooling.second_order import SecondOrder
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Grids, Number, Whole, parameter

if TYPE_CHECKING:
    from poolwise.method.pooling.cells import Cells, Grid
    from poolwise.method.pooling.second_order import Normalize
    from poolwise.support.types import Array

First = Literal["average", "max"]


@dataclass(frozen=True, repr=False)
class BothOrders(Pooling):
    """All outputs pooled by themselves and, next to them, the products of some.

    With labels "auto" pooling becomes this one where it predicts them clearly better than first order alone, which it mostly
    does: 64 of 200 codes multiplied add what two or three times as many codes of first order would. When `SecondOrder`
    instead: where nearly all codes shall be multiplied, or features be few.

    Parameters
    ----------
    grid : int, (rows, columns) or list of these
        Cells to pool over, the same for both orders; a list is a pyramid.
    pairs : int
        Codes whose first output is multiplied with those of the others; at most as many as there are. They are the first of
        `codes_`: the ones that selection would keep if it were to keep so many.
    first : {"average", "max"}
        How every output is pooled by itself.
    normalize : {"root", "power", "log", None}
        What becomes of the products, as in `SecondOrder`.
    offset : float
        ε of "root" and "log".

    Examples
    --------
    >>> F = np.array([[[1.0, 2.0, 1.0], [3.0, 0.0, 2.0]]])
    >>> BothOrders(grid=1, pairs=2, normalize=None)(F).round(4)
    array([[2.    , 1.    , 1.5   , 5.    , 1.4142, 2.    ]])
    """

    words = ("both_orders",)

    grid: Grid = parameter(2, Grids(), "Cells to pool over: 2, 2x3, or a pyramid 1,2,4; may be repeated.")
    pairs: int = parameter(64, Whole(), "Codes whose products are pooled next to the first order of all.")
    first: First = parameter("average", Choice(("average", "max")), "How every output is pooled by itself.", "--first-order")
    normalize: Normalize = parameter("root", Choice(("root", "power", "log", None)), "What becomes of second moments.")
    offset: float = parameter(0.1, Number(), "Added to their diagonal, as a share of its mean.", "--moment-offset")

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        return Grids().check("BothOrders.grid", self.grid)

    @property
    def multiplies_all(self) -> bool:
        return False

    def multiplied(self, outputs: int) -> int:
        return min(self.pairs, outputs)

    def roots_of(self, outputs: int) -> int:
        return self.second_order.roots_of(self.multiplied(outputs))

    @property
    def second_order(self) -> SecondOrder:
        """Of the outputs that are multiplied."""
        return SecondOrder(self.grid, self.normalize, self.offset)

    def first_order(self) -> Pool:
        return Pool(self.first, grid=self.grid)

    def of_codes(self, K: int) -> Self:
        return self.but(pairs=min(self.pairs, K))

    def leading(self, K: int) -> int:
        return min(self.pairs, K)

    def width(self, outputs: int) -> int:
        return outputs + self.second_order.width(self.multiplied(outputs))

    def names(self, outputs: list[str]) -> list[str]:
        return outputs + self.second_order.names(outputs[: self.multiplied(len(outputs))])

    def fitted_to(self, positions: tuple[int, int], *, clip: bool = False) -> Self:
        return self.but(grid=self.first_order().fitted_to(positions, clip=clip).grid)

    def statistics(self, F: Array) -> Array:
        first = self.first_order().statistics(F)
        second = self.second_order.statistics(F[..., : self.multiplied(F.shape[2])])
        return np.concatenate([first, second.reshape(len(second), -1)], axis=1)

    def normalized(self, x: Array) -> Array:
        outputs, m = self._sizes(x.shape[-1])
        first, S = x[..., :outputs], x[..., outputs:]
        return np.concatenate([first, self.second_order.normalized(S.reshape(*S.shape[:-1], m, m))], axis=-1)

    def start(self, cells: Cells, outputs: int) -> Array:
        parts = self.first_order().start(cells, outputs), self.second_order.start(cells, self.multiplied(outputs))
        return np.concatenate(parts, axis=2)

    def add(self, F: Array, y: int, cells: Cells, into: Array) -> None:
        outputs = F.shape[2]
        self.first_order().add(F, y, cells, into[..., :outputs])
        self.second_order.add(F[..., : self.multiplied(outputs)], y, cells, into[..., outputs:])

    def combine(self, into: Array, cells: Cells) -> Array:
        outputs, _ = self._sizes(into.shape[-1])
        first = self.first_order().combine(np.ascontiguousarray(into[..., :outputs]), cells)
        second = self.second_order.combine(np.ascontiguousarray(into[..., outputs:]), cells)
        return np.concatenate([first, second.reshape(*second.shape[:2], -1)], axis=2)

    def _sizes(self, numbers: int) -> tuple[int, int]:
        """Outputs, and how many of them are multiplied, of that many statistics of a cell."""
        m = self.pairs if numbers >= self.pairs * (self.pairs + 1) else round((np.sqrt(1 + 4 * numbers) - 1) / 2)
        return numbers - m * m, m
