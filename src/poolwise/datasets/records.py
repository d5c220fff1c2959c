"""Files of records of bytes, labels and names, and the Bunch that is made of them."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from poolwise.datasets.home import ANOTHER_HOME, MissingDataError
from poolwise.images import ImageError
from poolwise.images.errors import reason_of
from poolwise.support.parameters import NAME
from poolwise.support.types import Array


def read_records(path: Path, size: int) -> Array:
    """(n, size) uint8, a read-only map of a file of n records; a size that is not a multiple of a record's is refused.

    A missing file is a FileNotFoundError that says what to do.
    """
    if not path.is_file():
        raise MissingDataError(
            f"{path} is missing, though {path.parent} exists; complete that folder, remove it to download it anew, or "
            f"{ANOTHER_HOME}",
            data_home=NAME,
        )
    length = path.stat().st_size
    if length == 0 or length % size:
        raise ImageError(
            path, f"it has {length:,} bytes, which are not whole records of {size:,}; it is cut off: fetch it again"
        )
    return np.memmap(path, np.uint8, mode="r").reshape(-1, size)


def check_labels(path: Path, labels: Array, n_classes: int, first: int = 0) -> Array:
    """Labels first .. first + n_classes - 1 as int64 from 0 on.

    >>> check_labels(Path("y.bin"), np.array([1, 3], np.uint8), 3, first=1)
    array([0, 2])
    """
    bad = np.flatnonzero((labels < first) | (labels >= first + n_classes) | (labels % 1 != 0))
    if bad.size:
        raise ImageError(
            path, f"record {bad[0]} has the label {labels[bad[0]]}, expected {first}..{first + n_classes - 1}; fetch it again"
        )
    return labels.astype(np.int64) - first


def check_packed(path: Path, images: Array, labels: Array | None, side: int) -> tuple[Array, Array]:
    """Images and labels of a .npz file, if they have the shapes they should have."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (side, side, 3) or not len(images):
        raise ImageError(path, f"images of shape {images.shape} of {images.dtype}; expected (n, {side}, {side}, 3) uint8")
    if labels is None or labels.shape != images.shape[:1] or labels.dtype.kind not in "ui":
        given = "none" if labels is None else f"{labels.shape} of {labels.dtype}"
        raise ImageError(path, f"labels for {len(images)} images are {given}; expected ({len(images)},) whole numbers")
    return images, labels


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank."""
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise MissingDataError(f"{path} is missing; complete {path.parent}, or {ANOTHER_HOME}", data_home=NAME) from error
    except UnicodeDecodeError as error:
        raise ImageError(path, f"it is not text ({reason_of(error)})") from error


def read_names(path: Path, otherwise: tuple[str, ...]) -> Array:
    """The class names, a line each; the official ones where the file is not there."""
    names = read_lines(path) if path.is_file() else list(otherwise)
    if len(names) != len(otherwise):
        raise ImageError(path, f"it names {len(names)} classes, expected {len(otherwise)}; fetch it again")
    return np.array([name.strip() for name in names])


def make_bunch(images: Array, target: Array, names: Array, is_train: Array, descr: str, **more: Any) -> Bunch:
    """The Bunch that every fetcher gives."""
    return Bunch(
        data=images.reshape(len(images), -1),
        images=images,
        target=target,
        target_names=names,
        is_train=is_train,
        **more,
        DESCR=descr,
    )
