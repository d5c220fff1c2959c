"""Arrays of images in `.npy` and `.npz` files, here or at an address; nothing is unpickled: arrays of objects are refused."""

import io
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from poolwise.images.errors import ImageError, reason_of
from poolwise.images.fetching import fetch, fetch_part, fetch_start
from poolwise.support.addresses import Address
from poolwise.support.memory import physical_bytes
from poolwise.support.parameters import NAME
from poolwise.support.types import Array

_BYTES_OF_HEADER, _BYTES_READ_TOGETHER = 4096, 1 << 20
_IMAGES = ("images", "image", "x", "data")
_LABELS = ("labels", "label", "y", "target", "targets")


def map_npy(path: Path) -> Array:
    """The array of a `.npy` file as a read-only memory map."""
    try:
        return npy.open_memmap(path, mode="r")
    except Exception as error:
        raise ImageError(path, f"it cannot be mapped as a .npy array ({reason_of(error)})") from error


@dataclass(frozen=True)
class NpyAt:
    """The array of a `.npy` file at an address: rows are read when they are asked for, and its name travels to workers."""

    place: Address
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int

    @property
    def chunks(self) -> tuple[int, ...]:
        """Rows that are read together rather than one by one."""
        return (max(1, _BYTES_READ_TOGETHER // self._bytes_per_row), *self.shape[1:])

    @property
    def _bytes_per_row(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(self.shape[0])
        found = fetch_part(self.place, self.offset + start * self._bytes_per_row, self.offset + stop * self._bytes_per_row)
        return np.frombuffer(found, self.dtype).reshape(stop - start, *self.shape[1:])


def npy_at(place: Address) -> NpyAt:
    """The same of a `.npy` file at an address."""
    start = io.BytesIO(fetch_start(place, _BYTES_OF_HEADER))
    try:
        shape, columns_first, dtype = npy_header(start)
    except Exception as error:
        raise ImageError(place, f"it cannot be read as a .npy array ({reason_of(error)})") from error
    if dtype.hasobject or columns_first or not shape or 0 in shape:
        raise ImageError(
            place, f"it has shape {shape} of {dtype}, in Fortran's order: {columns_first}; save numbers, in the order of C"
        )
    found = NpyAt(place, shape, dtype, start.tell())
    end = found.offset + math.prod(shape) * dtype.itemsize
    fetch_part(place, end - 1, end)  # it is as long as it says
    return found


def read_npz(path: Path | Address, member: str | None = None, labelled: bool = True) -> tuple[Array, Array | None]:
    """Images and, if there, labels of a `.npz` file, in memory.

    Without `member` it is the only array, or the only one that is called images, image, x or data; a member "train" is that of
    x_train, train_images and the like. Its labels are the array of the same name with labels, label, y, target or targets in
    that place: y_train for x_train. `labelled` False: they are not read.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(fetch(path)) if isinstance(path, Address) else path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info for info in archive.infolist() if info.filename.endswith(".npy")
            }
            chosen = choose_member(path, list(members), member)
            labels = labels_of(chosen, list(members)) if labelled else None
            images = _read(archive, members[chosen])
            return images, None if labels is None else _read(archive, members[labels])
    except ImageError:
        raise
    except Exception as error:  # zipfile and zlib raise nearly anything
        raise ImageError(path, f"it cannot be read as .npz ({reason_of(error)})") from error


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every array of a `.npz` file; only their headers are read."""
    shapes = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    with archive.open(info) as file:
                        shapes[info.filename.removesuffix(".npy")] = npy_header(file)[0]
    except Exception as error:
        raise ImageError(path, f"it cannot be read as .npz ({reason_of(error)})") from error
    return shapes


def choose_member(path: str | Path, names: list[str], member: str | None) -> str:
    if member is not None and member in names:
        return member
    likely = [name for name in names if _part_of(name) == (member or "").lower()]
    if member is None and len(names) == 1:
        return names[0]
    if len(likely) == 1:
        return likely[0]
    which = f"no array {member!r}" if member is not None else "nothing that shows which are the images"
    there = ", ".join(map(repr, names[:20])) + ", ..." * (len(names) > 20) if names else "no arrays"
    raise ImageError(path, f"there is {which} in it, but {there}; choose with {{member}}", member=NAME)


def _part_of(name: str) -> str | None:
    """What is left of the name of an array of images without the word for them.

    >>> _part_of("train_images"), _part_of("x_test"), _part_of("X"), _part_of("y_test")
    ('train', 'test', '', None)
    """
    words = name.lower().split("_")
    others = [word for word in words if word not in _IMAGES]
    return "_".join(others) if len(others) == len(words) - 1 else None


def labels_of(images: str, names: list[str]) -> str | None:
    parts = images.lower().split("_")
    lower = {name.lower(): name for name in names}
    for place, part in enumerate(parts):
        for label in _LABELS if part in _IMAGES else ():
            name = "_".join([*parts[:place], label, *parts[place + 1 :]])
            if name in lower:
                return lower[name]
    return None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    if info.file_size > (physical_bytes() or math.inf):  # a few kilobytes may unfold into anything
        raise ValueError(f"{info.filename} unfolds into {info.file_size:,} bytes, more than this machine has memory for")
    with archive.open(info) as file:
        shape, _, dtype = npy_header(file)
        if int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
            raise ValueError(f"{info.filename} is shorter than its header says: {shape} of {dtype}")
    with archive.open(info) as file:
        return npy.read_array(file)


def npy_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type, of the beginning of a `.npy` file."""
    version = npy.read_magic(file)
    shape, columns_first, dtype = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
    return shape, bool(columns_first), dtype
