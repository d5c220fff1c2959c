"""The engine of one machine: an ordered map on threads, with BLAS held to one thread each."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from poolwise.engine import Held
from poolwise.engine.blas import check_products, limit_this_thread, one_thread_blas, thread_count
from poolwise.support.blocks import spans
from poolwise.support.types import Array, Rows

_ROWS_PER_BLOCK = 16384

Result = TypeVar("Result")


class Threads:
    """An ordered, lazy map on threads; a context manager.

    Parameters
    ----------
    n_jobs : int or None
        As in `thread_count`.

    Examples
    --------
    >>> with Threads(2) as engine:
    ...     list(engine.map(lambda shard: shard * shard, [1, 2, 3]))
    [1, 4, 9]
    """

    shares_memory = True

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = thread_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        check_products()
        one_thread_blas.acquire()
        self._pool = ThreadPoolExecutor(self.n_threads, "poolwise", initializer=limit_this_thread)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
        finally:
            self._pool = None
            one_thread_blas.release()

    @property
    def local(self) -> "Threads":
        """These."""
        return self

    def map(self, function: Callable[..., Result], shards: Iterable[Any], *common: Any) -> Iterator[Result]:
        """Yield function(shard, *common) in the order of the shards; only a few results wait to be taken at any time."""
        if self._pool is None:
            raise RuntimeError("use `with Threads(...) as engine:`")
        waiting: deque[Future[Result]] = deque()
        for shard in shards:
            waiting.append(self._pool.submit(function, shard, *common))
            if len(waiting) > 2 * self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def run(self, function: Callable[..., None], shards: Iterable[Any], *common: Any) -> None:
        """The same for what the function does, not for what it returns: it writes into memory that the threads share."""
        for _ in self.map(function, shards, *common):
            pass

    def each(self, function: Callable[[slice], None], n: int, size: int = _ROWS_PER_BLOCK) -> None:
        """Call function(rows) for consecutive slices of range(n)."""
        self.run(function, spans(n, size))

    def hold(self, make: Callable[..., tuple[Rows, Array]], shards: Sequence[Any], *common: Any, n: int) -> Held:
        """Keep n rows in one array: make(shard, *common) gives (rows, values), where they belong and what they are.

        >>> with Threads(2) as engine:
        ...     held = engine.hold(lambda rows: (rows, np.ones((2, 3))), spans(6, 2), n=6)
        ...     [float(block.sum()) for block in held.map(lambda block: 2 * block, size=4)]
        [24.0, 12.0]
        """
        array: Array | None = None
        for rows, values in self.map(make, shards, *common):
            if array is None:
                array = np.empty((n, values.shape[1]), values.dtype)
            array[rows] = values
        if array is None:
            raise ValueError("there are no rows to hold")
        return HeldArray(array, self)


class HeldArray:
    """Rows in this machine's memory, worked on by threads; what `Threads.hold` gives."""

    def __init__(self, array: Array, engine: Threads) -> None:
        self.array, self._engine = array, engine

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.array.shape
        return n, d

    def map(self, function: Callable[..., Result], *common: Any, size: int) -> Iterator[Result]:
        """function(block, *common) for consecutive blocks of `size` rows, in their order."""
        return self._engine.map(_of_block, spans(len(self.array), size), self.array, function, *common)

    def replace(self, function: Callable[..., Array], *common: Any, size: int) -> None:
        """Each block becomes what the function makes of it; rows may become shorter."""
        width = function(self.array[:1], *common).shape[1]
        into = self.array if width == self.shape[1] else np.empty((len(self.array), width), self.array.dtype)
        self._engine.run(_replace_block, spans(len(self.array), size), self.array, into, function, *common)
        self.array = into

    def take(self, rows: Array) -> Array:
        """A copy of some rows."""
        return self.array[rows]


def _of_block(rows: slice, array: Array, function: Callable[..., Result], *common: Any) -> Result:
    return function(array[rows], *common)


def _replace_block(rows: slice, array: Array, into: Array, function: Callable[..., Array], *common: Any) -> None:
    into[rows] = function(array[rows], *common)
