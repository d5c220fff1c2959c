"""`Images`: what `open_images` gives, from an array or from files that are decoded when asked for."""

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from poolwise.images.decoding import Decoder
from poolwise.images.errors import ImageError, show
from poolwise.images.items import Items
from poolwise.images.listing import Listing
from poolwise.support.addresses import is_address
from poolwise.support.missing import Nodata, missing_pixels, unmasked
from poolwise.support.parameters import LARGEST_REAL, Example
from poolwise.support.types import Array, ImageSource


class Images(ImageSource):
    """n images of one size; `images[rows]` decodes those of a slice, a row number or an array of these, and no others.

    Attributes
    ----------
    shape : (n, H, W, c)
    dtype : that of the array, or of the first file: mostly uint8; TIFF has any, and 16-bit greys of PNG float32 in 0..255
    labels : (n,) array or None
    names : n paths relative to the folder or list, or row numbers
    skipped : list of (path, reason)
        Files left out by on_error="skip".
    nodata : what pixels without data hold, if any may be without
    """

    labels: Array | None
    names: Sequence[str] | Sequence[int]
    skipped: list[tuple[str, str]]
    nodata: Nodata = None

    def __getitem__(self, rows: Any) -> Array:
        """(rows, H, W, c), or (H, W, c) for one row number."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # as scikit-learn cuts folds
            rows = rows[0]
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            return self._block(_row_numbers([rows], len(self)))[0]
        return self._block(rows if isinstance(rows, slice) else _row_numbers(rows, len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def __repr__(self) -> str:
        labels = "no labels" if self.labels is None else f"{len(np.unique(self.labels))} labels"
        skipped = f", {len(self.skipped)} files skipped" if self.skipped else ""
        return f"<{type(self).__name__} {self.shape} {self.dtype}, {labels}{skipped}>"

    @abstractmethod
    def _block(self, rows: slice | Array) -> Array: ...


class ArrayImages(Images):
    """Images of an array or memory map, (n, H, W, c) or (n, H, W); floats are checked block by block.

    >>> ArrayImages("x", np.zeros((5, 8, 8), np.uint8))[1:3].shape
    (2, 8, 8, 1)
    """

    def __init__(self, name: str, array: Array, labels: Array | None = None) -> None:
        if array.ndim not in (3, 4) or 0 in array.shape or array.dtype.kind not in "uifb":
            raise ImageError(
                name,
                f"it has shape {array.shape} of {array.dtype}; expected numbers of shape (n, height, width, channels), or (n, "
                f"height, width) for grey images, and at least one pixel",
            )
        whole = array if array.ndim == 4 else array[..., None]
        self._array = whole if isinstance(whole, np.ma.MaskedArray) else np.asarray(whole)
        n, H, W, c = self._array.shape
        self.shape, self.dtype = (n, H, W, c), self._array.dtype
        self.names, self.labels, self.skipped, self._name = range(n), labels, [], name

    def _block(self, rows: slice | Array) -> Array:
        return check_numbers(self._name, unmasked(self._array[rows], self.nodata), rows, len(self), self.nodata)


def check_numbers(name: str, block: Array, rows: slice | Array, n: int, nodata: Nodata = None) -> Array:
    """The block, (rows, H, W, c), if no pixel that has data is NaN, infinite or too large; `rows` are those of n images."""
    if block.dtype.kind != "f" or (np.abs(block) <= LARGEST_REAL).all():  # also False for NaN
        return block
    usable = np.abs(block) <= LARGEST_REAL
    if nodata is not None:
        usable |= missing_pixels(block, nodata)[..., None]
    if usable.all():
        return block
    bad = np.flatnonzero(~usable.all(axis=(1, 2, 3)))[0]
    row = range(n)[rows][bad] if isinstance(rows, slice) else rows[bad]
    raise ImageError(
        name,
        f"image {row} has pixels that are NaN, infinite or above {LARGEST_REAL:g}; expected about 0..255, or leave them out "
        f"with {{nodata}}",
        nodata="nan",
    )


class FileImages(Images):
    """Images of files, decoded by whoever asks for them; kept if all together take no more than `memory` bytes.

    Parameters
    ----------
    listing : Listing or Items
    decode : Decoder
    first : row, (H, W, c)
        The file that rules, and its pixels: the others must have its shape, and get its dtype.
    memory : int
    """

    is_raw = True

    def __init__(self, listing: Listing | Items, decode: Decoder, first: tuple[int, Array], memory: int) -> None:
        row, pixels = first
        H, W, c = pixels.shape
        self.shape, self.dtype = (len(listing), H, W, c), pixels.dtype
        self.names, self.labels, self.skipped, self.root = listing.names, listing.labels, [], listing.root
        self.listing, self._decode, self._first = listing, decode, str(listing.names[row])
        # Filled row by row without a lock: threads that decode the same file write the same bytes, and a row is marked after it
        # is whole.
        self._kept = np.empty(self.shape, self.dtype) if len(self) * pixels.nbytes <= memory else None
        self._is_kept = np.zeros(len(self), np.bool_)
        self._keep(row, pixels)

    def __getstate__(self) -> dict[str, Any]:
        """Other processes decode for themselves, wherever they run; they keep what they decode if this one does."""
        listing = self.listing
        if isinstance(listing, Listing) and not is_address(listing.root):
            listing = replace(listing, root=os.path.abspath(listing.root))
        return {**self.__dict__, "listing": listing, "_kept": self._kept is not None, "_is_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._kept = np.empty(self.shape, self.dtype) if state["_kept"] else None
        self._is_kept = np.zeros(len(self), np.bool_)

    def path(self, row: int) -> str:
        """Of the file of one row."""
        return self.listing.path(row)

    def subset(self, rows: Array, skipped: list[tuple[str, str]]) -> Self:
        """This source with these rows alone, ascending; what was decoded moves over."""
        if self._kept is not None:
            for new, old in enumerate(rows):  # in place: the whole may fill the memory that there is
                self._kept[new] = self._kept[old]
            self._kept = self._kept[: len(rows)]
        self._is_kept = self._is_kept[rows]
        self.listing = self.listing.subset(rows)
        self.names = self.listing.names
        self.labels = None if self.labels is None else self.labels[rows]
        self.shape, self.skipped = (len(rows), *self.shape[1:]), skipped
        return self

    def _block(self, rows: slice | Array) -> Array:
        if self._kept is not None and self._is_kept[rows].all():
            block = self._kept[rows]
            block.flags.writeable = False  # of a slice it is what is kept, not a copy
            return block
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows
        block = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        for pixels, row in zip(block, numbers, strict=True):
            pixels[...] = self._kept[row] if self._kept is not None and self._is_kept[row] else self._read(row)
        return block

    def _read(self, row: int) -> Array:
        pixels = self._like_the_first(self.path(row), self.listing.read(row, self._decode).pixels)
        self._keep(row, pixels)
        return pixels

    def _like_the_first(self, path: str, pixels: Array) -> Array:
        """Of the first image's shape and type; greys among colours get three channels."""
        (h, w, bands), (H, W, c) = pixels.shape, self.shape[1:]
        first = show(self._first)
        if (h, w) != (H, W):
            raise ImageError(
                path,
                f"{h}×{w} pixels, but the first image, {first}, has {H}×{W}; give {{resize}}, and {{crop}} to keep proportions",
                resize=Example("(height, width)", "HEIGHTxWIDTH"),
                crop=True,
            )
        if (bands, c) == (1, 3):
            pixels = np.repeat(pixels, 3, axis=2)
        elif (bands, c) == (3, 1):
            raise ImageError(
                path,
                f"it has colours, but the first image, {first}, is grey; make all grey with {{grey}}, or give all three "
                f"channels with {{colour}}",
                grey=True,
                colour=Example("grey=False", "--colour"),
            )
        elif bands != c:
            raise ImageError(path, f"it has {bands} bands, but the first image, {first}, has {c}")
        if pixels.dtype.kind == "f" and self.dtype == np.uint8:
            pixels = np.rint(pixels)  # 16-bit greys of PNG, in 0..255
        elif pixels.dtype != self.dtype and not (pixels.dtype == np.uint8 and self.dtype == np.float32):
            raise ImageError(
                path, f"its pixels are {pixels.dtype}, those of the first image, {first}, {self.dtype}; save all alike"
            )
        return pixels.astype(self.dtype, copy=False)

    def _keep(self, row: int, pixels: Array) -> None:
        if self._kept is not None:
            self._kept[row] = pixels
            self._is_kept[row] = True


class ItemImages(FileImages):
    """The same of the items of a sequence; their numbers are taken as those of an array are."""

    is_raw = False


def _row_numbers(rows: Any, n: int) -> Array:
    """Row numbers or a mask as numbers in 0..n-1."""
    rows = np.asarray(rows)
    if rows.ndim == 1 and rows.dtype.kind == "b" and len(rows) == n:
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.dtype.kind not in "ui" and len(rows) > 0):
        raise IndexError(f"images are cut by a slice, a row number, or an array of row numbers; got {rows.dtype} {rows.shape}")
    rows = rows.astype(np.int64)
    if ((rows < -n) | (rows >= n)).any():
        raise IndexError(f"row {rows[(rows < -n) | (rows >= n)][0]} of {n} images")
    return np.where(rows < 0, rows + n, rows)
