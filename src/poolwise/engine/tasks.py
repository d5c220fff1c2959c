"""What workers run: functions of the method on shards, with BLAS held to one thread as `Threads` does."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import scipy.linalg  # noqa: F401  (its BLAS must be loaded before it can be limited)

from poolwise.engine.blas import limit_this_thread, one_thread_blas
from poolwise.engine.packed import Packed
from poolwise.support.blocks import spans
from poolwise.support.mapped import MappedArray
from poolwise.support.types import Array


@dataclass(frozen=True)
class Place:
    """Stands for images among the arguments: they come separately."""

    number: int


@dataclass(frozen=True, eq=False)
class Sent:
    """A function and what it takes beside its shard."""

    function: Callable[..., Any]
    common: tuple[Any, ...]


@contextmanager
def as_on_threads() -> Iterator[None]:
    """BLAS with one thread, as in `Threads`."""
    one_thread_blas.acquire()
    try:
        limit_this_thread()
        yield
    finally:
        one_thread_blas.release()


@lru_cache(maxsize=16)
def _opened(place: MappedArray) -> Array:
    return place.open()


def filled(sent: Sent | Packed, images: tuple[Any, ...] = ()) -> tuple[Callable[..., Any], list[Any]]:
    """The function and its common arguments."""
    if isinstance(sent, Packed):
        sent = cast(Sent, sent.open())
    found = [images[value.number] if isinstance(value, Place) else value for value in sent.common]
    return sent.function, [_opened(value) if isinstance(value, MappedArray) else value for value in found]


def call_each(batch: list[Any], sent: Sent | Packed, *images: Any) -> list[Any]:
    """The function on some shards, or blocks of rows."""
    function, common = filled(sent, images)
    with as_on_threads():
        return [function(shard, *common) for shard in batch]


def replace_blocks(blocks: list[Array], sent: Sent | Packed, *images: Any) -> list[Array]:
    """What the function makes of blocks of rows, in their type."""
    return [np.asarray(value, block.dtype) for block, value in zip(blocks, call_each(blocks, sent, *images), strict=True)]


def make_chunk(part: tuple[int, int, list[Array]], sent: Sent | Packed, *images: Any) -> list[Array]:
    """Rows start to stop of what is to be held, from shards of samples: one block."""
    start, stop, shards = part
    make, common = filled(sent, images)
    found: Array | None = None
    with as_on_threads():
        for shard in shards:
            rows, values = make(shard, *common)
            if found is None:
                found = np.empty((stop - start, values.shape[1]), values.dtype)
            found[rows - start] = values
    return [] if found is None else [found]


def cut_blocks(chunks: list[list[Array]], start: int, count: int, size: int) -> list[Array]:
    """So many rows from `start` on, of chunks that follow each other, in blocks of `size` rows."""
    blocks = [block for chunk in chunks for block in chunk]
    found = np.empty((count, blocks[0].shape[1]), blocks[0].dtype)
    done, skip = 0, start
    for block in blocks:
        part = block[skip : skip + count - done]
        found[done : done + len(part)] = part
        done, skip = done + len(part), max(0, skip - len(block))
    return [found[rows] for rows in spans(count, size)]


def rows_of_blocks(blocks: list[Array], rows: Array) -> Array:
    """A copy of some rows of blocks that follow each other, all but the last of one length."""
    found = np.empty((len(rows), blocks[0].shape[1]), blocks[0].dtype)
    place, inside = np.divmod(rows, len(blocks[0]))
    for number in np.unique(place):
        found[place == number] = blocks[number][inside[place == number]]
    return found
