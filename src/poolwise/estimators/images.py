"""Checks of images and parameters, with errors that say what was given, what was expected and what to do."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from poolwise.arrays import Array, ImageSource

Shape = tuple[int, int, int]

_LARGEST = 1e18  # its square is still a float32
_MOST = 2**31 - 1
_LOOKED_AT = 16
_EXPECTED = (
    "expected images of shape (n, height, width, channels), (n, height, width) for grey ones, or rows of "
    "flattened images (n, height · width · channels) with image_shape"
)


def check_images(estimator: BaseEstimator, X: Any, *, reset: bool) -> tuple[Array | ImageSource, bool]:
    """Validate images and give them as (n, H, W, c), without a copy where none is needed, and whether they came as rows.

    Sets `image_shape_in_` and `n_features_in_` if `reset`, else compares with them. A source is given back as it is; it looks
    after its pixels itself, block by block.
    """
    if isinstance(X, ImageSource):
        _warn_of_other_scale(estimator, X, _check_source(estimator, X, reset), reset)
        return X, False
    X = _as_array(X)
    flat = len(X.shape) == 2
    if not reset:
        _same_shape(tuple(X.shape), estimator.image_shape_in_)
    if flat:
        X = np.asarray(validate_data(estimator, X, reset=reset, dtype="numeric"))
        shape = _flat_shape(estimator, X.shape[1]) if reset else estimator.image_shape_in_
    else:
        X = np.asarray(check_array(X, allow_nd=True, dtype="numeric", input_name="X"))
        shape = X.shape[1:] if X.ndim == 4 else (*X.shape[1:], 1)
        if reset:
            _agrees(shape, estimator.image_shape)
            _forget_names(estimator)
    if 0 in shape:
        raise ValueError(f"images of shape {tuple(shape)} (height, width, channels) have no pixels; {_EXPECTED}")
    low, high = _range(X)
    if reset:
        _remember(estimator, tuple(shape), high - low)
    if not flat or estimator.image_shape is not None:
        _warn_of_other_scale(estimator, X, high - low, reset)
    elif reset:
        _warn_of_flattened_images(X.shape[1])
    return X.reshape(len(X), *shape), flat


def _check_source(estimator: BaseEstimator, source: ImageSource, reset: bool) -> float:
    """Check a source's shape and give the spread of its pixels: that of a few images where they may be on any scale."""
    if reset:
        _agrees(source.shape[1:], estimator.image_shape)
        _forget_names(estimator)
    else:
        _same_shape(source.shape, estimator.image_shape_in_)
    few = np.unique(np.linspace(0, len(source) - 1, _LOOKED_AT, dtype=np.int64))
    low, high = (0.0, 255.0) if source.dtype == np.uint8 else _range(source[few])
    if reset:
        _remember(estimator, source.shape[1:], high - low)
    return high - low


def _forget_names(estimator: BaseEstimator) -> None:
    """Images have no column names, whatever an earlier fit was given."""
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _remember(estimator: BaseEstimator, shape: tuple[int, ...], spread: float) -> None:
    estimator.image_shape_in_ = tuple(int(n) for n in shape)
    estimator.n_features_in_ = int(np.prod(shape))
    estimator._pixel_range = spread


def _as_array(X: Any) -> Any:
    """Something with a shape of two to four axes; lists of images are stacked."""
    if not hasattr(X, "shape") or (getattr(X, "dtype", None) == np.dtype(object) and X.ndim == 1):
        try:
            X = np.asarray(X) if not hasattr(X, "shape") else np.stack(list(X))
        except ValueError as error:
            raise ValueError(
                f"the images cannot be stacked into one array: they have different shapes, or are no arrays. Resize or crop "
                f"them to one size first; {_EXPECTED}"
            ) from error
    if len(X.shape) not in (2, 3, 4):
        raise ValueError(
            f"{_EXPECTED}; got shape {tuple(X.shape)} of {getattr(X, 'dtype', type(X))}. Reshape your data; a single image "
            f"is images[None]"
        )
    return X


def _range(X: Array) -> tuple[float, float]:
    """Least and largest pixel, which must be numbers that features can be computed from."""
    if X.dtype.kind not in "uifb":
        raise ValueError(f"pixels must be whole or real numbers; got an array of {X.dtype}")
    low, high = float(X.min()), float(X.max())
    if max(high, -low) > _LARGEST:
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


def _warn_of_other_scale(estimator: BaseEstimator, X: Array | ImageSource, spread: float, reset: bool) -> None:
    """The offsets are for pixels of 0..255; on 0..1 they would drown all contrast, silently."""
    offset = estimator.contrast_offset if estimator.contrast is not None else 0.0
    if reset and 0 < spread < offset:
        warnings.warn(
            f"all pixels lie within {spread:g} of each other, less than contrast_offset={offset:g}, which is for pixels of "
            f"0..255 and flattens nearly all contrast here. Give images in 0..255, say multiplied by 255, or lower it.",
            UserWarning,
            stacklevel=5,
        )
        return
    smaller = X.dtype.kind == "f" and 0 < spread <= 1 and estimator._pixel_range > max(offset, 2)
    if not reset and (smaller or spread > 16 * estimator._pixel_range > 0):
        warnings.warn(
            f"these pixels lie within {spread:g} of each other, those seen in fit within {estimator._pixel_range:g}: the "
            f"images seem to be scaled differently.",
            UserWarning,
            stacklevel=5,
        )


def _warn_of_flattened_images(n: int) -> None:
    for channels in (3, 1):
        side = math.isqrt(n // channels)
        if side >= 8 and side * side * channels == n:
            warnings.warn(
                f"rows of {n} numbers look like flattened images; without image_shape=({side}, {side}, {channels}) each is "
                f"taken as an image of 1×{n} pixels.",
                UserWarning,
                stacklevel=5,
            )
            return


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """`value` is one of `choices`."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_whole(name: str, value: Any, least: int) -> int:
    """`value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    if value > _MOST:
        raise ValueError(f"{name} must be at most {_MOST}; got {value!r}")
    return int(value)


def check_real(name: str, value: Any, least: float = 0.0) -> float:
    """`value` is a finite number of at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not least <= value <= _LARGEST:
        raise ValueError(f"{name} must be a finite number of at least {least:g}; got {value!r}")
    return float(value)


def check_pair(name: str, value: Any) -> tuple[int, int]:
    """6 is (6, 6); (4, 8) stays."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be a whole number or (height, width); got {value!r}")
    return check_whole(name, pair[0], 1), check_whole(name, pair[1], 1)
