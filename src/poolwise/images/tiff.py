"""TIFF by tifffile: every band, every bit, and axes by their names. The file may be anything, by accident or on purpose.

    ImageJ, OME   CYX           a channel is a band
    GeoTIFF       YXS, SYX      bands chunky or planar
    stacks        ZYX, TYX, …   refused, unless `page` or `stack` says what to take of them

Files with 8 bits and at most three bands and an alpha channel are left to Pillow, which knows palettes, CMYK and fax codes.
Numbers come as they are: uint16 stays uint16, whatever part of its range is used.
"""

import logging
import math
from dataclasses import dataclass
from typing import IO, Any, Literal

import numpy as np
import tifffile

from poolwise.images.errors import ImageError
from poolwise.support.parameters import Example
from poolwise.support.types import Array

Stack = Literal["max", "channels"] | None

MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NEEDS_IMAGECODECS = "its compression, {}, needs the package imagecodecs: pip install 'poolwise[tiff]', or save it uncompressed"
_FREE_BANDS = 4  # more of them count as more pixels
_ALPHA = (1, 2)  # ExtraSamples: associated and unassociated
_NAMES = {"Z": "a z-stack", "T": "a time series", "C": "several channels", "S": "several samples"}
_MIN_IS_WHITE, _RGB, _PALETTE = 0, 2, 3
_COLOURS = {
    _MIN_IS_WHITE: 1,
    1: 1,
    _RGB: 3,
    _PALETTE: 1,
    5: 4,
    6: 3,
    8: 3,
}  # bands by PhotometricInterpretation: CMYK, YCbCr, Lab

logging.getLogger("tifffile").addHandler(logging.NullHandler())  # what it finds odd becomes our error, or nothing


@dataclass(frozen=True)
class Found:
    """pixels : (H, W, c), None where Pillow should read it    turn : as EXIF numbers orientations    notes : for the user"""

    pixels: Array | None
    turn: int = 1
    notes: tuple[str, ...] = ()


def read_tiff(path: str, file: IO[bytes], *, page: int | None, stack: Stack, max_pixels: int) -> Found:
    """The image of an open TIFF file; ImageError where the file leaves open which one, or claims what it does not have."""
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    with tifffile.TiffFile(file, name="image.tif") as tiff:
        if not tiff.series:
            raise ImageError(path, "it has no image in it")
        series, first = tiff.series[0], tiff.pages.first
        others = len(tiff.series) - 1
        notes: tuple[str, ...] = (
            (f"{others} more image{'s' * (others > 1)} of other sizes in the file are not read",) if others else ()
        )
        _check_count(path, tiff, series)
        chosen = _Axes(path, series.axes, series.shape, page, stack)
        chosen.check_size(max_pixels)
        if chosen.is_single and _is_plain(first):
            return Found(None, notes=notes)
        if first.photometric == _PALETTE:
            raise ImageError(path, "it has a palette and more than one page or band; save it as RGB")
        _check_kind(path, series.dtype)
        for one in chosen.pages(series):
            _check_whole(path, one, size)
        try:
            numbers = chosen.take(series)
        except (ValueError, ImportError) as error:
            if "imagecodecs" in str(error):
                raise ImageError(path, NEEDS_IMAGECODECS.format(tifffile.COMPRESSION(first.compression).name)) from error
            raise
        pixels = _upright(chosen.bands_last(numbers), first)
        if len(first.extrasamples) and first.extrasamples[-1] in _ALPHA and "S" in chosen.axes:
            notes += ("its alpha channel is kept as the last band",)
        return Found(np.ascontiguousarray(pixels), _orientation(first), notes)


