"""Second-order pooling: how outputs respond together, over the cells of a grid or pyramid (stage 6; Carreira and others 2012).

    S = (1/n) Σ f fᵀ  over the n positions of a cell

    root    (S + ε s̄ I)^½      s̄ : the mean of S's diagonal
    log     log(S + ε s̄ I)     a matrix without any response gives 0
    power   √S, entry by entry
    None    S

x : the upper triangle, row by row, what is off the diagonal times √2, so that |x| is the norm of the matrix

F : (h, w, outputs) activations at the positions of one image    S : (outputs, outputs), symmetric
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from poolwise.method.pooling.base import Pooling
from poolwise.method.pooling.first_order import Pool
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Grids, Number, Whole, parameter

if TYPE_CHECKING:
    from poolwise.method.pooling.cells import Cells, Grid
    from poolwise.support.types import Array

LEAST_OFFSET_OF_PRODUCTS = 1e-3  # below it, products alone would need many rounds

DirectionsBy = Literal["variance", "labels"]
Normalize = Literal["root", "power", "log"] | None


@dataclass(frozen=True, repr=False)
class SecondOrder(Pooling):
    """Averages of the products of every two outputs in each cell: K outputs give K (K + 1) / 2 numbers.

    The most accurate pooling for few codes: 50 codes of second order classify as well as thousands of first order, with as
    many features. Which normalisation when: "root" is the most accurate; "power" is nearly so and several times faster; "log"
    suits cells with many positions; None leaves large activations in charge.

    Parameters
    ----------
    grid : int, (rows, columns) or list of these
        Cells to pool over; a list is a pyramid.
    normalize : {"root", "power", "log", None}
    offset : float
        ε of "root" and "log".
    directions : int or None
        Project the numbers of a cell on this many directions, which are learned from the images and the same for all cells: far
        fewer features, and a classifier that learns a hundred times faster. None, or more than a cell has numbers: all as they
        are.
    directions_by : {"variance", "labels"}
        "variance": directions in which the numbers vary most; needs no labels, and a tenth of the numbers costs some accuracy.
        "labels": directions along which ridge regression predicts the y given to `fit`; a tenth of the numbers classifies as
        well as all. Accuracy on images whose labels were seen is then far too high, also in folds of a classifier: choose its
        γ on others, or leave it to `LinearSVM(gamma="auto")`.

    Examples
    --------
    >>> F = np.array([[[1.0, 2.0], [3.0, 0.0]]])
    >>> SecondOrder(grid=1, normalize=None)(F).round(4)
    array([[5.    , 1.4142, 2.    ]])
    """

    words = ("second_order",)

    grid: Grid = parameter(2, Grids(), "Cells to pool over: 2, 2x3, or a pyramid 1,2,4; may be repeated.")
    normalize: Normalize = parameter("root", Choice(("root", "power", "log", None)), "What becomes of second moments.")
    offset: float = parameter(0.1, Number(), "Added to their diagonal, as a share of its mean.", "--moment-offset")
    directions: int | None = parameter(
        None, Whole(none=True), "Project the second moments of a cell on this many directions; none: as they are."
    )
    directions_by: DirectionsBy = parameter(
        "variance", Choice(("variance", "labels")), "Directions of largest variance, or those that predict the labels."
    )

    @property
    def grids(self) -> tuple[tuple[int, int], ...]:
        return Grids().check("SecondOrder.grid", self.grid)

    def width(self, outputs: int) -> int:
        return outputs * (outputs + 1) // 2

    def directions_kept(self, outputs: int) -> int | None:
        return self.directions if self.directions is not None and self.directions < self.width(outputs) else None

    def needs_labels(self, outputs: int) -> bool:
        return self.directions_by == "labels" and self.directions_kept(outputs) is not None

    def names(self, outputs: list[str]) -> list[str]:
        return [f"{a}*{b}" for i, a in enumerate(outputs) for b in outputs[i:]]

    def multiplied(self, outputs: int) -> int:
        return outputs

    def roots_of(self, outputs: int) -> int:
        return outputs if self.normalize in ("root", "log") else 0

    def fitted_to(self, positions: tuple[int, int], *, clip: bool = False) -> Self:
        return self.but(grid=self.first_order().fitted_to(positions, clip=clip).grid)

    def first_order(self) -> Pool:
        return Pool("average", grid=self.grid)

    def statistics(self, F: Array) -> Array:
        from poolwise.method.pooling.cells import cut_cells

        edges = cut_cells(F.shape[:2], self.grids)
        y, x, outputs = edges.y_edges, edges.x_edges, F.shape[2]
        parts = [F[y[a] : y[b], x[c] : x[d]].reshape(-1, outputs) for a, b, c, d in edges.corners]
        return np.stack([f.T @ f / len(f) for f in parts])

    def normalized(self, x: Array) -> Array:
        from poolwise.kernels.moments import pack_upper

        outputs = x.shape[-1]
        if self.normalize in ("root", "log"):
            diagonal = np.arange(outputs)
            added = self.offset * x[..., diagonal, diagonal].mean(axis=-1)
            x = x.copy()
            x[..., diagonal, diagonal] += added[..., None]
            if self.normalize == "root" and x.dtype == np.float32 and self.offset >= LEAST_OFFSET_OF_PRODUCTS:
                x = _fast_roots(x, added)
            else:
                x = matrix_function(x, self.normalize)
        packed = np.empty((*x.shape[:-2], self.width(outputs)), x.dtype)
        flat = np.ascontiguousarray(x).reshape(-1, outputs, outputs)
        pack_upper(flat, self.normalize == "power", packed.reshape(len(flat), -1))
        return packed

    def start(self, cells: Cells, outputs: int) -> Array:
        return np.zeros((len(cells.y_edges) - 1, len(cells.x_edges) - 1, outputs * outputs), np.float32)

    def add(self, F: Array, y: int, cells: Cells, into: Array) -> None:
        for i, (top, bottom) in enumerate(zip(cells.y_edges[:-1] - y, cells.y_edges[1:] - y, strict=True)):
            rows = F[max(top, 0) : max(bottom, 0)]
            for j, (left, right) in enumerate(zip(cells.x_edges[:-1], cells.x_edges[1:], strict=True)):
                f = rows[:, left:right].reshape(-1, F.shape[2])
                into[i, j] += (f.T @ f).ravel()

    def combine(self, into: Array, cells: Cells) -> Array:
        moments = Pool("average").combine(into, cells)
        outputs = round(np.sqrt(moments.shape[2]))
        return moments.reshape(*moments.shape[:2], outputs, outputs)


def _fast_roots(S: Array, least: Array) -> Array:
    """What `matrix_function` gives, by products; each matrix's eigenvalues are at least `least`."""
    from poolwise.kernels.roots import square_roots

    K = S.shape[-1]
    out = np.empty_like(S)
    square_roots(S.reshape(-1, K, K), least.ravel().astype(np.float64), out.reshape(-1, K, K))
    return out


def matrix_function(S: Array, function: Literal["root", "log"]) -> Array:
    """The square root or logarithm of symmetric positive semi-definite matrices, (..., K, K), by their eigenvectors; NaN where
    one is not finite.

    >>> R = matrix_function(np.array([[2.0, 1.0], [1.0, 2.0]]), "root")
    >>> np.allclose(R @ R, [[2, 1], [1, 2]])
    True
    """
    finite: Array = np.asarray(np.isfinite(S).all(axis=(-2, -1), keepdims=True))
    lam, V = np.linalg.eigh(np.where(finite, S, 0))
    lam = np.where(finite[..., 0], np.maximum(lam, 0), np.nan)  # numbers beyond float32, as of a forged model
    if function == "root":
        value = np.sqrt(lam)
    else:
        value = np.log(lam, where=lam > 0, out=np.zeros_like(lam))
    result: Array = (V * value[..., None, :]) @ np.swapaxes(V, -1, -2)
    return result
