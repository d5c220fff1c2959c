"""Checks of images and parameters, with errors that say what was given, what was expected and what to do."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from poolwise.arrays import Array

Shape = tuple[int, int, int]

_EXPECTED = (
    "expected images of shape (n, height, width, channels), (n, height, width) for grey ones, or rows of "
    "flattened images (n, height · width · channels) with image_shape"
)


def check_images(estimator: BaseEstimator, X: Any, *, reset: bool) -> Array:
    """Validate images and give them as (n, H, W, c), without a copy where none is needed.

    Sets `image_shape_in_` and `n_features_in_` if `reset`, else compares with them.
    """
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    flat = len(X.shape) == 2
    if not reset and len(X.shape) in (3, 4):
        _same_shape(X.shape, estimator.image_shape_in_)
    if flat:
        X = validate_data(estimator, X, reset=reset, dtype="numeric")
        shape = _flat_shape(estimator, X.shape[1]) if reset else estimator.image_shape_in_
    else:
        X = check_array(X, allow_nd=True, dtype="numeric", ensure_2d=len(X.shape) < 2, input_name="X")
        if X.ndim not in (3, 4):
            raise ValueError(f"{_EXPECTED}; got shape {X.shape}")
        shape = X.shape[1:] if X.ndim == 4 else (*X.shape[1:], 1)
        if reset:
            _agrees(shape, estimator.image_shape)
            if hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
    if 0 in shape:
        raise ValueError(f"images of shape {shape} (height, width, channels) have no pixels; {_EXPECTED}")
    if X.dtype == np.float64 and max(X.max(), -X.min()) > np.finfo(np.float32).max:
        raise ValueError("X contains values too large for float32, in which features are computed; rescale the images")
    if reset:
        estimator.image_shape_in_ = tuple(int(n) for n in shape)
        estimator.n_features_in_ = int(np.prod(shape))
        if not flat or estimator.image_shape is not None:
            _warn_of_unit_scale(estimator, X)
    return X.reshape(len(X), *shape)


def _same_shape(given: tuple[int, ...], fitted: Shape) -> None:
    """Images given later must have the shape of those seen in fit."""
    shape = given[1:] if len(given) == 4 else (*given[1:], 1)
    if tuple(shape) != fitted:
        raise ValueError(f"images of {_say(shape)} were given, but this model was fitted on images of {_say(fitted)}")


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


def _warn_of_unit_scale(estimator: BaseEstimator, X: Array) -> None:
    """The offsets are for pixels of 0..255; on 0..1 they would drown all contrast, silently."""
    small = X.dtype.kind == "f" and X.min() >= 0 and X.max() <= 1 and X.max() > X.min()
    if small and estimator.contrast is not None and estimator.contrast_offset >= 1:
        warnings.warn(
            f"the images look as if they were scaled to 0..1, but contrast_offset={estimator.contrast_offset:g} is for pixels "
            f"of 0..255 and flattens nearly all contrast here. Give uint8 images or multiply by 255, or lower contrast_offset.",
            UserWarning,
            stacklevel=4,
        )


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """`value` is one of `choices`."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def check_whole(name: str, value: Any, least: int) -> int:
    """`value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def check_real(name: str, value: Any, least: float = 0.0) -> float:
    """`value` is a finite number of at least `least`."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value < least:
        raise ValueError(f"{name} must be a finite number of at least {least:g}; got {value!r}")
    return float(value)


def check_pair(name: str, value: Any) -> tuple[int, int]:
    """6 is (6, 6); (4, 8) stays."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be a whole number or (height, width); got {value!r}")
    return check_whole(name, pair[0], 1), check_whole(name, pair[1], 1)
