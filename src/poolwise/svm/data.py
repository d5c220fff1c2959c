"""The features as the SVM sees them: a data object with four methods, so that arrays here and shards on workers are one code.

A function gets a block of consecutive rows and the same rows of what lies beside them. Sums are those of a shard's blocks, of
a group's shards, of all groups, each added up in float64 in their order. Blocks, shards and groups depend on N and d alone: the
bits are the same on any number of threads or workers.

    columns   (k, N): for each row k numbers, put beside each other        sum       one array, the same shape from every block
    moments   mean and scatter of the rows that the function makes         take      a copy of some rows, here
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from poolwise.engine.shards import Shards
from poolwise.engine.threads import Threads
from poolwise.method.statistics import CovarianceStream, Moments, moments_of_shards
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_NUMBERS_PER_BLOCK = 1 << 19  # numbers in a block of rows: 2 MB of float32
# Where rows are long and many, adding up the results of short blocks would show:
_ROWS_PER_LONG_BLOCK, _NUMBERS_PER_LONG_BLOCK, _LONG_BLOCKS = 256, 1 << 22, 64
_SHARDS_OF_ROWS, _LEAST_ROWS_PER_SHARD, _ROWS_PER_SHARD = 8, 64, 4096
_SHARDS_PER_GROUP = 16
_SMALL_BYTES = 1 << 23  # bytes that may as well be float64


def rows_per_block(N: int, d: int) -> int:
    """How many of N rows of d numbers are multiplied at once: a few in memory are a small part of all."""
    long = min(_ROWS_PER_LONG_BLOCK, _NUMBERS_PER_LONG_BLOCK // d, N // _LONG_BLOCKS)
    return max(16, _NUMBERS_PER_BLOCK // d, long)


def rows_per_shard(N: int, d: int) -> int:
    """How many rows a worker holds together: whole blocks, about 4,096 rows, and fewer where there are few.

    >>> rows_per_shard(10**6, 6400), rows_per_shard(1000, 6400)
    (4096, 81)
    """
    block = rows_per_block(N, d)
    wanted = min(max(N // _SHARDS_OF_ROWS, _LEAST_ROWS_PER_SHARD), _ROWS_PER_SHARD)
    return max(1, wanted // block) * block


class Data(Protocol):
    """(N, d) rows somewhere."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int: ...

    def columns(self, function: Callable[..., Array], *common: Any, count: int) -> Array: ...

    def sum(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array]) -> Array: ...

    def moments(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array], dtype: str) -> Moments: ...

    def take(self, rows: Array) -> Array: ...


class Here:
    """Rows of an array, worked on by threads; the array may be a read-only memory map.

    >>> with Threads(1) as engine:
    ...     Here(np.ones((5, 2)), engine).sum(lambda X, s: s @ X, beside=[np.arange(5.0)])
    array([10., 10.])
    """

    def __init__(self, X: Array, engine: Threads) -> None:
        self.X, self._engine = X, engine
        self.shape, self.dtype, self.nbytes = X.shape, X.dtype, X.nbytes
        self._block, self._shard = rows_per_block(*X.shape), rows_per_shard(*X.shape)

    def columns(self, function: Callable[..., Array], *common: Any, count: int) -> Array:
        out = np.empty((count, len(self.X)), self.dtype)

        def fill(rows: slice) -> None:
            out[:, rows] = function(self.X[rows], *common)

        self._engine.run(fill, spans(len(self.X), self._block))
        return out

    def sum(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array]) -> Array:
        def of_block(rows: slice) -> Array:
            return function(self.X[rows], *[array[..., rows] for array in beside], *common)

        parts = self._engine.map(of_block, [block for shard in self._shards() for block in shard])
        return _total(_total(_total(next(parts) for _ in shard) for shard in group) for group in self._groups())

    def moments(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array], dtype: str) -> Moments:
        stream = CovarianceStream(self.shape[1], self._engine, self._shard, dtype)

        def of_block(rows: slice) -> Array:
            return function(self.X[rows], *[array[..., rows] for array in beside], *common)

        for rows in self._engine.map(of_block, [block for shard in self._shards() for block in shard]):
            stream.add(rows)
        return stream.moments()

    def take(self, rows: Array) -> Array:
        return self.X[rows]

    def _shards(self) -> list[list[slice]]:
        """The blocks of each."""
        return [
            [slice(shard.start + one.start, shard.start + one.stop) for one in spans(shard.stop - shard.start, self._block)]
            for shard in spans(len(self.X), self._shard)
        ]

    def _groups(self) -> list[list[list[slice]]]:
        shards = self._shards()
        return [shards[some] for some in spans(len(shards), _SHARDS_PER_GROUP)]


class There:
    """Rows on the workers of a cluster, in shards of `rows_per_shard`."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self.shape, self.dtype, self.nbytes = shards.shape, shards.dtype, shards.nbytes
        self._block = rows_per_block(*shards.shape)

    def columns(self, function: Callable[..., Array], *common: Any, count: int) -> Array:
        out, done = np.empty((count, self.shape[0]), self.dtype), 0
        for part in self._shards.map(_columns, self._block, function, *common):
            out[:, done : done + part.shape[1]] = part
            done += part.shape[1]
        return out

    def sum(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array]) -> Array:
        return _total(self._shards.sums(_sum, self._block, function, *common, beside=beside, group=_SHARDS_PER_GROUP))

    def moments(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array], dtype: str) -> Moments:
        return moments_of_shards(self._shards, self._block, function, *common, beside=beside, dtype=dtype)

    def take(self, rows: Array) -> Array:
        return self._shards.take(rows)


def as_data(X: Array | Shards, engine: Threads) -> Data:
    """Shards stay where they are, but for those that one memory can work on as well: small ones, and more columns than rows."""
    if isinstance(X, Shards):
        if X.nbytes > _SMALL_BYTES and X.shape[0] >= X.shape[1] and X.size == rows_per_shard(*X.shape):
            return There(X)
        X = X.gather()
    return Here(X.astype(np.float64, copy=False) if X.nbytes <= _SMALL_BYTES else X, engine)


def _columns(X: Array, beside: list[Array], block: int, function: Callable[..., Array], *common: Any) -> Array:
    return np.concatenate([function(X[rows], *common) for rows in spans(len(X), block)], axis=1)


def _sum(X: Array, beside: list[Array], block: int, function: Callable[..., Array], *common: Any) -> Array:
    return _total(function(X[rows], *[array[..., rows] for array in beside], *common) for rows in spans(len(X), block))


def _total(parts: Any) -> Array:
    """Their sum in float64, in their order."""
    total: Array | None = None
    for part in parts:
        if total is None:
            total = np.zeros(part.shape)
        total += part
    assert total is not None  # noqa: S101  (there are rows)
    return total
