"""Looking at images: their shape, their scale, and errors that say what was given, what was expected and what to do."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from poolwise.estimators.missing import checked_nodata, refuse_missing, warn_of_type, with_data
from poolwise.method.bands import LARGEST, Banded, Bands, bands_of_ranges, learn_bands
from poolwise.method.descriptors import Descriptor
from poolwise.method.masked import Masked
from poolwise.method.pooling import Pooling
from poolwise.method.pooling.cells import cut_cells
from poolwise.method.recipe import PARAMETERS
from poolwise.support.missing import Nodata, unmasked
from poolwise.support.parameters import AUTO, LARGEST_REAL, NAME, ParameterWarning
from poolwise.support.types import Array, ImageSource
from poolwise.support.warning import warn_user

Shape = tuple[int, int, int]

_IMAGES_LOOKED_AT = 16
_FEWEST_POSITIONS = 4  # in a cell
_TIMES_WIDER = 16  # a range of pixels that is that many times wider than in fit is another scale
_EXPECTED = (
    "expected images of shape (n, height, width, channels), (n, height, width) for grey ones, or rows of "
    "flattened images (n, height · width · channels) with image_shape"
)


@dataclass(frozen=True)
class Seen:
    """Images as `fit` and `transform` take them, and what was seen of them.

    images : (n, H, W, c), without a copy where none is needed    shape : (H, W, c)    is_rows : they came as rows
    spread : largest less least pixel    names : of the columns of a table, or None
    low : the least pixel    bands : how `images` scale the bands of those given, or None
    """

    images: Array | ImageSource
    shape: Shape
    is_rows: bool
    spread: float
    names: Array | None = None
    low: float = 0.0
    bands: Bands | None = None


def look_at(estimator: BaseEstimator, X: Any, offset: float, fitted: Shape | None = None) -> Seen:
    """Validate images; the estimator is not changed.

    offset : what the descriptor adds to contrasts, in units of pixels    fitted : the shape seen in `fit`, if this is later
    """
    X = opened(X, nodata=checked_nodata(estimator.nodata, X))
    if isinstance(X, Banded | Masked):  # by an earlier look
        return _look_at_source(estimator, X, fitted, "nan")
    nodata = checked_nodata(estimator.nodata, X)
    X = unmasked(X, nodata)
    if isinstance(X, ImageSource):
        seen = _look_at_source(estimator, X, fitted, nodata)
    else:
        seen = _look_at_array(estimator, _as_array(X), fitted, nodata)
    given = seen.images
    if nodata is not None:
        warn_of_type(given.dtype, nodata)
        given = Masked(given, nodata)
    if fitted is not None:
        _warn_of_other_scale(seen, estimator._pixel_range, offset)
        bands = estimator.bands_
    else:
        bands = _choose_bands(PARAMETERS["bands"].kind.check("bands", estimator.bands), seen, given, estimator.image_shape)
        if seen.is_rows and estimator.image_shape is None:
            _warn_of_flattened_images(math.prod(seen.shape))
        elif bands is None:
            _warn_of_small_scale(seen.spread, offset)
    return replace(seen, images=given) if bands is None else replace(seen, images=Banded(given, bands), bands=bands)


def opened(X: Any, *, with_labels: bool = False, nodata: Nodata = None) -> Any:
    """Paths, and arrays of other libraries, as a source; arrays in memory and sources as they are.

    with_labels : also open a path, a table, and sequences of (image, label), which are refused otherwise
    """
    if isinstance(X, np.ndarray | ImageSource) and (isinstance(X, ImageSource) or X.dtype.kind in "uifb"):
        return X
    from poolwise.images import kind_of, open_images  # where there are files, and not before

    kind = kind_of(X)
    if kind == "labelled" and not with_labels:
        raise ValueError(
            f"expected images, and their labels apart; got {type(X).__name__}, which may hold both. Open it first: images = "
            f"poolwise.open_images(...), then fit(images, images.labels)"
        )
    return X if kind == "ready" else open_images(X, labels="auto" if with_labels else None, nodata=nodata)


def _choose_bands(asked: Any, seen: Seen, images: Array | ImageSource, image_shape: Any) -> Bands | None:
    """As asked, learned from `images`; "auto": standardised where pixels are whole numbers beyond 8 bits, or of such files."""
    if asked is None or (asked == AUTO and not (_is_wide(seen) and not (seen.is_rows and image_shape is None))):
        return None
    return learn_bands(images) if isinstance(asked, str) else bands_of_ranges(asked, seen.shape[2])


def in_auto_bands(images: Array | ImageSource, nodata: Nodata = None) -> Array | ImageSource:
    """Images (n, H, W, c) as `PooledFeatures(bands="auto", nodata=nodata)` learns from them."""
    few = images[np.unique(np.linspace(0, len(images) - 1, _IMAGES_LOOKED_AT, dtype=np.int64))]
    low, high = (0.0, LARGEST) if images.dtype == np.uint8 else _range(np.asarray(few), nodata)
    H, W, c = images.shape[1:]
    given: Array | ImageSource = images
    if nodata is not None:
        warn_of_type(images.dtype, nodata)
        given = Masked(images, nodata)
    bands = _choose_bands(AUTO, Seen(images, (H, W, c), False, high - low, low=low), given, None)
    return given if bands is None else Banded(given, bands)


def _is_wide(seen: Seen) -> bool:
    dtype = seen.images.dtype
    whole = dtype.kind in "iu" and dtype.itemsize > 1 and (seen.low < 0 or seen.low + seen.spread > LARGEST)
    return whole or (dtype != np.uint8 and getattr(seen.images, "is_raw", False))


def remember(estimator: BaseEstimator, seen: Seen) -> None:
    """What `transform` compares later images with."""
    estimator.image_shape_in_, estimator.n_features_in_ = seen.shape, math.prod(seen.shape)
    estimator._pixel_range, estimator.bands_ = seen.spread, seen.bands
    if seen.names is not None:
        estimator.feature_names_in_ = seen.names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _look_at_source(estimator: BaseEstimator, source: ImageSource, fitted: Shape | None, nodata: Nodata) -> Seen:
    """A source checks its pixels itself, block by block; their spread is that of a few images."""
    if fitted is None:
        _agrees(source.shape[1:], estimator.image_shape)
    else:
        _same_shape(source.shape, fitted)
    few = np.unique(np.linspace(0, len(source) - 1, _IMAGES_LOOKED_AT, dtype=np.int64))
    low, high = (0.0, 255.0) if source.dtype == np.uint8 else _range(source[few], nodata)
    H, W, c = source.shape[1:]
    return Seen(source, (int(H), int(W), int(c)), False, high - low, low=low)


def _look_at_array(estimator: BaseEstimator, X: Any, fitted: Shape | None, nodata: Nodata) -> Seen:
    is_rows = len(X.shape) == 2
    if fitted is not None:
        _same_shape(tuple(X.shape), fitted)
    names = None
    if is_rows:
        probe = copy.copy(estimator)  # scikit-learn writes what it finds into the estimator
        finite = {"ensure_all_finite": nodata is None}
        try:
            X = np.asarray(validate_data(probe, X, reset=fitted is None, dtype="numeric", **finite))
        except ValueError as error:
            refuse_missing(error)
            raise
        names = getattr(probe, "feature_names_in_", None)
        shape = _flat_shape(estimator, X.shape[1]) if fitted is None else fitted
    else:
        try:
            X = np.asarray(check_array(X, allow_nd=True, dtype="numeric", input_name="X", ensure_all_finite=nodata is None))
        except ValueError as error:
            refuse_missing(error)
            raise
        H, W, c = X.shape[1:] if X.ndim == 4 else (*X.shape[1:], 1)
        shape = (int(H), int(W), int(c))
        if fitted is None:
            _agrees(shape, estimator.image_shape)
    if 0 in shape:
        raise ValueError(f"images of shape {tuple(shape)} (height, width, channels) have no pixels; {_EXPECTED}")
    low, high = _range(X.reshape(len(X), *shape), nodata)
    return Seen(X.reshape(len(X), *shape), shape, is_rows, high - low, names, low)


def _as_array(X: Any) -> Any:
    """Something with a shape of two to four axes; lists of images are stacked."""
    if not hasattr(X, "shape") or (getattr(X, "dtype", None) == np.dtype(object) and X.ndim == 1):
        try:
            X = np.asarray(X) if not hasattr(X, "shape") else np.stack(list(X))
        except ValueError as error:
            raise ValueError(
                f"the images cannot be stacked into one array: they have different shapes, or are not arrays. Resize or crop "
                f"them to one size first; {_EXPECTED}"
            ) from error
    if len(X.shape) not in (2, 3, 4):
        raise ValueError(
            f"{_EXPECTED}; got shape {tuple(X.shape)} of {getattr(X, 'dtype', type(X))}. Reshape your data; a single image "
            f"is images[None]"
        )
    return X


def _range(X: Array, nodata: Nodata = None) -> tuple[float, float]:
    """Least and largest pixel of those that have data, which must be numbers that features can be computed from."""
    if X.dtype.kind not in "uifb":
        raise ValueError(f"pixels must be whole or real numbers; got an array of {X.dtype}")
    X = X if nodata is None else with_data(X, nodata)
    if not X.size:
        return 0.0, 0.0
    low, high = float(X.min()), float(X.max())
    if max(high, -low) > LARGEST_REAL:
        raise ValueError(f"X contains values too large for float32 features: {low:g} to {high:g}; rescale the images to 0..255")
    return low, high


def _same_shape(given: tuple[int, ...], fitted: Shape) -> None:
    """Images given later must have the shape of those seen in fit."""
    hint = "; a single image is images[None]" if given == fitted or (*given, 1) == fitted else ""
    if len(given) > 2:
        shape = given[1:] if len(given) == 4 else (*given[1:], 1)
        if shape != fitted:
            raise ValueError(f"images of {_say(shape)} were given, but this model was fitted on images of {_say(fitted)}{hint}")
    elif hint and given[1] != int(np.prod(fitted)):
        raise ValueError(f"rows of {given[1]} numbers were given, but this model was fitted on images of {_say(fitted)}{hint}")


def _say(shape: Sequence[int]) -> str:
    H, W, c = shape
    return f"{H}×{W} pixels with {c} channel{'s' * (c != 1)}"


def as_image_shape(image_shape: Any) -> Shape:
    """(H, W) or (H, W, c) as (H, W, c)."""
    ok = isinstance(image_shape, tuple | list) and len(image_shape) in (2, 3)
    if not ok or not all(isinstance(n, int | np.integer) and n >= 1 for n in image_shape):
        raise ValueError(f"image_shape must be (height, width) or (height, width, channels); got {image_shape!r}")
    H, W, c = (*image_shape, 1)[:3]
    return int(H), int(W), int(c)


def _flat_shape(estimator: BaseEstimator, n_features: int) -> Shape:
    if estimator.image_shape is None:
        return 1, n_features, 1
    shape = as_image_shape(estimator.image_shape)
    if int(np.prod(shape)) != n_features:
        raise ValueError(
            f"rows of {n_features} numbers are not flattened images of image_shape={estimator.image_shape}, which have "
            f"{int(np.prod(shape))}"
        )
    return shape


def _agrees(shape: tuple[int, ...], image_shape: Any) -> None:
    if image_shape is not None and as_image_shape(image_shape) != tuple(shape):
        raise ValueError(f"images of {_say(shape)} do not agree with image_shape={image_shape}; leave it None")


def _warn_of_small_scale(spread: float, offset: float) -> None:
    """The offsets are for pixels of 0..255; on 0..1 they would drown all contrast, silently."""
    if 0 < spread < offset:
        warn_user(
            f"all pixels lie within {spread:g} of each other, less than the contrast's offset of {offset:g}, which is for "
            f"pixels of 0..255 and flattens nearly all contrast here. Give images in 0..255, for instance multiplied "
            f"by 255, standardise them with bands='standardize', or lower it.",
        )


def _warn_of_other_scale(seen: Seen, fitted: float, offset: float) -> None:
    smaller = seen.images.dtype.kind == "f" and 0 < seen.spread <= 1 and fitted > max(offset, 2)
    if smaller or seen.spread > _TIMES_WIDER * fitted > 0:
        warn_user(
            f"these pixels lie within {seen.spread:g} of each other, those seen in fit within {fitted:g}: the images seem to "
            f"be scaled differently.",
        )


def _warn_of_flattened_images(n: int) -> None:
    for channels in (3, 1):
        side = math.isqrt(n // channels)
        if side >= 8 and side * side * channels == n:
            warn_user(
                f"rows of {n} numbers look like flattened images; without image_shape=({side}, {side}, {channels}) each is "
                f"taken as an image of 1×{n} pixels.",
            )
            return


class GridWarning(ParameterWarning):
    """Cells of the grid have too few positions to pool over."""


def warn_of_small_cells(asked: Pooling, descriptor: Descriptor, shape: Shape) -> None:
    """A warning where a cell of the grid has so few positions that hardly anything is pooled."""
    H, W, _ = shape
    h, w = descriptor.positions((H, W))
    sizes = min((cut_cells((h, w), [level]).sizes for level in asked.grids), key=lambda sizes: int(sizes.min()))
    least, most = int(sizes.min()), int(sizes.max())
    if least >= _FEWEST_POSITIONS:
        return
    (ph, pw), grid = descriptor.window(1, 1), asked.described()["grid"].key
    count = f"{least} to {most}" if least < most else str(least)
    warn_user(
        GridWarning(
            f"images of {H}×{W} pixels have {h}×{w} positions of {ph}×{pw} patches, so that with {{{grid}}} a cell has "
            f"{count} of them, which is hardly pooling; at least {_FEWEST_POSITIONS} are usual. Give a coarser grid, or a "
            "smaller {Patches.size} or {Patches.stride}.",
            **{grid: asked.get_params()["grid"], "Patches.size": NAME, "Patches.stride": NAME},
        )
    )
