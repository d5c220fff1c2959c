"""The file itself: arrays and one JSON text in a safetensors file, read without trust.

    8 bytes       n, the header's length, little endian
    n bytes       JSON: {"__metadata__": {"poolwise": TEXT}, NAME: {"dtype", "shape", "data_offsets"}, ...}
    the rest      the arrays' bytes, end to end

The safetensors library writes it. Reading is ours: every size is compared with the length of the file before anything of that
size is made, repeated keys are refused, each array is read once, to where it stays, and nothing is mapped that
somebody else could cut short meanwhile.
"""

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from poolwise.modelfile.strict_json import ModelFileError, fields, many, one_of, parse, text, whole
from poolwise.support.files import NotRegularError, open_regular
from poolwise.support.types import Array

DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}
KEY = "poolwise"

_LEAST_HEADER_BYTES = 1 << 18
_HEADER_SHARE = 32  # Python's objects take up to some 20 times the room of their JSON, lists and dictionaries 44 times
_MOST_BRACKETS = 10_000
_NUMBERS_PER_BLOCK = 1 << 16
_LARGEST_SIZE = 2**63 - 1
_OTHERS = {
    b"\x80\x02": "a pickle, which poolwise never opens",
    b"\x80\x03": "a pickle, which poolwise never opens",
    b"\x80\x04": "a pickle, which poolwise never opens",
    b"\x80\x05": "a pickle, which poolwise never opens",
    b"PK\x03\x04": "a zip archive, as .npz files are",
    b"\x93NUMPY": "a .npy file",
    b"\x89HDF": "an HDF5 file",
}


@dataclass(frozen=True)
class Tensor:
    """What an array must be: its type and shape, and for each number finite, at least `least`, above `above`, below `below`.

    ascending : each number is larger than the one before    different : no two are equal    holes : -inf is a number too
    """

    dtype: str
    shape: tuple[int, ...]
    least: float | None = None
    above: float | None = None
    below: float | None = None
    ascending: bool = False
    different: bool = False
    holes: bool = False

    def check(self, name: str, array: Array) -> None:
        """Block by block, so that the check takes hardly any memory."""
        flat = array.reshape(-1)
        for start in range(0, len(flat), _NUMBERS_PER_BLOCK):
            part = flat[max(start - 1, 0) : start + _NUMBERS_PER_BLOCK]
            if not (np.isfinite(part) | (np.isneginf(part) & self.holes)).all():
                raise ModelFileError(f"the array {name!r} has values that are not finite")
            low, high = part.min(), part.max()
            if (
                (self.least is not None and low < self.least)
                or (self.above is not None and low <= self.above)
                or (self.below is not None and high >= self.below)
            ):
                raise ModelFileError(f"the array {name!r} has values out of range: {low} to {high}")
            if self.ascending and (part[1:] <= part[:-1]).any():
                raise ModelFileError(f"the array {name!r} does not ascend")
        if self.different and len(np.unique(flat)) < len(flat):
            raise ModelFileError(f"the array {name!r} has a number twice")


@dataclass(frozen=True)
class Stored:
    """Where an array is in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[FileIO]:
    """A regular file to read from; a pipe or device is refused without waiting for it."""
    try:
        file = open_regular(path)
    except NotRegularError as error:
        raise ModelFileError("it is a folder, pipe or device, not a file") from error
    with file:
        yield file


def read_header(file: FileIO) -> tuple[str, dict[str, Stored]]:
    """The JSON text, and where each array is: together they fill the file exactly."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(8) or b""
    length = int.from_bytes(start, "little")
    limit = _LEAST_HEADER_BYTES + size // _HEADER_SHARE
    if len(start) < 8 or not 2 <= length <= min(size - 8, limit):
        other = next((name for magic, name in _OTHERS.items() if start.startswith(magic)), None)
        if other is not None:
            raise ModelFileError(f"it is {other}; expected a safetensors file that poolwise.save made")
        raise ModelFileError(
            f"it is not a safetensors file, or cut short: its {size} bytes cannot have a header of {length} (at most {limit})"
        )
    raw = bytearray(length)
    _fill(file, memoryview(raw))
    if raw.count(b"[") + raw.count(b"{") > _MOST_BRACKETS:
        raise ModelFileError(f"its header has more than {_MOST_BRACKETS} brackets")
    try:
        header = parse(raw.decode())
    except UnicodeDecodeError:
        raise ModelFileError("it is not a safetensors file: its header is not UTF-8") from None
    if not isinstance(header, dict) or "__metadata__" not in header:
        raise ModelFileError("it is not a model of poolwise: its header has no metadata")
    metadata = header.pop("__metadata__")
    if not isinstance(metadata, dict) or KEY not in metadata:
        raise ModelFileError(f"it is not a model of poolwise: its metadata has no {KEY!r}")
    fields(metadata, "the metadata", {KEY: text})
    return metadata[KEY], _places(header, 8 + length, size)


