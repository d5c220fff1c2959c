"""Where shards run, as the rooms of the method see it: an engine maps functions over shards and keeps rows in place.

A room cuts its work into shards whose number depends on the data alone, maps a module-level function over them, and reduces the
results in the order of the shards. So a result does not depend on how many threads or workers there are, and a cluster can take
the place of `Threads`. Rooms that need one machine's memory (affinity propagation, the SVM) ask for `Threads` by type: every
engine has some, `engine.local`. `poolwise.engine.current.here` gives the engine that is to be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from poolwise.engine.threads import Threads
    from poolwise.support.types import Array, Rows


class Held(Protocol):
    """(n, d) rows that stay where the engine put them; functions go to the rows.

    `map` and `replace` call function(block, *common) for consecutive blocks of `size` rows.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    def map(self, function: Callable[..., Any], *common: Any, size: int) -> Iterator[Any]:
        """The results, in the order of the blocks."""
        ...

    def replace(self, function: Callable[..., Array], *common: Any, size: int) -> None:
        """Each block becomes what the function makes of it: as many rows, of one length."""
        ...

    def take(self, rows: Array) -> Array:
        """A copy of some rows, (len(rows), d)."""
        ...


class Engine(Protocol):
    """Runs functions over shards. `Threads` here; elsewhere a cluster.

    shares_memory : whether functions see this process's arrays; where not, what is common to all shards is sent once
    """

    @property
    def shares_memory(self) -> bool: ...

    @property
    def local(self) -> Threads:
        """Threads of this process, for what needs one memory."""
        ...

    def map(self, function: Callable[..., Any], shards: Any, *common: Any) -> Iterator[Any]:
        """Yield function(shard, *common) in the order of the shards."""
        ...

    def hold(self, make: Callable[..., tuple[Rows, Array]], shards: Sequence[Any], *common: Any, n: int) -> Held:
        """Keep n rows: make(shard, *common) gives (rows, values), where they belong and what they are; each row once.

        shards : arrays of samples 0, 1, ..., of n / samples rows each, which an engine may cut; what `make` gives of a
        sample does not depend on the others of its shard
        """
        ...
