"""A matrix of features less its mean, and products with it by blocks of rows: it is never copied.

    X_c = X - 1 mᵀ,   m = Σₙ sₙ xₙ / Σₙ sₙ

X : (N, d) float32 or float64, may be a read-only memory map    s : (N,) weights of the samples    V : (k, d)    R : (k, N)
"""

import numpy as np

from poolwise.engine.shards import Shards
from poolwise.engine.threads import Threads
from poolwise.kernels import svm as loops
from poolwise.kernels.products import FEW, times_few
from poolwise.method.statistics import Moments
from poolwise.support.blocks import spans
from poolwise.support.steps import current
from poolwise.support.types import Array
from poolwise.svm.data import Here, as_data, rows_per_block

_CONSTANT_SHARE, _TINY_STD = 1e-14, 1e-100
_FAR_STDS = 100.0


class CentredRows:
    """X_c, by its products.

    Parameters
    ----------
    X : (N, d), an array or shards on the workers of a cluster
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

    def __init__(self, X: Array | Shards, weight: Array, engine: Threads) -> None:
        self.data, self.weight, self.engine = as_data(X, engine), weight, engine
        self.shape, self.dtype, self.nbytes = self.data.shape, self.data.dtype, self.data.nbytes
        self.mean, self.std = self._moments()
        self.constant = self.std == 0
        # float32 keeps seven digits of a sum: where the mean is far larger than what varies, it goes before the product
        self._shift_first = bool((np.abs(self.mean) > _FAR_STDS * self.std)[~self.constant].any())
        self._less = self.mean.astype(self.dtype) if self._shift_first else None

    def _moments(self) -> tuple[Array, Array]:
        """Mean and spread; kept, since they take a pass."""
        work, shape = current(), ("float64", (self.shape[1],))
        known = work.load(name := work.number("moments"), {"mean": shape, "std": shape})
        if known is not None:
            return known["mean"], known["std"]
        mean, std = self._computed_moments()
        work.save(name, {"mean": mean, "std": std})
        return mean, std

    def _computed_moments(self) -> tuple[Array, Array]:
        shift = self.data.take(np.array([np.argmax(self.weight > 0)]))[0].astype(np.float64)
        first, second = self.data.sum(_weighted_sums, shift, beside=[self.weight])
        total = self.weight.sum()
        offset = first / total
        with np.errstate(over="ignore", invalid="ignore"):
            second = second / total - offset**2
        if not np.isfinite(second).all():
            raise ValueError("the features are too large: their squares are beyond float64; rescale them")
        mean = (shift + offset).astype(self.dtype).astype(np.float64)  # what is taken off the rows, to the bit
        std = np.sqrt(np.maximum(second, 0))
        return mean, np.where(std > np.maximum(_CONSTANT_SHARE * np.maximum(np.abs(mean), np.abs(offset)), _TINY_STD), std, 0.0)

    def standard_moments(self, dtype: str) -> Moments:
        """Of the rows (X_c / std) √s, 0 in constant columns: what the preconditioner is made of."""
        factor = np.where(self.constant, 0.0, 1 / np.where(self.constant, 1, self.std))
        how = self.mean.astype(self.dtype), factor.astype(self.dtype)
        return self.data.moments(_standard, *how, beside=[self.weight], dtype=dtype)

    def times(self, V: Array) -> Array:
        """V X_cᵀ, (k, d) to (k, N), in the precision of X."""
        V = np.where(self.constant, 0, V)
        right = V.astype(self.dtype)
        shift = np.zeros((len(V), 1), self.dtype) if self._shift_first else (V @ self.mean)[:, None].astype(self.dtype)
        return self.data.columns(_times, right, shift, self._less, count=len(V))

    def transposed_times(self, R: Array) -> Array:
        """R X_c, (k, N) to (k, d) float64: added up over blocks in float64, in the order of the rows."""
        R = R.astype(self.dtype, copy=False)
        out = self.data.sum(_transposed_times, self._less, beside=[R])
        if not self._shift_first:
            out -= np.outer(R.sum(axis=1, dtype=np.float64), self.mean)
        out[:, self.constant] = 0
        return out

    def centred(self, some: Array, dtype: type = np.float64) -> Array:
        """Some rows of X_c, a copy, 0 in constant columns."""
        part: Array = np.subtract(self.data.take(some), self.mean, dtype=np.float64).astype(dtype, copy=False)
        part[:, self.constant] = 0
        return part

    def array(self) -> Array:
        """X itself, which is here wherever there are more columns than rows."""
        assert isinstance(self.data, Here)  # noqa: S101
        return self.data.X


def _weighted_sums(X: Array, weight: Array, shift: Array) -> Array:
    out = np.zeros((2, X.shape[1]))
    loops.weighted_sums(np.ascontiguousarray(X), weight, shift, out[0], out[1])
    return out


def _standard(X: Array, weight: Array, mean: Array, factor: Array) -> Array:
    block = X - mean
    block *= factor
    block *= np.sqrt(weight)[:, None].astype(X.dtype)
    return block


def _times(X: Array, right: Array, shift: Array, less: Array | None) -> Array:
    X = X if less is None else X - less
    if 1 < len(right) <= FEW and X.dtype == np.float32 and X.flags.c_contiguous:
        part = np.empty((len(right), len(X)), np.float32)
        times_few(X, right, part)
    else:
        part = right @ X.T
    part -= shift
    return part


def _transposed_times(X: Array, R: Array, less: Array | None) -> Array:
    return R @ (X if less is None else X - less)


def project(X: Array | Shards, W: Array, b: Array, engine: Threads) -> Array:
    """X Wᵀ + b by blocks of rows, (N, d) to (N, k), in float64: columns may be far from 0.

    >>> with Threads(1) as engine:
    ...     project(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([5.0]), engine)
    array([[16.]])
    """
    N, d = X.shape
    if isinstance(X, Shards):
        return np.concatenate(list(X.map(_projected, rows_per_block(N, d), W, b)))
    out = np.empty((N, len(W)))

    def product(rows: slice) -> None:
        out[rows] = _margins(X[rows], W, b)

    engine.run(product, spans(N, rows_per_block(N, d)))
    return out


def _margins(X: Array, W: Array, b: Array) -> Array:
    F: Array = X.astype(np.float64, copy=False) @ W.T
    F += b
    return F


def _projected(X: Array, beside: list[Array], block: int, W: Array, b: Array) -> Array:
    return np.concatenate([_margins(X[rows], W, b) for rows in spans(len(X), block)])
