"""A matrix of features less its mean, and products with it by blocks of rows: it is never copied.

    X_c = X - 1 mᵀ,   m = Σₙ sₙ xₙ / Σₙ sₙ

X : (N, d) float32 or float64, may be a read-only memory map    s : (N,) weights of the samples    V : (k, d)    R : (k, N)
"""

from collections.abc import Iterator

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.kernels import svm as loops
from poolwise.kernels.products import FEW, times_few
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_NUMBERS_PER_BLOCK = 1 << 19  # numbers in a block of rows: 2 MB of float32
# Where rows are long and many, adding up the results of short blocks would show:
_ROWS_PER_LONG_BLOCK, _NUMBERS_PER_LONG_BLOCK, _LONG_BLOCKS = 256, 1 << 22, 64
_SMALL_BYTES = 1 << 23  # bytes that may as well be float64
_CONSTANT_SHARE, _TINY_STD = 1e-14, 1e-100
_FAR_STDS = 100.0


class CentredRows:
    """X_c, by its products.

    Parameters
    ----------
    X : (N, d)
        Up to 8 MB are taken as float64: there, precision costs nothing.
    weight : (N,) float64
        Weights of the samples; not all 0.
    engine : Threads

    Attributes
    ----------
    mean, std : (d,) float64
        Of the columns, weighted; std is 0 for constant columns, whose part in every product is left out, and for those of
        less than 1e-100, which no γ lets matter.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> with Threads(1) as engine:
    ...     rows = CentredRows(X, np.ones(2), engine)
    ...     rows.times(np.array([[2.0, 7.0]]))
    array([[-2.,  2.]])
    """

    def __init__(self, X: Array, weight: Array, engine: Threads) -> None:
        if X.nbytes <= _SMALL_BYTES:
            X = X.astype(np.float64, copy=False)
        self.X, self.weight, self.engine = X, weight, engine
        N, d = X.shape
        self.blocks = spans(N, _rows_per_block(N, d))
        self.mean, self.std = self._moments()
        self.constant = self.std == 0
        # float32 keeps seven digits of a sum: where the mean is far larger than what varies, it goes before the product
        self._shift_first = bool((np.abs(self.mean) > _FAR_STDS * self.std)[~self.constant].any())

    def _moments(self) -> tuple[Array, Array]:
        d = self.X.shape[1]
        shift = self.X[int(np.argmax(self.weight > 0))].astype(np.float64)

        def sums(rows: slice) -> tuple[Array, Array]:
            first, second = np.zeros(d), np.zeros(d)
            loops.weighted_sums(np.ascontiguousarray(self.X[rows]), self.weight[rows], shift, first, second)
            return first, second

        first, second = np.zeros(d), np.zeros(d)
        for a, b in self.engine.map(sums, self.blocks):
            first += a
            second += b
        total = self.weight.sum()
        offset = first / total
        with np.errstate(over="ignore", invalid="ignore"):
            second = second / total - offset**2
        if not np.isfinite(second).all():
            raise ValueError("the features are too large: their squares are beyond float64; rescale them")
        mean = (shift + offset).astype(self.X.dtype).astype(np.float64)  # what is taken off the rows, to the bit
        std = np.sqrt(np.maximum(second, 0))
        return mean, np.where(std > np.maximum(_CONSTANT_SHARE * np.maximum(np.abs(mean), np.abs(offset)), _TINY_STD), std, 0.0)

    def standard(self, rows: slice) -> Array:
        """(X_c / std) √s of a block, 0 in constant columns: what the preconditioner is made of."""
        dtype = self.X.dtype
        block = self.X[rows] - self.mean.astype(dtype)
        block *= np.where(self.constant, 0.0, 1 / np.where(self.constant, 1, self.std)).astype(dtype)
        block *= np.sqrt(self.weight[rows])[:, None].astype(dtype)
        return block

    def standard_blocks(self) -> Iterator[Array]:
        return self.engine.map(self.standard, self.blocks)

    def times(self, V: Array) -> Array:
        """V X_cᵀ, (k, d) to (k, N), in the precision of X."""
        V = np.where(self.constant, 0, V)
        right = V.astype(self.X.dtype)
        out = np.empty((len(V), len(self.X)), self.X.dtype)
        shift = np.zeros((len(V), 1), self.X.dtype) if self._shift_first else (V @ self.mean)[:, None].astype(self.X.dtype)

        few = 1 < len(V) <= FEW and self.X.dtype == np.float32 and self.X.flags.c_contiguous

        def product(rows: slice) -> None:
            if few:
                part = np.empty((len(right), rows.stop - rows.start), np.float32)
                times_few(self._block(rows), right, part)
            else:
                part = right @ self._block(rows).T
            np.subtract(part, shift, out=out[:, rows])

        self.engine.run(product, self.blocks)
        return out

    def transposed_times(self, R: Array) -> Array:
        """R X_c, (k, N) to (k, d) float64: added up over blocks in float64, in the order of the rows."""
        R = R.astype(self.X.dtype, copy=False)
        out = np.zeros((len(R), self.X.shape[1]))
        for part in self.engine.map(lambda rows: R[:, rows] @ self._block(rows), self.blocks):
            out += part
        if not self._shift_first:
            out -= np.outer(R.sum(axis=1, dtype=np.float64), self.mean)
        out[:, self.constant] = 0
        return out

    def centred(self, some: Array, dtype: type = np.float64) -> Array:
        """Some rows of X_c, a copy, 0 in constant columns."""
        part: Array = np.subtract(self.X[some], self.mean, dtype=np.float64).astype(dtype, copy=False)
        part[:, self.constant] = 0
        return part

    def _block(self, rows: slice) -> Array:
        return self.X[rows] - self.mean.astype(self.X.dtype) if self._shift_first else self.X[rows]


def _rows_per_block(N: int, d: int) -> int:
    """How many of N rows of d numbers are multiplied at once: a few in memory are a small part of all."""
    long = min(_ROWS_PER_LONG_BLOCK, _NUMBERS_PER_LONG_BLOCK // d, N // _LONG_BLOCKS)
    return max(16, _NUMBERS_PER_BLOCK // d, long)


def project(X: Array, W: Array, b: Array, engine: Threads) -> Array:
    """X Wᵀ + b by blocks of rows, (N, d) to (N, k), in float64: columns may be far from 0.

    >>> with Threads(1) as engine:
    ...     project(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([5.0]), engine)
    array([[16.]])
    """
    out = np.empty((len(X), len(W)))

    def product(rows: slice) -> None:
        np.add(X[rows].astype(np.float64, copy=False) @ W.T, b, out=out[rows])

    engine.run(product, spans(len(X), _rows_per_block(*X.shape)))
    return out