def _places(header: Mapping[str, Any], start: int, size: int) -> dict[str, Stored]:
    number = whole(0, _LARGEST_SIZE)
    checks = {"dtype": one_of(*DTYPES), "shape": many(number, most=4), "data_offsets": many(number, 2, 2)}
    for name, entry in header.items():
        fields(entry, f"the array {name!r}", checks)
    end = 0
    places = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        if first != end or last - first != math.prod(entry["shape"]) * DTYPES[entry["dtype"]].itemsize:
            raise ModelFileError(
                f"the array {name!r} of {entry['dtype']} {entry['shape']} does not fit its place {first}..{last}"
            )
        end = last
        places[name] = Stored(entry["dtype"], tuple(entry["shape"]), start + first)
    if start + end != size:
        raise ModelFileError(f"its arrays end at byte {start + end}, the file at {size}: cut short, or something was added")
    return places


def agree(expected: Mapping[str, Tensor], places: Mapping[str, Stored]) -> None:
    """The arrays in the file are those that the JSON text describes."""
    for name in places:
        if name not in expected:
            raise ModelFileError(f"it has the unknown array {name!r}")
    for name, tensor in expected.items():
        if name not in places:
            raise ModelFileError(f"it lacks the array {name!r}")
        stored = places[name]
        if (stored.dtype, stored.shape) != (tensor.dtype, tensor.shape):
            raise ModelFileError(
                f"the array {name!r} is {stored.dtype} {list(stored.shape)}; its parameters want {tensor.dtype} "
                f"{list(tensor.shape)}"
            )


def read_arrays(file: FileIO, places: Mapping[str, Stored], document: bytes) -> tuple[dict[str, Array], str]:
    """All arrays, and the checksum of what was read: of the JSON text, and of each array's name, type, shape and bytes."""
    digest = hashlib.sha256(document)
    arrays = {}
    for name, stored in sorted(places.items()):
        array = arrays[name] = np.empty(stored.shape, DTYPES[stored.dtype])
        file.seek(stored.start)
        if array.size:
            _fill(file, array.data.cast("B"))
        _digest(digest, name, array)
    return arrays, digest.hexdigest()


def _fill(file: FileIO, place: memoryview) -> None:
    while place:
        n = file.readinto(place)
        if not n:
            raise ModelFileError("it was cut short while it was read")
        place = place[n:]


def _digest(digest: Any, name: str, array: Array) -> None:
    digest.update(f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode())
    digest.update(array.data.cast("B") if array.size else b"")


def checksum(arrays: Mapping[str, Array], document: bytes) -> str:
    """As `read_arrays` gives it."""
    digest = hashlib.sha256(document)
    for name, array in sorted(arrays.items()):
        _digest(digest, name, array)
    return digest.hexdigest()


def write(path: Path, arrays: Mapping[str, Array], document: bytes) -> None:
    """Write the file; the arrays are contiguous."""
    limit = _LEAST_HEADER_BYTES + sum(array.nbytes for array in arrays.values()) // _HEADER_SHARE
    if len(document) > limit:
        raise ModelFileError(f"its JSON has {len(document)} bytes, at most {limit} fit; shorten provenance, labels or names")
    try:
        save_file(dict(arrays), path, metadata={KEY: document.decode()})
    except SafetensorError as error:  # it knows no path, and its errors are not those of Python
        raise OSError(str(error)) from error
