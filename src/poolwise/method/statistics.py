"""Mean, scale and covariance of samples that arrive in blocks, in parts, in any order (stage 8 of the method).

Two parts with counts n, n', means x̄, x̄' and scatter matrices Q, Q' (Q = Σ (x - x̄)(x - x̄)ᵀ) merge exactly:

    δ = x̄' - x̄       x̄ ← x̄ + δ n'/(n + n')       Q ← Q + Q' + δ δᵀ n n'/(n + n')

X : (samples, M)    mean : (M,)    Q : (M, M), or its diagonal (M,) where the covariance is not wanted
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

from poolwise.support.blocks import spans
from poolwise.support.lazy import np

if TYPE_CHECKING:
    from poolwise.engine import Engine
    from poolwise.engine.cluster import Cluster
    from poolwise.engine.shards import Shards
    from poolwise.engine.threads import Threads
    from poolwise.support.types import Array

_COLUMNS_PER_TILE = 320
_ROWS_PER_BUFFER = 4096
_BYTES_PER_PANEL = 32 << 20  # of a matrix on its way from a worker


class Moments:
    """Streaming first and second moments; memory is M² (or M), whatever the number of samples.

    With `diagonal`, a number that is NaN is left out of its column's moments; n is then (M,), the samples of each.

    Parameters
    ----------
    n_features : int
        M.
    diagonal : bool
        Keep only the variances.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]])
    >>> moments = Moments(2)
    >>> moments.update(X[:1])
    >>> moments.merge(Moments.of(X[1:]))
    >>> moments.mean
    array([2., 3.])
    >>> np.allclose(moments.covariance(), np.cov(X.T, ddof=0))
    True
    """

    def __init__(self, n_features: int, *, diagonal: bool = False) -> None:
        self.n: Any = 0
        self.diagonal = diagonal
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros(n_features if diagonal else (n_features, n_features))

    @classmethod
    def of(cls, X: Array, *, diagonal: bool = False) -> Self:
        """The moments of one block about its own mean: mean and variances in float64, the full scatter in X's precision."""
        X = np.asarray(X, np.result_type(X, np.float32))
        part = cls(X.shape[1], diagonal=diagonal)
        if diagonal and np.isnan(X).any():
            return part._around(X)
        part.n = len(X)
        if part.n:
            part.mean = X.mean(axis=0, dtype=np.float64)
            centred = X - part.mean.astype(X.dtype)
            if diagonal:
                part.scatter = np.einsum("ij,ij->j", centred, centred, dtype=np.float64)
            else:
                part.scatter = (centred.T @ centred).astype(np.float64)
        return part

    def _around(self, X: Array) -> Self:
        """The moments of the numbers that are there."""
        here = ~np.isnan(X)
        self.n = here.sum(axis=0)
        self.mean = np.where(here, X, 0).sum(axis=0, dtype=np.float64) / np.maximum(self.n, 1)
        centred = np.where(here, X - self.mean.astype(X.dtype), 0)
        self.scatter = np.einsum("ij,ij->j", centred, centred, dtype=np.float64)
        return self

    def update(self, X: Array) -> None:
        """Take in a block of samples, (samples, M)."""
        self.merge(type(self).of(X, diagonal=self.diagonal))

    def merge(self, other: Moments) -> None:
        """Take in what another part has seen."""
        if not np.any(other.n):
            return
        total = self.n + other.n
        total = total if np.ndim(total) == 0 else np.maximum(total, 1)
        delta = other.mean - self.mean
        share = self.n * other.n / total
        self.scatter += other.scatter
        self.scatter += delta * delta * share if self.diagonal else np.outer(delta * share, delta)
        self.mean += delta * (other.n / total)
        self.n = self.n + other.n

    def variance(self, ddof: int = 0) -> Array:
        """(M,) variances; 0 where there are too few samples."""
        scatter = self.scatter if self.diagonal else np.diagonal(self.scatter)
        return np.maximum(scatter, 0) / np.maximum(self.n - ddof, 1)

    def covariance(self, ddof: int = 0) -> Array:
        """(M, M) covariance."""
        if self.diagonal:
            raise ValueError("these moments keep variances only; make them with diagonal=False")
        return self.scatter / max(self.n - ddof, 1)

    def scale(self, offset: float, ddof: int = 0) -> Array:
        """(M,) sqrt(variance + offset), what standardised features are divided by; 1 where that would be 0."""
        scale: Array = np.sqrt(self.variance(ddof) + offset)
        return np.where(scale > 0, scale, 1.0)


