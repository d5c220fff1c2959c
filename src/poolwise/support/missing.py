"""Pixels without data, and windows that touch none.

    missing(y, x) = any over bands of  x_b = nodata,  x_b not finite

A nodata value is that of a band, as GDAL has it: a pixel that lacks one of its bands has no patch that could be computed.

images : (..., H, W, c)    missing : (..., H, W) bool
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, ParameterError

if TYPE_CHECKING:
    from poolwise.support.types import Array

Nodata = Literal["nan"] | float | None  # None: every pixel has data


@dataclass(frozen=True)
class NodataKind:
    """What a parameter `nodata` may be: a finite number, "nan" or NaN, or None."""

    def check(self, name: str, value: Any) -> Any:
        """
        >>> NodataKind().check("nodata", -9999), NodataKind().check("nodata", float("nan"))
        (-9999.0, 'nan')
        """
        if value is None or (isinstance(value, str) and value == "nan"):
            return value
        if isinstance(value, Real) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isinf(number):
                return "nan" if math.isnan(number) else number
        raise ParameterError(
            f"{{{name}}} must be a number such as 0 or -9999, 'nan', or None; got {repr(value)[:80]}", **{name: NAME}
        )


def missing_pixels(images: Array, nodata: Nodata) -> Array:
    """Which pixels have no data.

    >>> missing_pixels(np.array([[[[5, 0], [5, 7], [0, 0]]]], np.uint16), 0)
    array([[[ True, False,  True]]])
    """
    found = np.zeros(images.shape, np.bool_)
    kind = images.dtype.kind
    if kind == "f":
        found |= ~np.isfinite(images)
    if nodata is not None and not isinstance(nodata, str):
        if kind == "f":
            with np.errstate(over="ignore"):
                found |= images == images.dtype.type(nodata)
        elif float(nodata).is_integer():
            found |= images == int(nodata)
    return np.asarray(found.any(axis=-1))


def unmasked(images: Any, nodata: Nodata) -> Any:
    """NumPy's masked arrays, and lists of them, as arrays that hold `nodata`, or of reals NaN, where they are masked.

    All else stays as it is.

    >>> images = np.ma.masked_equal(np.array([[[5, 7]]], np.uint8), 7)
    >>> unmasked(images, 0.0).tolist(), unmasked(images.astype(np.float32), "nan").tolist()
    ([[[5, 0]]], [[[5.0, nan]]])
    """
    if isinstance(images, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in images):
        if len({np.shape(one) for one in images}) > 1:
            return images  # whoever stacks them says so
        images = np.ma.stack(images)
    if not isinstance(images, np.ma.MaskedArray):
        return images
    masked = np.ma.getmaskarray(images)
    if not masked.any():
        return np.ma.getdata(images)
    if nodata is None:
        raise ParameterError(
            f"{masked.sum():,} numbers of the images are masked; give {{nodata}} to leave these pixels out ('nan', or for "
            f"whole numbers one that data never hold), or fill them",
            nodata=NAME,
        )
    if not can_be_missing(images.dtype, nodata):
        raise ParameterError(
            f"{masked.sum():,} numbers of the images are masked, and {images.dtype} cannot hold {{nodata}} in their place; "
            f"give a number that it can hold and data never do, or the images as float32",
            nodata=nodata,
        )
    return images.filled(np.nan if images.dtype.kind == "f" else int(nodata))


def can_be_missing(dtype: Any, nodata: Nodata) -> bool:
    """Whether pixels of this type can be without data.

    >>> can_be_missing(np.dtype(np.uint16), -9999.0), can_be_missing(np.dtype(np.uint16), "nan")
    (False, False)
    """
    if dtype.kind == "f":
        return True
    if nodata is None or isinstance(nodata, str) or dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return float(nodata).is_integer() and limits.min <= int(nodata) <= limits.max


def whole_windows(missing: Array, window: tuple[int, int], step: tuple[int, int] = (1, 1)) -> Array:
    """Which windows touch no missing pixel, from sums over boxes: (n, H, W) to (n, h, w).

    >>> whole_windows(np.array([[[False, True, False, False]]]), (1, 2)).tolist()
    [[[False, False, True]]]
    """
    (height, width), (n, H, W) = window, missing.shape
    sums = np.zeros((n, H + 1, W + 1), np.int64)
    sums[:, 1:, 1:] = missing.cumsum(axis=1, dtype=np.int64).cumsum(axis=2)
    inside = sums[:, height:, width:] - sums[:, :-height, width:] - sums[:, height:, :-width] + sums[:, :-height, :-width]
    whole: Array = inside[:, :: step[0], :: step[1]] == 0
    return whole
