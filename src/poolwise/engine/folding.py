"""Sums over many rows that stay on the workers: of the parts that they are cut into, added up in their order.

    state = add(... add(add(None, part₁), part₂) ...),   part = part(rows, first(rows of the first shard))

The parts, of `size` rows each, are computed side by side; the state goes from task to task, and no task changes what it was
given, so that all can be computed again.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from poolwise.engine.errors import in_words
from poolwise.engine.tasks import Sent, as_on_threads, call_each
from poolwise.engine.waiting import gathered
from poolwise.support.blocks import spans
from poolwise.support.types import Array

if TYPE_CHECKING:
    from poolwise.engine.cluster import Cluster

_PARTS_PER_STEP = 4  # that are added to one copy of the state


class Folding:
    """Iterate over what `make` gives in addition to rows, in the order of the shards; then ask for the state.

    make(shard, *common) : (rows, anything)    counts : rows of each shard
    """

    def __init__(
        self,
        engine: "Cluster",
        make: Callable[..., tuple[Array, Any]],
        shards: Sequence[Any],
        common: Sequence[Any],
        *,
        counts: Sequence[int],
        size: int,
        first: Callable[[Array], Array],
        part: Callable[[Array, Array], Any],
        add: Callable[[Any, Any], Any],
    ) -> None:
        self._engine, self._shards, self._size = engine, shards, size
        self._ends = np.cumsum(counts)
        self._sent = engine.sent(make, common, len(shards))
        self._first, self._part, self._add = first, part, add
        self._state: Any = None
        self._centre: Any = None
        self._parts: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        engine, client = self._engine, self._engine.client
        at_once, per_group = engine.shards_per_task(len(self._shards)), engine.shards_per_group()
        there: deque[tuple[int, int, Any]] = deque()  # rows start to stop of what is on the workers
        waiting: deque[list[Any]] = deque()
        done = 0
        with in_words(engine.address):
            for group in spans(len(self._shards), per_group):
                batches = [
                    slice(group.start + one.start, group.start + one.stop) for one in spans(group.stop - group.start, at_once)
                ]
                futures = engine.tasks(call_each, "rows", [self._shards[batch] for batch in batches], self._sent)
                waiting.append(client.map(_others, futures, key="others", pure=False))
                for batch, future in zip(batches, futures, strict=True):
                    start = 0 if batch.start == 0 else int(self._ends[batch.start - 1])
                    there.append((start, int(self._ends[batch.stop - 1]), future))
                if self._centre is None:
                    self._centre = client.submit(_centre, futures[0], self._first, key=f"centre-{uuid4().hex}")
                done = self._take(there, done, last=group.stop == len(self._shards))
                if len(waiting) > 1:
                    for others in gathered(client, waiting.popleft()):
                        yield from others
            for group_of in waiting:
                for others in gathered(client, group_of):
                    yield from others

    def _take(self, there: deque[tuple[int, int, Any]], done: int, *, last: bool) -> int:
        """Parts of all rows that are there; how many rows have been taken."""
        client, stop = self._engine.client, there[-1][1]
        while stop - done >= self._size or (last and done < stop):
            end = min(stop, done + self._size)
            while there[0][1] <= done:
                there.popleft()
            futures = [future for start, _, future in there if start < end]
            offset = done - there[0][0]
            key = f"part-{uuid4().hex}"
            self._parts.append(client.submit(_part, futures, offset, end - done, self._centre, Sent(self._part, ()), key=key))
            done = end
            if len(self._parts) == _PARTS_PER_STEP or (last and done == stop):
                self._state = client.submit(_added, self._state, self._parts, Sent(self._add, ()), key=f"add-{uuid4().hex}")
                self._parts = []
        return done

    def of_state(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(state, *arguments), computed where the state is."""
        with in_words(self._engine.address):
            client = self._engine.client
            return gathered(client, [client.submit(function, self._state, *arguments, key=f"state-{uuid4().hex}")])[0]

    def centre(self) -> Array:
        """What `first` gave."""
        with in_words(self._engine.address):
            return np.asarray(gathered(self._engine.client, [self._centre])[0])


def _others(found: list[tuple[Array, Any]]) -> list[Any]:
    return [other for _, other in found]


def _centre(found: list[tuple[Array, Any]], first: Callable[[Array], Array]) -> Array:
    return first(found[0][0])


def _part(batches: list[list[tuple[Array, Any]]], offset: int, count: int, centre: Array, sent: Sent) -> Any:
    """Of so many rows from `offset` on."""
    blocks = [rows for batch in batches for rows, _ in batch]
    found = np.empty((count, blocks[0].shape[1]), blocks[0].dtype)
    done = 0
    for rows in blocks:
        some = rows[offset : offset + count - done]
        found[done : done + len(some)] = some
        done, offset = done + len(some), max(0, offset - len(rows))
    with as_on_threads():
        return sent.function(found, centre)


def _added(state: Any, parts: list[Any], sent: Sent) -> Any:
    for number, part in enumerate(parts):
        state = sent.function(state, part) if number else sent.function(_copied(state), part)
    return state


def _copied(state: Any) -> Any:
    return None if state is None else tuple(np.array(array) for array in state)