class _Axes:
    """What the axes of a series are, and what is taken of them.

    axes : such as "ZCYX", without those of length 1    shape : as long
    """

    def __init__(self, path: str, axes: str, shape: tuple[int, ...], page: int | None, stack: Stack) -> None:
        kept = [(name, n) for name, n in zip(axes, shape, strict=True) if n != 1 or name in "YX"]
        self.axes, self.shape = "".join(name for name, _ in kept), tuple(n for _, n in kept)
        self._path, self._page, self._stack = path, page, stack
        if self.axes.count("Y") != 1 or self.axes.count("X") != 1:
            raise ImageError(path, f"its axes are {axes} {shape}; expected one of height (Y) and one of width (X)")
        self._long = [name for name in self.axes if name not in "YXCS"]
        if stack == "channels":
            self._long = []
        self._check_choice()

    def _check_choice(self) -> None:
        sizes = dict(zip(self.axes, self.shape, strict=True))
        n, page = math.prod(sizes[name] for name in self._long), self._page
        if page is not None:
            if self._stack is not None:
                raise ImageError(
                    self._path, "{page} takes one page, {stack} all of them; give one", page=page, stack=self._stack
                )
            if not 0 <= page < n:
                pages = f"{n} pages, 0 to {n - 1}" if n > 1 else "one page, 0"
                raise ImageError(self._path, f"it has {pages}; got {{page}}", page=page)
        elif self._long and self._stack is None:
            what = " and ".join(_NAMES.get(name, "several pages") for name in self._long)
            known = " × ".join(str(sizes[name]) for name in self._long)
            raise ImageError(
                self._path,
                f"it is {what} ({known}; axes {self.axes}), and nothing says which to take; choose one by its number with "
                f"{{page}}, or take the largest of all by {{stack}}",
                page=Example("0", "0"),
                stack=Example("'max', or each as a band by stack='channels'", "max, or each as a band by --stack channels"),
            )

    @property
    def is_single(self) -> bool:
        """Whether there is one page, with all its bands in it."""
        return self.axes in ("YX", "YXS")

    def check_size(self, max_pixels: int) -> None:
        sizes = dict(zip(self.axes, self.shape, strict=True))
        H, W = sizes["Y"], sizes["X"]
        bands = math.prod(self.shape) // (H * W) if H * W else 0
        if not bands:
            raise ImageError(self._path, f"an image of {H}×{W} pixels and {bands} bands is empty")
        if H * W * max(1, bands / _FREE_BANDS) > max_pixels:
            what = f"{H}×{W} pixels" + f" with {bands} bands or pages" * (bands > _FREE_BANDS)
            raise ImageError(
                self._path, f"{what} exceed {{max_pixels}}; raise that if you trust the file", max_pixels=max_pixels
            )

    def pages(self, series: Any) -> list[Any]:
        """Those that are read, of a series as the file has it."""
        pages = [one for one in series.pages if one is not None]
        if len(pages) < len(series.pages):
            raise ImageError(self._path, f"{len(series.pages) - len(pages)} of its {len(series.pages)} pages are missing")
        return pages

    def take(self, series: Any) -> Array:
        """All of it, without axes of length 1."""
        return np.asarray(series.asarray(maxworkers=1)).reshape(self.shape)

    def bands_last(self, numbers: Array) -> Array:
        """(H, W, c): the page asked for, or the largest number of all; bands of all other axes one behind the other."""
        axes = self.axes
        if self._long:
            front = [axes.index(name) for name in self._long]
            numbers = np.moveaxis(numbers, front, range(len(front)))
            axes = "".join(self._long) + "".join(name for name in axes if name not in self._long)
            numbers = numbers.reshape(-1, *numbers.shape[len(front) :])
            numbers = numbers.max(axis=0) if self._stack == "max" else numbers[self._page or 0]
            axes = axes[len(front) :]
        bands = [axes.index(name) for name in axes if name not in "YX"]
        numbers = np.moveaxis(numbers, bands, range(-len(bands), 0)) if bands else numbers[..., None]
        if axes.index("X") < axes.index("Y"):
            numbers = np.swapaxes(numbers, 0, 1)
        return numbers.reshape(*numbers.shape[:2], -1)


def _is_plain(page: Any) -> bool:
    """Whether Pillow reads all of it: 8 bits at most, and a colour that it knows."""
    extra, samples = tuple(page.extrasamples), int(page.samplesperpixel)
    if page.dtype not in (np.uint8, np.bool_) or (samples > 1 and page.planarconfig != 1):
        return False
    colours = samples - (1 if extra and extra[-1] in _ALPHA else 0)
    alone = not extra or (len(extra) == 1 and extra[0] in _ALPHA)
    return alone and _COLOURS.get(int(page.photometric)) == colours


def _check_count(path: str, tiff: Any, series: Any) -> None:
    """ImageJ says how many images its file holds; of a damaged one tifffile gives those that are there."""
    said = (tiff.imagej_metadata or {}).get("images", 1) if tiff.is_imagej else 1
    found = math.prod(n for name, n in zip(series.axes, series.shape, strict=True) if name not in "YXS")
    if isinstance(said, int) and said > found:
        raise ImageError(path, f"it says that it holds {said} images, but only {found} can be read; it is damaged")


def _check_kind(path: str, dtype: Any) -> None:
    if dtype is None or np.dtype(dtype).kind not in "uifb":
        raise ImageError(path, f"its pixels are of kind {dtype}; expected whole or real numbers")


def _check_whole(path: str, page: Any, size: int) -> None:
    """Every strip or tile lies in the file: tifffile would fill up what is missing."""
    page = page.aspage()
    wanted = math.prod(page.chunked) if page.chunked else 1
    offsets, counts = page.dataoffsets, page.databytecounts
    present = len(offsets) == len(counts) and len(offsets) >= min(wanted, 1) and all(count > 0 for count in counts)
    inside = all(0 < offset and offset + count <= size for offset, count in zip(offsets, counts, strict=False))
    contiguous = len(offsets) == 1 and page.is_contiguous
    if not present or not inside or (len(offsets) < wanted and not contiguous):
        raise ImageError(path, "it ends too early, or parts of its pixels are missing")
    if int(page.compression) == 1 and sum(counts) < page.nbytes:
        raise ImageError(path, f"it has {sum(counts):,} bytes of pixels, but {page.nbytes:,} are needed")


def _orientation(page: Any) -> int:
    tag = page.tags.get(274)
    return int(tag.value) if tag is not None and isinstance(tag.value, int) and 1 <= tag.value <= 8 else 1


def _upright(pixels: Array, page: Any) -> Array:
    """Light is large, real numbers are float32, bits are 0 and 255, in this machine's byte order."""
    if pixels.dtype.kind == "b":
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    elif pixels.dtype.kind == "f":
        with np.errstate(over="ignore"):
            pixels = pixels.astype(np.float32)
    else:
        pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if int(page.photometric) == _MIN_IS_WHITE:
        bits = page.bitspersample if isinstance(page.bitspersample, int) else 8 * pixels.itemsize
        unsigned = pixels.dtype.kind == "u"
        pixels = (
            pixels.dtype.type((1 << bits) - 1) - pixels if unsigned else -1 - pixels if pixels.dtype.kind == "i" else -pixels
        )
    return pixels
