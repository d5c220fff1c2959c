"""What travels to workers as bytes that our own tasks open: what a worker cannot import is then an error of the task.

In a task as Dask sends it, it would end the worker that receives it, and the next.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from poolwise.engine.errors import ClusterError

_LOG = logging.getLogger("distributed.protocol.pickle")  # prints every attempt


@dataclass(frozen=True, eq=False)
class Packed:
    """A value as bytes, and what it is called where a worker cannot open it."""

    name: str
    header: Any
    frames: list[bytes]

    def open(self) -> Any:
        """The value."""
        return deserialized(self.name, self.header, self.frames)


def deserialized(name: str, header: Any, frames: list[Any]) -> Any:
    """The value; ClusterError where this process lacks what it needs."""
    from distributed.protocol import deserialize

    try:
        with quiet():
            return deserialize(header, frames)
    except (ImportError, AttributeError) as error:
        raise ClusterError(
            f"a worker cannot open what is sent for {name}: {error}. Functions and classes of yours must be importable on all "
            f"workers: install their module there, or give it to them with client.upload_file('module.py')"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without Dask's own lines about what cannot be sent or opened."""
    level = _LOG.level
    _LOG.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        _LOG.setLevel(level)
