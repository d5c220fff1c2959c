"""What `fit` is given as y: labels or numbers, as columns that selection with labels must predict."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from poolwise.method.recipe import Recipe
from poolwise.support.parameters import ParameterError
from poolwise.support.types import Array

_LEAST_IMAGES_PER_CLASS = 2  # on average; with fewer, labels are names of images


def usable_targets(y: Any, n: int) -> Array | None:
    """What `as_targets` gives, for parameters that use labels where there are any; None where these say nothing of images.

    That is so without labels, of one class, where every image has a label of its own, and of several columns of classes.

    >>> usable_targets(None, 3), usable_targets([1, 1, 1], 3), usable_targets(["a", "b", "c"], 3)
    (None, None, None)
    >>> usable_targets([0.5, 1.5, 2.5], 3).shape
    (3, 1)
    """
    if y is None:
        return None
    given = np.asarray(y)
    if given.ndim and len(given) == n and given.dtype.kind in "fc" and not np.isfinite(given).all():
        raise ValueError("y has entries that are missing (NaN) or infinite; give a label or number for every image, or no y")
    if given.ndim and len(given) == n and not _has_missing(given):
        kind = type_of_target(given, input_name="y")
        if kind.startswith("continuous"):
            return as_targets(given, n) if (given.reshape(n, -1).std(axis=0) > 0).any() else None
        classes = 0 if kind in ("multilabel-indicator", "multiclass-multioutput") else len(np.unique(given))
        if classes < 2 or classes * _LEAST_IMAGES_PER_CLASS > n:
            return None
    return as_targets(given, n)


def _has_missing(given: Array) -> bool:
    return given.dtype == object and any(one is None or one != one for one in given.ravel())


def as_targets(y: Any, n: int, uses: str = "selection", value: str = "supervised") -> Array:
    """(n, classes) ±1 for labels of any type; (n, t) columns of variance 1 for real numbers.

    uses, value : the parameter that needs them, for errors

    >>> as_targets(["elm", "oak", "elm"], 3)
    array([[ 1., -1.],
           [-1.,  1.],
           [ 1., -1.]])
    """
    if y is None:
        raise ParameterError(f"{{{uses}}} needs labels: fit(images, y); give them, or another value", **{uses: value})
    given = np.asarray(y)
    if given.ndim == 0 or len(given) != n:
        raise ValueError(f"y has {given.size if given.ndim == 0 else len(given)} entries for {n} images; give one for each")
    if _has_missing(given):
        raise ValueError("y has entries that are missing (None or NaN); give a label for every image")
    if type_of_target(given, input_name="y").startswith("continuous"):
        numbers = given.reshape(n, -1).astype(np.float64)
        std = numbers.std(axis=0)
        if not (std > 0).any():
            raise ValueError(f"y is {float(numbers[0, 0]):g} for every image; {uses}={value!r} needs numbers that differ")
        return (numbers - numbers.mean(axis=0)) / np.where(std > 0, std, 1.0)
    given = column_or_1d(given)
    classes, label = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0].item()!r}; {uses}={value!r} needs at least two")
    return np.where(label[:, None] == np.arange(len(classes)), 1.0, -1.0)


def targets_for(recipe: Recipe, y: Any, n: int) -> Array | None:
    """What labels are used as: needed, used where there are any, or not looked at."""
    if recipe.uses_labels:
        uses = ("selection", "supervised") if recipe.selects_by_labels else ("SecondOrder.directions_by", "labels")
        return as_targets(y, n, *uses)
    return usable_targets(y, n) if recipe.may_use_labels else None
