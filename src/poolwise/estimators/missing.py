"""Images with pixels that have no data: given and opened alike, and counted where nothing is left of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from poolwise.method.layer import Layer
from poolwise.method.nodata import is_masked
from poolwise.method.recipe import PARAMETERS
from poolwise.support.missing import Nodata, can_be_missing, missing_pixels
from poolwise.support.parameters import ParameterError, ParameterWarning
from poolwise.support.types import Array, ImageSource
from poolwise.support.warning import warn_user


def checked_nodata(nodata: Any, X: Any) -> Nodata:
    """The parameter in its plain type; a ParameterError where images were opened with another."""
    found: Nodata = PARAMETERS["nodata"].kind.check("nodata", nodata)
    opened = getattr(X, "nodata", None)
    if opened is not None and opened != found:
        raise ParameterError(
            f"the images were opened with nodata={opened!r}, but the features have {{nodata}}; give both the same",
            nodata=found,
        )
    return found


def warn_of_type(dtype: np.dtype[Any], nodata: Nodata) -> None:
    """A warning where no pixel of this type can be without data."""
    if not can_be_missing(dtype, nodata):
        warn_user(
            ParameterWarning(f"pixels of type {dtype} are never {{nodata}}, so every pixel is taken as data", nodata=nodata)
        )


def refuse_missing(error: ValueError) -> None:
    """A ParameterError with the remedy where scikit-learn has found a NaN."""
    if "NaN" in str(error) or "infinity" in str(error):
        raise ParameterError(
            "Input X contains NaN or infinity; with {nodata} such pixels are left out", nodata="nan"
        ) from error


def with_data(X: Array, nodata: Nodata) -> Array:
    """(pixels, c) those that have data, of (n, H, W, c); all as they are where nothing is missing."""
    missing = missing_pixels(X, nodata)
    return X[~missing] if missing.any() else X


def count_empty(layer: Layer, images: Array | ImageSource, rows: slice, X: Array) -> int:
    """How many of some images have no patch without missing pixels; X : (rows, features) their features"""
    zero = np.flatnonzero(~X.any(axis=1)) if is_masked(images) else np.empty(0, np.intp)
    return sum(int(not layer.has_data(images[row : row + 1])[0]) for row in (zero + rows.start).tolist())


def counted(layer: Layer, images: Array | ImageSource, blocks: Iterator[tuple[slice, Array]]) -> Iterator[tuple[slice, Array]]:
    """Blocks of features as they are; at the end one warning for all images of which nothing is left."""
    empty = 0
    for rows, X in blocks:
        empty += count_empty(layer, images, rows, X)
        yield rows, X
    if empty:
        warn_user(f"{empty:,} of {len(images):,} images have no patch without missing pixels; their features are all 0.")


def warned(layer: Layer, images: Array | ImageSource, features: Array) -> Array:
    """The same for features that are all there."""
    ((_, X),) = counted(layer, images, iter([(slice(0, len(features)), features)]))
    return X
