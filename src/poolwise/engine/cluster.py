"""The engine of many machines: an ordered map on the workers of a Dask cluster.

Shards, their order and the order of reductions are those of `Threads`, and workers hold BLAS to one thread: the bits are the
same on workers of one kind of CPU, however many there are and in whatever order they finish.

What is common to all shards is sent once (`sending`). Rows that are held are results of tasks that stay on the workers, and
follow from the images by tasks alone: where a worker dies, Dask computes again what it had.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import numpy as np
from distributed import Client, Future

from poolwise.engine import Held
from poolwise.engine.errors import in_words
from poolwise.engine.folding import Folding
from poolwise.engine.sending import send
from poolwise.engine.tasks import Place, Sent, call_each, cut_blocks, make_chunk, replace_blocks, rows_of_blocks
from poolwise.engine.threads import Threads
from poolwise.engine.waiting import gathered
from poolwise.support.blocks import spans
from poolwise.support.mapped import packed
from poolwise.support.types import Array, ImageSource, Rows

_SHARDS_PER_TASK = 8
_TASKS_PER_GROUP, _TASKS_PER_THREAD = 32, 4  # tasks whose results come to the client together
_GROUPS_AHEAD = 2
_SAMPLES_PER_CHUNK = 4096
_CHUNKS_PER_THREAD, _CHUNKS_SENT_TOGETHER = 4, 128
_IMAGE_AXES = 4
_IMAGES_KEPT = 4  # arrays and sources: a search has other ones every few trials


class Cluster:
    """An ordered, lazy map on a cluster's workers; a context manager.

    Parameters
    ----------
    client : distributed.Client
    n_jobs : int or None
        Threads of this process, for what runs here.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client, Cluster(client) as engine:
    ...     list(engine.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    shares_memory = False

    def __init__(self, client: Client, n_jobs: int | None = None) -> None:
        self.client = client
        self._threads = Threads(n_jobs)
        self._sent: deque[tuple[Any, Future]] = deque(maxlen=_IMAGES_KEPT)  # once for all that is done with them

    @property
    def local(self) -> Threads:
        """Threads of this process."""
        return self._threads

    @property
    def address(self) -> str:
        """Of the scheduler."""
        scheduler = self.client.scheduler
        return "?" if scheduler is None else str(scheduler.address)

    def __enter__(self) -> Self:
        self._threads.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._sent.clear()
        self._threads.__exit__(kind, error, trace)

    def map(self, function: Callable[..., Any], shards: Iterable[Any], *common: Any) -> Iterator[Any]:
        """Yield function(shard, *common) in the order of the shards; only some results wait on the workers at any time."""
        with in_words(self.address):
            sent, name, rest = self.sent(function, common, self._group()), _name(function), iter(shards)
            waiting: deque[list[Future]] = deque()
            while (group := list(islice(rest, self.shards_per_group()))) or waiting:
                if group:
                    size = self.shards_per_task(len(group))
                    waiting.append(self.tasks(call_each, name, [group[part] for part in spans(len(group), size)], sent))
                if not group or len(waiting) > _GROUPS_AHEAD:
                    for results in self.gathered(waiting.popleft()):
                        yield from results

    @cached_property
    def n_threads(self) -> int:
        """Of all workers, when this was first asked: more tasks than that are at work at a time."""
        return max(1, sum(self.client.nthreads().values()))

    def shards_per_group(self) -> int:
        """Shards whose tasks are sent together."""
        return self._group() * _SHARDS_PER_TASK

    def shards_per_task(self, n: int) -> int:
        """Of n shards that are sent together."""
        return max(1, min(_SHARDS_PER_TASK, -(-n // self._group())))

    def fold(self, make: Callable[..., tuple[Array, Any]], shards: Sequence[Any], *common: Any, **how: Any) -> Folding:
        """Sums over rows that stay on the workers; `how` as in `Folding`."""
        with in_words(self.address):
            return Folding(self, make, shards, common, **how)

    def gathered(self, futures: Sequence[Future]) -> list[Any]:
        """What the tasks gave, in their order; an error where nothing can come any more."""
        return gathered(self.client, futures)

    def _group(self) -> int:
        return max(_TASKS_PER_GROUP, _TASKS_PER_THREAD * self.n_threads)

    def sent(self, function: Callable[..., Any], common: Sequence[Any], times: int) -> list[Any]:
        """The function with its common arguments, for so many tasks, and futures of the images among these."""
        places, images = list[Any](), list[Future]()
        for value in common:
            if isinstance(value, ImageSource) or (isinstance(value, np.ndarray) and value.ndim == _IMAGE_AXES):
                places.append(Place(len(images)))
                images.append(self._images(value))
            else:
                places.append(value)
        sent = send(self.client, Sent(function, tuple(places)), "arguments", times, _address(function))
        return [sent, *images]

    def _images(self, images: Any) -> Future:
        for known, future in self._sent:
            if known is images:
                return future
        future = send(self.client, packed(images), "images")
        self._sent.append((images, future))
        return future

    def tasks(self, task: Callable[..., Any], name: str, shards: Sequence[Any], sent: list[Any]) -> list[Future]:
        """Futures of task(shard, *sent) for each shard."""
        each = [[value] * len(shards) for value in sent]
        futures: list[Future] = self.client.map(task, shards, *each, key=name, pure=False)
        return futures

    def hold(self, make: Callable[..., tuple[Rows, Array]], shards: Sequence[Any], *common: Any, n: int) -> Held:
        """Keep n rows on the workers, some thousands a task, which opens the images that it needs."""
        samples = np.concatenate(shards)
        if not len(samples):
            raise ValueError("there are no rows to hold")
        each, chunk = n // len(samples), samples // _SAMPLES_PER_CHUNK
        order = np.argsort(chunk, kind="stable")  # in each chunk as the shards have them: by image
        shard = np.repeat(np.arange(len(shards)), [len(one) for one in shards])[order]
        parts = []
        for rows in spans(len(samples), _SAMPLES_PER_CHUNK):
            cuts = np.flatnonzero(np.diff(shard[rows])) + 1  # no more images at a time than a shard has
            parts.append((rows.start * each, rows.stop * each, np.split(samples[order[rows]], cuts)))
        with in_words(self.address):
            sent, futures = self.sent(make, common, len(parts)), list[Future]()
            for some in spans(len(parts), _CHUNKS_SENT_TOGETHER):  # they name their samples
                futures += self.tasks(make_chunk, _name(make), parts[some], sent)
            return HeldFutures(self, futures, _SAMPLES_PER_CHUNK * each, n)


class HeldFutures:
    """Rows on the workers, some blocks of `size` rows in each task's result; what `Cluster.hold` gives."""

    def __init__(self, engine: Cluster, chunks: list[Future], size: int, n: int) -> None:
        self._engine, self._chunks, self._size, self._n = engine, chunks, size, n
        self._blocks = 1  # in a chunk
        self._like = self._look()

    @property
    def shape(self) -> tuple[int, int]:
        return self._n, self._like.shape[1]

    def map(self, function: Callable[..., Any], *common: Any, size: int) -> Iterator[Any]:
        """function(block, *common) for consecutive blocks of `size` rows, in their order."""
        engine = self._engine
        with in_words(engine.address):
            chunks, sent = self._in_blocks_of(size), engine.sent(function, common, len(self._chunks))
            futures = deque(engine.tasks(call_each, _name(function), chunks, sent))
            while futures:
                some = [futures.popleft() for _ in range(min(len(futures), _TASKS_PER_GROUP))]
                for results in engine.gathered(some):
                    yield from results

    def replace(self, function: Callable[..., Array], *common: Any, size: int) -> None:
        """Each block becomes what the function makes of it; rows may become shorter."""
        engine = self._engine
        with in_words(engine.address):
            chunks, sent = self._in_blocks_of(size), engine.sent(function, common, len(self._chunks))
            self._chunks = engine.tasks(replace_blocks, _name(function), chunks, sent)
            self._like = self._look()

    def take(self, rows: Array) -> Array:
        """A copy of some rows."""
        rows = np.asarray(rows)
        found = np.empty((len(rows), self.shape[1]), self._like.dtype)
        place, inside = np.divmod(rows, self._size * self._blocks)
        wanted = [(number, np.flatnonzero(place == number)) for number in np.unique(place)]
        engine = self._engine
        if not wanted:
            return found
        with in_words(engine.address):
            chunks = [self._chunks[number] for number, _ in wanted]
            within = [inside[where] for _, where in wanted]
            futures = engine.client.map(rows_of_blocks, chunks, within, key="take", pure=False)
            for (_, where), values in zip(wanted, engine.gathered(futures), strict=True):
                found[where] = values
        return found

    def _look(self) -> Array:
        """No rows, of the right length and type."""
        none, key = np.empty(0, np.intp), f"look-{uuid4().hex}"
        with in_words(self._engine.address):
            future = self._engine.client.submit(rows_of_blocks, self._chunks[0], none, key=key)
            return np.asarray(self._engine.gathered([future])[0])

    def _in_blocks_of(self, size: int) -> list[Future]:
        """The chunks, cut anew where their blocks have another size; then several blocks in one where there are few workers."""
        if size == self._size:
            return self._chunks
        before, client, fresh = self._size * self._blocks, self._engine.client, []
        blocks = max(1, -(-self._n // size) // (_CHUNKS_PER_THREAD * self._engine.n_threads))
        workers = sorted(client.nthreads())  # each its share, in order
        for number, rows in enumerate(cuts := spans(self._n, size * blocks)):
            first, last = rows.start // before, (rows.stop - 1) // before
            start, count = rows.start - first * before, rows.stop - rows.start
            key = f"cut-{uuid4().hex}"
            where = workers[number * len(workers) // len(cuts)] if workers else None
            chunks = self._chunks[first : last + 1]
            fresh.append(
                client.submit(cut_blocks, chunks, start, count, size, key=key, workers=where, allow_other_workers=True)
            )
        self._chunks, self._size, self._blocks = fresh, size, blocks
        return fresh


def _name(function: Callable[..., Any]) -> str:
    """Of a stage, as Dask's dashboard shows it."""
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__name__", type(inner).__name__)).strip("_") or "map"


def _address(function: Callable[..., Any]) -> str:
    """Where it is imported from."""
    inner = getattr(function, "func", function)
    return f"{getattr(inner, '__module__', type(inner).__module__)}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"