class CovarianceStream:
    """Full moments of float32 samples that come a few at a time, at the speed of large products on all threads.

    Rows are collected, less the mean of the first ones, into blocks of `buffer_rows`; of each block's symmetric product XᵀX the
    tiles on and below the diagonal are computed and added up in `dtype`.

    Parameters
    ----------
    n_features : int
        M.
    engine : Threads
    buffer_rows : int
        Fewer need less memory, more are faster.
    dtype : {"float64", "float32"}
        Of the sums of blocks' products.

    Examples
    --------
    >>> X = np.arange(12, dtype=np.float32).reshape(6, 2)
    >>> from poolwise.engine.threads import Threads
    >>> with Threads(1) as engine:
    ...     stream = CovarianceStream(2, engine)
    ...     stream.add(X[:4])
    ...     stream.add(X[4:])
    ...     moments = stream.moments()
    >>> moments.n, moments.mean
    (6, array([5., 6.]))
    """

    def __init__(self, n_features: int, engine: Threads, buffer_rows: int = _ROWS_PER_BUFFER, dtype: str = "float64") -> None:
        self._engine = engine
        self._rows = np.empty((buffer_rows, n_features), np.float32)
        self._n = self._filled = 0
        self._centre = np.zeros(n_features, np.float32)
        self._sum, self._products = np.zeros(n_features), np.zeros((n_features, n_features), dtype)

    def add(self, X: Array) -> None:
        """Take in rows, (samples, M)."""
        if self._n + self._filled == 0 and len(X):
            self._centre = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        taken = 0
        while taken < len(X):
            n = min(len(X) - taken, len(self._rows) - self._filled)
            np.subtract(X[taken : taken + n], self._centre, out=self._rows[self._filled : self._filled + n])
            self._filled, taken = self._filled + n, taken + n
            if self._filled == len(self._rows):
                self._multiply()

    def _multiply(self) -> None:
        X = self._rows[: self._filled]

        def multiply(tile: tuple[slice, slice]) -> None:
            below, left = tile
            self._products[below, left] += _product(X, tile)
            if below == left:
                self._sum[below] += X[:, below].sum(axis=0, dtype=np.float64)

        self._engine.run(multiply, _tiles(X.shape[1]))
        self._n, self._filled = self._n + self._filled, 0

    def moments(self) -> Moments:
        """What has been seen; ends the stream."""
        self._multiply()
        return _moments(self._n, self._centre, self._sum, self._products)


def _tiles(M: int) -> list[tuple[slice, slice]]:
    """Those of an (M, M) matrix on and below the diagonal."""
    columns = spans(M, _COLUMNS_PER_TILE)
    return [(below, left) for j, below in enumerate(columns) for left in columns[: j + 1]]


def _product(X: Array, tile: tuple[slice, slice]) -> Array:
    below, left = tile
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float32 is seen in the result
        found: Array = X[:, below].T @ X[:, left]
    return found


def _moments(n: int, centre: Array, sums: Array, Q: Array) -> Moments:
    """From the sums of n rows less their centre, and of their products, whose tiles above the diagonal are filled in."""
    result = Moments(len(sums), diagonal=True)  # no second matrix
    result.n, result.diagonal, result.scatter = n, False, Q
    if n:
        shift = sums / n
        result.mean = shift + centre
        for part in spans(len(Q), _COLUMNS_PER_TILE):
            Q[part, : part.stop] -= (n * np.outer(shift[part], shift[: part.stop])).astype(Q.dtype, copy=False)
            Q[: part.start, part] = Q[part, : part.start].T
    return result


