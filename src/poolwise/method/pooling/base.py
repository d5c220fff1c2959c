"""What every pooling offers.

F : (h, w, outputs) activations at the positions of one image    x : (cells, width) pooled
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Self

from poolwise.support.lazy import np
from poolwise.support.parameters import Part

if TYPE_CHECKING:
    from poolwise.method.pooling.cells import Cells
    from poolwise.support.types import Array


class Pooling(Part):
    """Activations at positions to numbers per cell."""

    @property
    @abstractmethod
    def grids(self) -> tuple[tuple[int, int], ...]:
        """(rows, columns) of each level of the pyramid."""

    @property
    def is_open(self) -> bool:
        """Whether it is decided in `fit`, from the images: one of `choices`."""
        return False

    def choices(self, positions: tuple[int, int]) -> tuple[Pooling, ...]:
        """What an open one may become on (h, w) positions; the first where there are no labels to choose by."""
        return (self,)

    @property
    def n_cells(self) -> int:
        return sum(rows * columns for rows, columns in self.grids)

    @abstractmethod
    def width(self, outputs: int) -> int:
        """Numbers per cell."""

    def directions_kept(self, outputs: int) -> int | None:
        """How many directions a cell's numbers are projected on; None for all numbers as they are."""
        return None

    def needs_labels(self, outputs: int) -> bool:
        """Whether those directions are learned from labels."""
        return False

    @property
    def multiplies_all(self) -> bool:
        """Whether all outputs are multiplied with each other, so that few of a code are better."""
        return self.multiplied(2) > 0

    def multiplied(self, outputs: int) -> int:
        """How many outputs are multiplied with each other: the first ones."""
        return 0

    def products(self, outputs: int) -> int:
        """Multiplications with an addition per position."""
        return self.multiplied(outputs) ** 2

    def roots_of(self, outputs: int) -> int:
        """Rows of the matrix in every cell that has to be rooted, 0 for none; its third power is most of the work for many."""
        return 0

    def leading(self, K: int) -> int:
        """How many of K codes must come first in a layer since they count for more than the others; K for no order."""
        return K

    def of_codes(self, K: int) -> Self:
        """This pooling for K codes: what does not fit so few is made smaller."""
        return self

    def names(self, outputs: list[str]) -> list[str]:
        """What the numbers of a cell are called."""
        return outputs

    @abstractmethod
    def fitted_to(self, positions: tuple[int, int], *, clip: bool = False) -> Self:
        """This pooling as it works on (h, w) positions; `clip`: with fewer cells where they would not fit."""

    def __call__(self, F: Array) -> Array:
        """(h, w, outputs) to (cells, width): the formula; right for negative activations too."""
        return self.normalized(self.statistics(F))

    @abstractmethod
    def statistics(self, F: Array) -> Array:
        """(h, w, outputs) to (cells, ...): what is averaged over copies of an image before it is normalised."""

    def statistics_of(self, F: Array, has_data: Array) -> Array:
        """The same over the positions that have data alone, (h, w) bool; NaN in cells without any."""
        from poolwise.method.pooling.cells import cut_cells

        if has_data.all():
            return self.statistics(F)
        cells, strip = cut_cells(F.shape[:2], self.grids), self.but(grid=1)  # the positions of a cell as one row
        y, x = cells.y_edges, cells.x_edges
        places = [(slice(y[a], y[b]), slice(x[c], x[d])) for a, b, c, d in cells.corners]
        found = [F[place][has_data[place]][None] for place in places]
        nothing = np.full_like(strip.statistics(F[:1, :1])[0], np.nan)
        return np.stack([strip.statistics(f)[0] if f.size else nothing for f in found])

    def normalized(self, x: Array) -> Array:
        """(..., cells, ...) statistics to (..., cells, width); by default they are the pooled numbers themselves."""
        return x

    @abstractmethod
    def first_order(self) -> Pooling:
        """The pooling whose covariance selection sees, with `outputs` numbers per cell."""

    @abstractmethod
    def start(self, cells: Cells, outputs: int) -> Array:
        """An empty accumulator for `add`, of one image."""

    @abstractmethod
    def add(self, F: Array, y: int, cells: Cells, into: Array) -> None:
        """Take in rows of positions: F (rows, w, outputs) float32, its first row is row y of the image."""

    @abstractmethod
    def combine(self, into: Array, cells: Cells) -> Array:
        """(n, ...) accumulators of n images, which may be overwritten, to their statistics, (n, cells, ...) float32."""
