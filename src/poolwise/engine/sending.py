"""What all shards of a map need, on its way to the workers.

A value goes as one task that has the value in itself: the scheduler keeps it, so that a worker that dies takes nothing with it.
What is larger than a few megabytes goes in pieces, one task each; what is larger than `MOST_BYTES` is refused. Arrays of files
go as names (`poolwise.support.mapped`).
All travels as bytes that our own tasks open (`packed`).
"""

from typing import Any

from distributed import Client, Future
from distributed.protocol import serialize

from poolwise.engine.errors import ClusterError
from poolwise.engine.packed import Packed, deserialized, quiet
from poolwise.support.blocks import spans

MOST_BYTES = 100 << 20
_BYTES_PER_PIECE = 4 << 20
_BYTES_IN_TASKS = 2 << 20
_REMEDY = (
    "Store images where the workers see them, np.save('images.npy', images), and give open_images('images.npy') or "
    "np.load('images.npy', mmap_mode='r'); or give a folder of files"
)


def send(client: Client, value: Any, name: str, times: int = 0, of: str = "") -> Any:
    """A future of the value; or it `Packed`, where so many tasks may as well have it in themselves. ClusterError: too large.

    of : the function that it is for
    """
    header, frames = _serialized(value, name)
    views = [memoryview(frame).cast("B") if memoryview(frame).nbytes else memoryview(b"") for frame in frames]
    size = sum(view.nbytes for view in views)
    if size > MOST_BYTES:
        raise ClusterError(
            f"{size / 1e6:,.0f} MB of {name} are in this process's memory, and at most {MOST_BYTES / 1e6:,.0f} MB are sent to "
            f"a cluster. {_REMEDY}"
        )
    if 0 < size * times <= _BYTES_IN_TASKS:
        return Packed(of or name, header, [bytes(view) for view in views])
    key = f"send-{name}"
    if size <= _BYTES_PER_PIECE:
        return _submit(client, deserialized, of or name, header, [bytes(view) for view in views], key=key)
    pieces = [
        _submit(client, _same, bytes(view[part]), key=key) for view in views for part in spans(len(view), _BYTES_PER_PIECE)
    ]
    return _submit(client, _joined, of or name, header, [len(view) for view in views], pieces, key=key)


def _serialized(value: Any, name: str) -> Any:
    """Header and frames; ClusterError where something in it belongs to this process, such as a lock or an open file."""
    try:
        with quiet():
            return serialize(value, serializers=("pickle",), on_error="raise")
    except TypeError as error:
        raise ClusterError(
            f"{name} of type {type(value).__name__} cannot be sent to a cluster: something in them belongs to this process "
            f"alone, such as a lock or an open file. {_REMEDY}"
        ) from error


def _submit(client: Client, function: Any, *arguments: Any, key: str) -> Future:
    from uuid import uuid4

    return client.submit(function, *arguments, key=f"{key}-{uuid4().hex}")


def _same(piece: bytes) -> bytes:
    return piece


def _joined(name: str, header: Any, lengths: list[int], pieces: list[bytes]) -> Any:
    content, frames, start = memoryview(b"".join(pieces)), [], 0
    for length in lengths:
        frames.append(content[start : start + length])
        start += length
    return deserialized(name, header, frames)
