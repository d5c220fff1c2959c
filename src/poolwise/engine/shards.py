"""Rows that were computed on the workers and stay there, as the features of many images do: functions go to them.

A shard is `size` rows, the result of a task that follows from the images: where a worker dies, Dask computes it again. What
goes with rows (labels, weights, numbers of each problem) travels with the task of their shard, a few megabytes at a time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import numpy as np

from poolwise.engine.errors import in_words
from poolwise.engine.packed import Packed
from poolwise.engine.tasks import Sent, as_on_threads, call_each, filled
from poolwise.support.blocks import spans
from poolwise.support.types import Array

if TYPE_CHECKING:
    from distributed import Future

    from poolwise.engine.cluster import Cluster

_BYTES_TOGETHER, _TASKS_TOGETHER = 4 << 20, 256  # sent to the scheduler at a time
_TASKS_AHEAD = 4  # for each thread of the workers
_PARTS_PER_STEP, _STEPS_AHEAD = 4, 4  # of a fold: parts that are added to one copy of the state


class Shards:
    """(n, d) rows on the workers of a cluster; `PooledFeatures.hold` gives them, and `LinearSVM.fit` takes them.

    They are there as long as this object and the cluster are.
    """

    def __init__(self, engine: "Cluster", futures: "Sequence[Future]", size: int, shape: tuple[int, int], dtype: Any) -> None:
        self._engine, self._futures = engine, list(futures)
        self.size, self.shape, self.dtype = size, shape, np.dtype(dtype)

    @classmethod
    def computed(
        cls, engine: "Cluster", make: Callable[..., Array], size: int, shape: tuple[int, int], dtype: Any, *common: Any
    ) -> Self:
        """Rows make(slice of rows, *common) for every `size` of them."""
        with in_words(engine.address):
            cuts = spans(shape[0], size)
            sent = engine.sent(make, common, len(cuts))
            return cls(engine, engine.tasks(_made, "features", cuts, sent), size, shape, dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d = self.shape
        return f"<{n:,} rows of {d:,} numbers in {len(self._futures):,} shards on {self._engine.address}>"

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def map(self, function: Callable[..., Any], *common: Any, beside: Sequence[Array] = ()) -> Iterator[Any]:
        """function(shard, beside, *common) in the order of the shards; beside : arrays (..., n), of which it gets its rows."""
        with in_words(self._engine.address):
            waiting: deque[list[Any]] = deque()
            for futures in self._tasks(function, common, beside):
                waiting.append(futures)
                if self._ahead(waiting):
                    yield from self._engine.gathered(waiting.popleft())
            while waiting:
                yield from self._engine.gathered(waiting.popleft())

    def sums(self, function: Callable[..., Array], *common: Any, beside: Sequence[Array] = (), group: int) -> Iterator[Array]:
        """The same added up over every `group` shards in their order, on a worker, so that few results come here."""
        client = self._engine.client
        with in_words(self._engine.address):
            some, waiting = list[Any](), deque[list[Any]]()

            def add_up(count: int) -> None:
                waiting.append([client.submit(_added_up, some[:count], key=f"sum-{uuid4().hex}")])
                del some[:count]

            for futures in self._tasks(function, common, beside):
                some += futures
                while len(some) >= group:
                    add_up(group)
                    if self._ahead(waiting, group):
                        yield from self._engine.gathered(waiting.popleft())
            if some:
                add_up(len(some))
            while waiting:
                yield from self._engine.gathered(waiting.popleft())

    def fold(
        self, function: Callable[..., Any], add: Callable[[Any, Any], Any], *common: Any, beside: Sequence[Array] = ()
    ) -> "State":
        """add(... add(add(None, part₁), part₂) ..., partₙ), part = function(shard, beside, *common), on the workers.

        `add` may change its first argument, a tuple of arrays.
        """
        client, state, some, steps = self._engine.client, None, list[Any](), list[Any]()
        with in_words(self._engine.address):
            for futures in self._tasks(function, common, beside, most=_PARTS_PER_STEP):
                some += futures
                if len(some) >= _PARTS_PER_STEP:
                    state = client.submit(_folded, state, some, Sent(add, ()), key=f"add-{uuid4().hex}")
                    steps.append(state)
                    some = []
                if len(steps) > _STEPS_AHEAD + self._engine.n_threads // _PARTS_PER_STEP:
                    # parts are as large as the state: no more of them than workers are at work on
                    self._engine.gathered([client.submit(_is_there, steps.pop(0), key=f"there-{uuid4().hex}")])
            if some:
                state = client.submit(_folded, state, some, Sent(add, ()), key=f"add-{uuid4().hex}")
            return State(self._engine, state)

    def of_first(self, function: Callable[..., Any], *common: Any, beside: Sequence[Array] = ()) -> Any:
        """The same of the first shard alone."""
        first = [np.ascontiguousarray(array[..., : self.size]) for array in beside]
        return State(self._engine, self._futures[0]).ask(function, first, *common)

    def take(self, rows: Array) -> Array:
        """A copy of some rows, in this process."""
        rows = np.asarray(rows)
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        number, inside = np.divmod(rows, self.size)
        wanted = [(shard, np.flatnonzero(number == shard)) for shard in np.unique(number)]
        client = self._engine.client
        with in_words(self._engine.address):
            for some in spans(len(wanted), _TASKS_TOGETHER):
                shards = [self._futures[shard] for shard, _ in wanted[some]]
                futures = client.map(_rows_of, shards, [inside[at] for _, at in wanted[some]], key="take", pure=False)
                for (_, at), values in zip(wanted[some], self._engine.gathered(futures), strict=True):
                    found[at] = values
        return found

    def gather(self) -> Array:
        """All of them, in this process's memory."""
        found = np.empty(self.shape, self.dtype)
        with in_words(self._engine.address):
            for future, rows in zip(self._futures, spans(len(self), self.size), strict=True):
                found[rows] = self._engine.gathered([future])[0]
        return found

    def _tasks(
        self, function: Callable[..., Any], common: Sequence[Any], beside: Sequence[Array], most: int = _TASKS_TOGETHER
    ) -> Iterator[list[Any]]:
        """Futures of a few shards at a time."""
        name = str(getattr(function, "__name__", "rows")).strip("_")
        sent, cuts = self._engine.sent(function, common, len(self._futures)), spans(len(self), self.size)
        each = sum(array.nbytes // max(1, array.shape[-1]) for array in beside) * self.size
        for part in spans(len(cuts), max(1, min(most, _BYTES_TOGETHER // max(1, each)))):
            with_rows = [[np.ascontiguousarray(array[..., rows]) for array in beside] for rows in cuts[part]]
            yield self._engine.tasks(_called, name, list(zip(self._futures[part], with_rows, strict=True)), sent)

    def _ahead(self, waiting: "deque[list[Any]]", each: int = 1) -> bool:
        return sum(map(len, waiting)) * each > max(_TASKS_TOGETHER, _TASKS_AHEAD * self._engine.n_threads)


class State:
    """What a fold has added up, where it is."""

    def __init__(self, engine: "Cluster", future: Any) -> None:
        self._engine, self._future = engine, future

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(state, *arguments), computed there."""
        with in_words(self._engine.address):
            client = self._engine.client
            return self._engine.gathered([client.submit(function, self._future, *arguments, key=f"state-{uuid4().hex}")])[0]


def _made(rows: slice, sent: Sent | Packed, *images: Any) -> Array:
    return np.ascontiguousarray(call_each([rows], sent, *images)[0])


def _called(shard: tuple[Array, list[Array]], sent: Sent | Packed) -> Any:
    X, beside = shard
    function, common = filled(sent)
    with as_on_threads():
        return function(X, beside, *common)


def _added_up(parts: list[Array]) -> Array:
    total = np.zeros_like(parts[0])
    for part in parts:
        total += part
    return total


def _folded(state: Any, parts: list[Any], sent: Sent | Packed) -> Any:
    """No task changes what it was given, so that all can be computed again."""
    state, (function, _) = None if state is None else tuple(np.array(array) for array in state), filled(sent)
    for part in parts:
        state = function(state, part)
    return state


def _is_there(state: Any) -> None:
    """Nothing: this can run when the state has been computed."""


def _rows_of(X: Array, rows: Array) -> Array:
    return X[rows]