def moments_of_rows(
    engine: Engine,
    make: Callable[..., tuple[Array, Any]],
    shards: Sequence[Any],
    *common: Any,
    counts: Sequence[int],
    width: int,
    each: Callable[[int, Any], None],
) -> Moments:
    """Full moments of the float32 rows that make(shard, *common) gives, to the bits of `CovarianceStream`; on a cluster there.

    make : (rows, anything)    counts : rows of each shard    each : called with a shard's number and its anything, in order
    """
    if engine.shares_memory:
        stream = CovarianceStream(width, engine.local)
        for number, (X, other) in enumerate(engine.map(make, shards, *common)):
            stream.add(X)
            each(number, other)
        return stream.moments()
    folding = cast("Cluster", engine).fold(
        make, shards, *common, counts=counts, size=_ROWS_PER_BUFFER, first=_mean_of_rows, part=_sums_of_rows, add=_add_sums
    )
    for number, other in enumerate(folding):
        each(number, other)
    sums, Q = folding.of_state(_sums), np.empty((width, width))
    for rows in spans(width, max(1, _BYTES_PER_PANEL // (8 * width))):
        Q[rows] = folding.of_state(_panel, rows)
    return _moments(sum(counts), folding.centre(), sums, Q)


def moments_of_shards(
    shards: Shards, block: int, make: Callable[..., Array], *common: Any, beside: Sequence[Array], dtype: str = "float64"
) -> Moments:
    """Full moments of the float32 rows make(rows, *beside, *common) of rows on workers, `block` of them at a time.

    To the bits of a `CovarianceStream` whose buffer is a shard.
    """
    width = shards.shape[1]
    centre = shards.of_first(_first_mean, block, make, *common, beside=beside)
    add = partial(_add_sums, dtype=dtype)
    state = shards.fold(_sums_of_shard, add, block, centre, make, *common, beside=beside)
    sums, Q = state.ask(_sums), np.empty((width, width), dtype)
    for rows in spans(width, max(1, _BYTES_PER_PANEL // (8 * width))):
        Q[rows] = state.ask(_panel, rows)
    return _moments(len(shards), centre, sums, Q)


def _made_of(X: Array, beside: list[Array], rows: slice, make: Callable[..., Array], common: Sequence[Any]) -> Array:
    return make(X[rows], *[array[..., rows] for array in beside], *common)


def _first_mean(X: Array, beside: list[Array], block: int, make: Callable[..., Array], *common: Any) -> Array:
    return _mean_of_rows(_made_of(X, beside, slice(0, min(block, len(X))), make, common))


def _sums_of_shard(
    X: Array, beside: list[Array], block: int, centre: Array, make: Callable[..., Array], *common: Any
) -> tuple[Array, list[Array]]:
    found = np.empty(X.shape, np.float32)
    for rows in spans(len(X), block):
        found[rows] = _made_of(X, beside, rows, make, common)
    return _sums_of_rows(found, centre)


def _mean_of_rows(X: Array) -> Array:
    return X.mean(axis=0, dtype=np.float64).astype(np.float32)


def _sums_of_rows(X: Array, centre: Array) -> tuple[Array, list[Array]]:
    """Of a buffer of rows, which is changed: sums less the centre, and the tiles of products."""
    np.subtract(X, centre, out=X)
    columns = spans(X.shape[1], _COLUMNS_PER_TILE)
    sums = np.concatenate([X[:, some].sum(axis=0, dtype=np.float64) for some in columns])
    return sums, [_product(X, tile) for tile in _tiles(X.shape[1])]


def _add_sums(
    state: tuple[Array, Array] | None, part: tuple[Array, list[Array]], dtype: str = "float64"
) -> tuple[Array, Array]:
    """The state is changed."""
    M = len(part[0])
    sums, Q = (np.zeros(M), np.zeros((M, M), dtype)) if state is None else state
    sums += part[0]
    for (below, left), product in zip(_tiles(M), part[1], strict=True):
        Q[below, left] += product
    return sums, Q


def _sums(state: tuple[Array, Array]) -> Array:
    return state[0]


def _panel(state: tuple[Array, Array], rows: slice) -> Array:
    return state[1][rows]
