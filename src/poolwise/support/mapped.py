"""Arrays of files on their way to other processes: the file's name travels, not its content."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from poolwise.support.types import Array


@dataclass(frozen=True)
class MappedArray:
    """Numbers in C order at some place of a file that every process sees under the same name.

    changed : nanoseconds, when the file was: another one of the same name is another array
    """

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    changed: int

    def open(self) -> Array:
        """The numbers, read-only and not in memory."""
        try:
            return np.asarray(np.memmap(self.path, np.dtype(self.dtype), "r", self.offset, self.shape))
        except (OSError, ValueError) as error:
            raise OSError(
                f"{self.path} cannot be mapped on this machine ({error}); every worker must see the file under the same name, "
                f"for instance in a folder that all machines share"
            ) from error


def as_mapped(array: Array) -> MappedArray | None:
    """Where the numbers of an array are, if it is a memory map of a file, or a part without gaps of one; else None.

    >>> as_mapped(np.zeros(3)) is None
    True
    """
    root: Any = array
    while root is not None and not (isinstance(root, np.memmap) and isinstance(root.base, mmap.mmap)):
        root = getattr(root, "base", None)
    if root is None or root.filename is None or root.mode == "c" or not array.flags.c_contiguous or array.dtype.hasobject:
        return None  # "c": what was written there is in memory alone
    if root.mode != "r":
        root.flush()
    start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0] + root.offset
    path = os.path.abspath(root.filename)
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError:
        return None  # the map outlives its name
    return MappedArray(path, int(start), array.dtype.str, array.shape, changed)


def packed(value: Any) -> Any:
    """An array as its place in a file, where it has one; anything else as it is."""
    found = as_mapped(value) if isinstance(value, np.ndarray) else None
    return value if found is None else found


def unpacked(value: Any) -> Any:
    """The array again."""
    return value.open() if isinstance(value, MappedArray) else value
