"""Arrays of other libraries (zarr, h5py, dask, netCDF4 and more): blocks are read by slices when they are asked for.

    rows 3, 4, 5, 9 ─▶ array[3:6], array[9:10]      ascending spans: not all libraries take lists of rows
    chunks of 4     ─▶ array[3:4], array[4:6], array[9:10]      a span ends with its chunk, and holes within one are read over

None of them is imported. One span is read at a time, whatever the number of threads: not all libraries are safe among several.
"""

import threading
from contextlib import nullcontext
from typing import Any

import numpy as np

from poolwise.images.errors import ImageError, reason_of
from poolwise.images.sources import Images, check_numbers
from poolwise.images.stored import NpyAt
from poolwise.images.zarr_arrays import ZarrArray
from poolwise.support.missing import unmasked
from poolwise.support.types import Array

_TURN = threading.RLock()  # one for all: two arrays may lie in one file, and one may be made of others

_FROM_ANY_THREAD = (NpyAt, ZarrArray)


class SlicedImages(Images):
    """Images of anything with `shape` (n, H, W, c) or (n, H, W), `dtype` and slices.

    >>> class Squares:
    ...     shape, dtype = (4, 2, 2), "int64"
    ...
    ...     def __getitem__(self, rows):
    ...         return np.arange(4)[rows, None, None] ** 2 * np.ones((2, 2), np.int64)
    >>> SlicedImages("the squares", Squares())[np.array([3, 0])][:, 0, 0, 0]
    array([9, 0])
    """

    _is_here = True  # in the process that opened it

    def __init__(self, name: str, array: Any, labels: Array | None = None) -> None:
        self._name, self._array = name, array
        shape = tuple(int(n) for n in array.shape)
        if len(shape) not in (3, 4) or 0 in shape:
            raise ImageError(
                name,
                f"it has shape {shape}; expected numbers of shape (n, height, width, channels), or (n, height, width) for grey "
                f"images, and at least one pixel",
            )
        n, H, W, c = (*shape, 1)[:4]
        self.shape, self._rows_per_chunk = (n, H, W, c), _rows_per_chunk(array)
        _check_whole(name, array)
        dtype = self._read(0, 1).dtype
        if dtype.kind not in "uifb":
            raise ImageError(name, f"its pixels are {dtype}; expected whole or real numbers")
        self.dtype = dtype
        self.names, self.labels, self.skipped = range(n), labels, []

    def _block(self, rows: slice | Array) -> Array:
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            block = unmasked(self._read(start, max(start, stop)), self.nodata)
        else:
            block = self._gather(np.arange(len(self))[rows] if isinstance(rows, slice) else rows)
        return check_numbers(self._name, block, rows, len(self), self.nodata)

    def _gather(self, rows: Array) -> Array:
        """Rows in any order, repeated or not."""
        wanted, places = np.unique(rows, return_inverse=True)
        found = np.empty((len(wanted), *self.shape[1:]), self.dtype)
        chunk = wanted // self._rows_per_chunk
        whole = len(wanted) > 0 and wanted[-1] - wanted[0] == len(wanted) - 1
        ends = np.flatnonzero(chunk[1:] != chunk[:-1] if self._rows_per_chunk > 1 else np.diff(wanted) > 1) + 1
        for start, stop in zip([0, *ends], [*ends, len(wanted)], strict=True) if not whole else [(0, len(wanted))]:
            if stop > start:
                first = int(wanted[start])
                block = unmasked(self._read(first, int(wanted[stop - 1]) + 1), self.nodata)
                found[start:stop] = block[wanted[start:stop] - first]
        return found[places]

    def __getstate__(self) -> dict[str, Any]:
        graph = self._array.__dask_graph__() if hasattr(self._array, "__dask_graph__") else {}
        if any(type(part).__name__ == "Future" for part in dict(graph).values()):
            raise TypeError("a persisted dask array lies on the workers of its client, and cannot travel")
        return {**super().__getstate__(), "_is_here": False}

    def _slice(self, start: int, stop: int) -> Any:
        """Of dask, elsewhere by threads: on a worker, tasks for its cluster would wait for the one that asks for them."""
        block = self._array[start:stop]
        return block if self._is_here or not hasattr(block, "__dask_graph__") else block.compute(scheduler="threads")

    def _read(self, start: int, stop: int) -> Array:
        """(stop - start, H, W, c), in this machine's byte order; netCDF4 masks numbers."""
        if stop == start:
            return np.empty((0, *self.shape[1:]), self.dtype)
        try:
            with nullcontext() if isinstance(self._array, _FROM_ANY_THREAD) else _TURN:
                block = self._slice(start, stop)
                block = block if isinstance(block, np.ma.MaskedArray) else np.asarray(block)
        except ImageError:
            raise
        except Exception as error:  # a library may raise anything
            raise ImageError(self._name, f"images {start} to {stop - 1} cannot be read ({reason_of(error)})") from error
        if block.size != (stop - start) * np.prod(self.shape[1:]):
            raise ImageError(
                self._name, f"its images {start} to {stop - 1} have shape {block.shape}, which is not that of {self.shape}"
            )
        block = block.reshape(stop - start, *self.shape[1:])
        return block.astype(block.dtype.newbyteorder("="), copy=False)


def _check_whole(name: str, array: Any) -> None:
    """An error where chunks of dask cut images: each image would need several of them."""
    chunks = getattr(array, "chunks", None)
    if not hasattr(array, "__dask_graph__") or not isinstance(chunks, tuple):
        return
    cut = [axis for axis in range(1, len(chunks)) if len(chunks[axis]) > 1]
    if cut:
        axes = ", ".join(f"{axis}: -1" for axis in cut)
        raise ImageError(
            name,
            f"its chunks cut images, along the axes {', '.join(map(str, cut))}; give array.rechunk({{{axes}}}), so that "
            f"each image lies whole in one",
        )


def _rows_per_chunk(array: Any) -> int:
    """Of a chunked array; 1 if it has none. Those of dask are tuples of sizes, of which the first counts."""
    chunks = getattr(array, "chunks", None)
    first = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    first = first[0] if isinstance(first, tuple) and first else first
    return max(1, int(first)) if isinstance(first, int | np.integer) else 1
