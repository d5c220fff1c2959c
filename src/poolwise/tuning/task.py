"""What is given to `tune`, checked: images with a label or number for each."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from poolwise.estimators.images import in_auto_bands, opened
from poolwise.estimators.missing import checked_nodata
from poolwise.support.missing import unmasked
from poolwise.support.parameters import ParameterError
from poolwise.support.types import Array, ImageSource
from poolwise.tuning.splits import Task

_HOW = "tune(images, labels); with files, put them into one folder per class, or give a .csv with a column of labels"


def as_task(images: Any, labels: Any = None, *, numbers: bool | None = None, nodata: Any = None) -> Task:
    """Images and labels as a task; `numbers` says that labels are to be predicted as numbers, None: if they are real ones.

    nodata : what pixels without data hold; None: as the images were opened

    >>> as_task(np.zeros((4, 8, 8), np.uint8), list("abba")).labels
    array([0, 1, 1, 0])
    >>> as_task(np.zeros((4, 8, 8), np.uint8), [0.5, 1.5, 2.5, 3.0]).numbers
    True
    """
    images = opened(images, with_labels=True, nodata=nodata)
    nodata = checked_nodata(getattr(images, "nodata", None) if nodata is None else nodata, images)
    if not isinstance(images, ImageSource):
        images = np.asarray(unmasked(images, nodata))
        if images.ndim not in (3, 4) or images.dtype.kind not in "uifb" or 0 in images.shape:
            raise ValueError(
                f"expected images of shape (n, height, width, channels), or (n, height, width) for grey ones; got shape "
                f"{images.shape} of {images.dtype}"
            )
        images = images if images.ndim == 4 else images[..., None]
        if nodata is None and images.dtype.kind == "f" and not np.isfinite(images).all():
            raise ParameterError(
                "the images have pixels that are NaN or infinite; with {nodata} such pixels are left out", nodata="nan"
            )
    if labels is None:
        labels = getattr(images, "labels", None)
    images = in_auto_bands(images, nodata)
    if labels is None:
        raise ValueError(f"a search needs labels, since settings are compared by how well they predict these: {_HOW}")
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or len(given) != len(images):
        raise ValueError(f"labels of shape {given.shape} for {len(images)} images; give one for each")
    try:
        if _has_missing(given):
            raise ValueError("labels has entries that are missing (None, NaN or infinite); give one for every image")
        if numbers is None:
            numbers = bool(type_of_target(given, input_name="labels").startswith("continuous"))
        if numbers:
            return Task(images, _as_numbers(given), True, nodata)
        classes, label = np.unique(given, return_inverse=True)
    except TypeError as error:  # such as names and numbers together, or pandas' NA
        raise ValueError(f"labels must be all names, or all numbers, without missing ones: {error}") from error
    if len(classes) < 2:
        raise ValueError(f"all images have one label, {classes[0].item()!r}; a search needs at least two classes")
    return Task(images, label.astype(np.int64), False, nodata)


def _has_missing(given: Array) -> bool:
    if given.dtype.kind == "f":
        return not np.isfinite(given).all()
    return given.dtype == object and any(one is None or one != one for one in given)


def _as_numbers(given: Array) -> Array:
    found = given.astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError("the numbers to predict must be finite; got NaN or infinity among them")
    if float(found.std()) == 0:
        raise ValueError("the numbers to predict are the same for all images, so there is nothing to search for")
    if len(found) < 3:
        raise ValueError(f"a search needs at least three images; got {len(found)}")
    return found


def may_choose_by_labels(task: Task) -> bool:
    """Whether `fit` would take these labels as the search does: whole numbers would be classes there."""
    return not task.numbers or not bool((task.labels == np.round(task.labels)).all())
