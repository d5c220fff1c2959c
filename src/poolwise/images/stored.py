"""Arrays of images in `.npy` and `.npz` files. Nothing is ever unpickled: arrays of objects are refused."""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from poolwise.images.errors import ImageError, reason_of
from poolwise.support.memory import physical_bytes
from poolwise.support.parameters import NAME
from poolwise.support.types import Array

_IMAGES = ("images", "image", "x", "data")
_LABELS = ("labels", "label", "y", "target", "targets")


def map_npy(path: Path) -> Array:
    """The array of a `.npy` file as a read-only memory map."""
    try:
        return npy.open_memmap(path, mode="r")
    except Exception as error:
        raise ImageError(path, f"it cannot be mapped as a .npy array ({reason_of(error)})") from error


def read_npz(path: Path, member: str | None = None, labelled: bool = True) -> tuple[Array, Array | None]:
    """Images and, if there, labels of a `.npz` file, in memory.

    Without `member` it is the only array, or the only one that is called images, image, x or data; a member "train" is that of
    x_train, train_images and the like. Its labels are the array of the same name with labels, label, y, target or targets in
    that place: y_train for x_train. `labelled` False: they are not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info for info in archive.infolist() if info.filename.endswith(".npy")
            }
            chosen = _choose(path, list(members), member)
            labels = _labels_of(chosen, list(members)) if labelled else None
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
                        shapes[info.filename.removesuffix(".npy")] = _header(file)[0]
    except Exception as error:
        raise ImageError(path, f"it cannot be read as .npz ({reason_of(error)})") from error
    return shapes


def _choose(path: Path, names: list[str], member: str | None) -> str:
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


def _labels_of(images: str, names: list[str]) -> str | None:
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
        shape, dtype = _header(file)
        if int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
            raise ValueError(f"{info.filename} is shorter than its header says: {shape} of {dtype}")
    with archive.open(info) as file:
        return npy.read_array(file)


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)
    shape, _, dtype = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
    return shape, dtype
