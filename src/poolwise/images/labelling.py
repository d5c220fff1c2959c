"""Labels of images, whatever they come in: one for each, all text or all numbers, none missing."""

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from poolwise.images.errors import ImageError, show
from poolwise.support.parameters import ParameterError
from poolwise.support.types import Array

_LONGEST, _WIDE = 1000, 64  # characters: refused above, and not stored at the widest one's length above
_MANY = "expected one; use {labels} to go without, and in Python give them to fit as y"


def as_labels(values: Any, n: int, what: str = "") -> Array:
    """(n,) text or numbers, of an array, list or Series; of shape (n, 1) too, as Keras and MedMNIST have them.

    what : where they come from, for errors, or ""

    >>> as_labels(["a", "b"], 2), as_labels([[1], [0]], 2)
    (array(['a', 'b'], dtype='<U1'), array([1, 0]))
    """
    try:
        given = np.asarray(values)
    except Exception as error:  # lists of different lengths, and whatever a library of arrays raises
        raise _refuse(what, f"labels cannot be read as an array ({error})") from error
    if given.shape == (n, 1):
        given = given[:, 0]
    if given.ndim == 2 and len(given) == n:
        raise _refuse(what, f"{given.shape[1]} labels for each of {n} images; {_MANY}")
    if given.shape != (n,):
        raise _refuse(what, f"labels of shape {given.shape} for {n} images; expected ({n},); use {{labels}} to go without")
    each = values if isinstance(values, list | tuple) and not isinstance(values[0], list | tuple) else given.tolist()
    if given.dtype.kind in "biuS" or (given.dtype.kind == "U" and isinstance(values, np.ndarray)):
        return given
    for row, one in enumerate(each):
        if is_missing(one):
            raise _refuse(what, f"image {row} has no label ({one}); leave the image out, or use {{labels}} to go without")
    kinds = {_kind(one) for one in each}
    if len(kinds) > 1 or not kinds <= {"text", "bytes", "numbers"}:
        raise _refuse(what, f"labels are {' and '.join(sorted(kinds))}; expected text alone, or numbers alone")
    if kinds == {"bytes"} and given.dtype.kind == "O":  # text of h5py
        each = [one.decode(errors="surrogateescape") for one in each]
    if "text" in kinds or "bytes" in kinds:
        return as_text(list(each))
    return np.array(each) if given.dtype.kind not in "fU" else given


def as_text(labels: list[str]) -> Array:
    """(n,) text; as Python's where NumPy would make all as wide as a long one.

    >>> as_text(["a", "b"]).dtype.kind, as_text(["a", "b" * 100]).dtype.kind
    ('U', 'O')
    """
    return np.array(labels, object if max(map(len, labels), default=0) > _WIDE else None)


def check_length(path: Path | str, number: int, label: str) -> str:
    """The label of a line, if it can be one."""
    if len(label) > _LONGEST:
        raise ImageError(
            path,
            f"line {number} has a label of {len(label):,} characters, at most {_LONGEST:,} are taken; it begins with "
            f"{show(label[:30])}; is it another column, or a quotation mark without its second?",
        )
    return label


def same_in_unicode(labels: Array) -> tuple[str, str] | None:
    """Two labels that look alike: "café" with one character for é, or with two. None if there are no such labels."""
    seen: dict[str, str] = {}
    for label in sorted({one for one in labels.tolist() if isinstance(one, str) and not one.isascii()}):
        other = seen.setdefault(unicodedata.normalize("NFC", label), label)
        if other != label:
            return other, label
    return None


def is_missing(one: Any) -> bool:
    """Whether it is None, NaN, or what pandas has for them.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    if one is None or type(one).__name__ == "NAType":
        return True
    unequal = one != one
    return isinstance(unequal, bool | np.bool_) and bool(unequal)


def _kind(one: Any) -> str:
    if isinstance(one, str | bytes):
        return "text" if isinstance(one, str) else "bytes"
    return "numbers" if isinstance(one, int | float | np.number | np.bool_) else f"of type {type(one).__name__}"


def _refuse(what: str, reason: str) -> ParameterError:
    return ParameterError(f"{what}: {reason}" if what else reason, labels=None)
