"""Steps of a long piece of work that are kept, so that work that was interrupted goes on where it stopped, with the same bits.

A room asks `current()` whether a step is known, and says what came of it; it knows nothing of files. Without
`with poolwise.checkpoints(...)` nothing is known and nothing is kept. The same program on the same data asks for the same
steps in the same order, whatever is known of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from poolwise.support.types import Array

Fact = str | int | float | bool | None
Shapes = Mapping[str, tuple[str, tuple[int | None, ...]]]  # by name: type, and shape with None for any length


class CheckpointError(ValueError):
    """Checkpoints of other work, or damaged ones."""


@dataclass(frozen=True)
class Kept:
    """What is known of a step.

    arrays : those of the shapes that were asked for; some may be missing    facts : by name, each a `Fact` or a list of them
    """

    arrays: dict[str, Array]
    facts: dict[str, Any]

    def __getitem__(self, name: str) -> Array:
        if name not in self.arrays:
            raise CheckpointError(f"a checkpoint lacks the array {name!r}; remove its folder, and fit again")
        return self.arrays[name]

    def fact(self, name: str, *types: type) -> Any:
        """The fact, which must be of one of these types."""
        if name not in self.facts or type(self.facts[name]) not in types:
            raise CheckpointError(f"a checkpoint has no {name!r} that could be used; remove its folder, and fit again")
        return self.facts[name]


class Work:
    """One piece of work, such as a fit. This one keeps nothing."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def number(self, name: str) -> str:
        """A name for the next of several steps: solve-0, solve-1, ..."""
        self._counts[name] = self._counts.get(name, -1) + 1
        return f"{name}-{self._counts[name]}"

    def load(self, name: str, shapes: Shapes) -> Kept | None:
        """What is known of a step; CheckpointError where it has arrays of other types or shapes."""
        return None

    def save(self, name: str, arrays: Mapping[str, Array], facts: Mapping[str, Any] | None = None, *, ends: str = "") -> None:
        """Keep a step; ends : one that is not needed any more, then."""

    def is_due(self, name: str) -> bool:
        """Whether keeping a step of many, such as a round, costs little compared with the time since the last."""
        return False


class Works:
    """Where pieces of work are kept, one after the other."""

    def begin(self, name: str, about: dict[str, Any]) -> Work:
        """The next one. CheckpointError where what is there is about something else."""
        raise NotImplementedError


_works: ContextVar[Works | None] = ContextVar("poolwise_works", default=None)
_work: ContextVar[Work | None] = ContextVar("poolwise_work", default=None)


def current() -> Work:
    """The work that is being done.

    >>> current().load("codes", {}) is None
    True
    """
    return _work.get() or Work()


@contextmanager
def kept_by(works: Works) -> Iterator[None]:
    """Keep what is begun inside."""
    token = _works.set(works)
    try:
        yield
    finally:
        _works.reset(token)


def are_kept() -> bool:
    """Whether anything is kept: what a piece of work is about need not be computed otherwise."""
    return _works.get() is not None


@contextmanager
def begun(name: str, about: dict[str, Any] | None) -> Iterator[Work]:
    """One piece of work, kept where `kept_by` says; about : what its results depend on, needed where `are_kept()`."""
    works = _works.get()
    work = Work() if works is None or about is None else works.begin(name, about)
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def state_of(rng: np.random.Generator) -> list[str]:
    """Where a generator is, as text: its kind, and its numbers in hexadecimal.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> state, drawn = state_of(rng), rng.integers(100, size=3)
    >>> set_state(rng, state)
    >>> bool((rng.integers(100, size=3) == drawn).all())
    True
    """
    now = rng.bit_generator.state
    numbers = now["state"]["state"], now["state"]["inc"], now["has_uint32"], now["uinteger"]
    return [now["bit_generator"], *[f"{number:x}" for number in numbers]]


def set_state(rng: np.random.Generator, state: list[str]) -> None:
    """Put a generator where `state_of` found it. CheckpointError: that is no state of its kind."""
    try:
        kind, *numbers = state
        state_, inc, has, uinteger = (int(number, 16) for number in numbers)
        rng.bit_generator.state = {
            "bit_generator": kind,
            "state": {"state": state_, "inc": inc},
            "has_uint32": has,
            "uinteger": uinteger,
        }
    except (ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(f"a checkpoint has no state of a random generator ({error}); remove its folder") from error
