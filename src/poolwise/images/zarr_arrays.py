"""Arrays of zarr by the name of their folder, here or at an address; the one module that imports zarr, where it is installed.

    cells.zarr            an array, or a group with one that is called images (or `member`), and labels as in a `.npz` file

A folder may come from anyone: its codecs must be among those known to compute numbers alone (zarr has one that unpickles), and
a chunk must fit in memory. A chunk that is missing has zarr's fill value, as the format says.
"""

import math
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from poolwise.images.errors import ImageError, reason_of
from poolwise.images.stored import choose_member, labels_of
from poolwise.support.addresses import Address, place_of
from poolwise.support.memory import in_bytes
from poolwise.support.types import Array

NEEDS_ZARR = "an array of zarr needs the package zarr: pip install zarr"
MOST_BYTES_PER_CHUNK = 1 << 30
_NUMBERS = (
    "blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "lzma", "shuffle", "delta", "bitround", "fixedscaleoffset", "quantize",
    "packbits", "astype", "crc32", "crc32c", "fletcher32", "adler32", "jenkins_lookup3",
)  # fmt: skip
_KNOWN = {*_NUMBERS, *(f"numcodecs.{name}" for name in _NUMBERS), "bytes", "transpose", "sharding_indexed", "vlen-utf8"}


class ZarrArray:
    """An array by its place: what `SlicedImages` takes, from any thread; other processes open it for themselves.

    place : folder or address    name : of the array, where the place is a group; else None
    """

    def __init__(self, place: str, name: str | None = None) -> None:
        self.place, self.name = place if isinstance(place_of(place), Address) else os.path.abspath(place), name
        found = _open(place)
        self._array = found if name is None else found[name]
        _check(self.place, self._array)
        self.shape, self.dtype, self.chunks = self._array.shape, self._array.dtype, self._array.chunks

    def __getitem__(self, rows: slice) -> Array:
        return np.asarray(self._array[rows])

    def __reduce__(self) -> Any:
        return ZarrArray, (self.place, self.name)


def open_zarr(place: Path | Address, member: str | None, labelled: bool) -> tuple[ZarrArray, Array | None]:
    """The array of images and, where the place is a group, labels."""
    where = str(place)
    found = _open(where)
    if hasattr(found, "shape"):
        if member is not None:
            raise ImageError(where, "it is one array, not a group of them; leave out {member}", member=member)
        return ZarrArray(where), None
    try:
        names = sorted(found.array_keys())
    except Exception as error:
        raise ImageError(where, f"its arrays cannot be listed ({reason_of(error)}); give the address of one") from error
    chosen = choose_member(where, names, member)
    images, name = ZarrArray(where, chosen), labels_of(chosen, names) if labelled else None
    if name is None:
        return images, None
    labels = ZarrArray(where, name)
    if labels.shape[:1] != images.shape[:1] or math.prod(labels.shape) > math.prod(images.shape):
        raise ImageError(where, f"{name} has shape {labels.shape}, and {chosen} {images.shape}; give {{labels}}", labels=None)
    return images, labels[:]


def is_zarr(folder: Path) -> bool:
    """Whether a folder of this machine is an array or group of zarr, by the files that describe it."""
    return any((folder / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))


def _open(where: str) -> Any:
    try:
        zarr = import_module("zarr")
    except ImportError as error:
        raise ImageError(where, NEEDS_ZARR) from error
    try:
        return zarr.open(where, mode="r")
    except Exception as error:  # zarr, and what is behind an address, raise nearly anything
        raise ImageError(where, f"it cannot be opened as an array of zarr ({reason_of(error)})") from error


def _check(where: str, array: Any) -> None:
    """An error for codecs that may do more than compute numbers, and for chunks that unfold into too much."""
    metadata = array.metadata
    found = list(getattr(metadata, "codecs", None) or [])
    found += [*(getattr(metadata, "filters", None) or ()), getattr(metadata, "compressor", None)]
    while found:
        codec = found.pop()
        found += [*getattr(codec, "codecs", ()), *getattr(codec, "index_codecs", ())]  # those of shards
        name = getattr(codec, "codec_id", None) or _name(codec)
        if codec is not None and name not in _KNOWN:
            raise ImageError(where, f"its codec {name!r} is not known to be safe; write the array anew with zstd or blosc")
    size = math.prod(array.chunks) * max(1, array.dtype.itemsize)
    if size > MOST_BYTES_PER_CHUNK:
        raise ImageError(
            where, f"its chunks {array.chunks} have {in_bytes(size)} each, at most {in_bytes(MOST_BYTES_PER_CHUNK)} are read"
        )


def _name(codec: Any) -> str:
    described = codec.to_dict() if hasattr(codec, "to_dict") else {}
    return str(described.get("name", type(codec).__name__))
