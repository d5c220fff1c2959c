"""Which files there are, and their labels: of a folder, a list of paths, or a table. No image is opened here."""

import csv
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from poolwise.images.decoding import EXTENSIONS
from poolwise.images.errors import ImageError, reason_of, show
from poolwise.support.parameters import Example
from poolwise.support.types import Array

_PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout", "unlabeled", "unlabelled"}

_LONGEST_LABEL, _WIDE_LABEL = 1000, 64


@dataclass(frozen=True)
class Listing:
    """root : folder that names are relative to    names : n paths    labels : (n,) str, or None"""

    root: str
    names: list[str]
    labels: Array | None


def list_folder(root: Path, labelled: bool = True) -> Listing:
    """Every image file below a folder: first those in a folder by name, then its folders by name.

    The folders directly inside are the labels; `labelled` False takes all files alike. Hidden files and folders, and files
    without an image's extension, are passed over. Links are followed, but no folder is entered twice for one label.
    """
    files, folders, ignored = _scan(str(root))
    names, labels = list(files), [""] * len(files)
    for folder in folders:
        for found, others in _walk(str(root), folder):
            names += found
            labels += [folder] * len(found)
            ignored += others
    if not names:
        raise ImageError(root, _nothing(ignored))
    parts = sorted(set(labels))
    if labelled and len(parts) > 1 and {part.lower() for part in parts} <= _PARTS:
        raise ImageError(
            root,
            f"its folders {', '.join(map(show, parts))} are parts of a data set, not labels; give one of them, such as "
            f"{show(os.path.join(str(root), parts[-1]))}, or use {{labels}} to take all without labels",
            labels=None,
        )
    if labelled and files and len(files) < len(names):
        raise ImageError(
            root,
            f"{len(files):,} images lie directly in it (the first: {show(files[0])}), {len(names) - len(files):,} in folders "
            f"({show(labels[-1])}, ...), which are labels; move the former into folders too, or use {{labels}} to take all "
            f"without labels",
            labels=None,
        )
    return Listing(str(root), names, as_labels(labels) if labelled and not files else None)


def list_text(path: Path) -> Listing:
    """One path a line, relative to the folder of the list; empty lines are passed over."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise ImageError(path, reason_of(error)) from error
    names = [line for line in text.split("\n") if line.strip()]
    if not names:
        raise ImageError(path, "it is empty; expected the path of an image in every line")
    return Listing(str(path.parent), names, None)


def list_table(path: Path, columns: tuple[str, str | None] | None = None) -> Listing:
    """A CSV file with a header; paths are relative to its folder.

    columns : the names of the columns with paths and with labels, (…, None) for no labels. None: "path" and, if there, "label"
    """
    rows = _table_rows(path)
    header = next(rows, (1, []))[1]
    where, label = columns if columns is not None else ("path", "label" if "label" in header else None)
    missing = [name for name in (where, label) if name is not None and name not in header]
    if missing:
        raise ImageError(
            path,
            f"there is no column {missing[0]!r} in its first line, but {', '.join(map(repr, header)) or 'nothing'}; name those "
            f"of paths and labels with {{columns}}",
            columns=Example("(..., ...)", "PATH,LABEL"),
        )
    names, labels = [], []
    for number, row in rows:
        if len(row) != len(header) or not row[header.index(where)]:
            raise ImageError(path, f"line {number} has {len(row)} fields or no path; expected {len(header)} as in the header")
        names.append(row[header.index(where)])
        labels.append("" if label is None else _label(path, number, row[header.index(label)]))
    if not names:
        raise ImageError(path, "it has a header but no rows")
    return Listing(str(path.parent), names, None if label is None else as_labels(labels))


def _label(path: Path, number: int, label: str) -> str:
    if len(label) > _LONGEST_LABEL:
        raise ImageError(
            path,
            f"line {number} has a label of {len(label):,} characters, at most {_LONGEST_LABEL:,} are taken; it begins with "
            f"{show(label[:30])}; is it another column, or a quotation mark without its second?",
        )
    return label


def as_labels(labels: list[str]) -> Array:
    """(n,) text; as Python's where NumPy would make all as wide as a long one.

    >>> as_labels(["a", "b"]).dtype.kind, as_labels(["a", "b" * 100]).dtype.kind
    ('U', 'O')
    """
    return np.array(labels, object if max(map(len, labels), default=0) > _WIDE_LABEL else None)


def same_in_unicode(labels: Array) -> tuple[str, str] | None:
    """Two labels that look alike: "café" with one character for é, or with two. None if there are no such labels."""
    seen: dict[str, str] = {}
    for label in sorted({one for one in labels.tolist() if isinstance(one, str) and not one.isascii()}):
        other = seen.setdefault(unicodedata.normalize("NFC", label), label)
        if other != label:
            return other, label
    return None


def _table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row that is not empty."""
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file)
            yield from ((reader.line_num, row) for row in reader if row)
    except (OSError, csv.Error) as error:
        raise ImageError(path, f"it cannot be read as CSV ({reason_of(error)})") from error


def _walk(root: str, top: str) -> Iterator[tuple[list[str], list[str]]]:
    """Image files and others of every folder from `top` down, as paths relative to the root."""
    seen = {_identity(root)}
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        identity = _identity(os.path.join(root, folder))
        if identity not in seen:
            seen.add(identity)
            files, folders, ignored = _scan(root, folder)
            yield files, ignored
            waiting += reversed(folders)


def _scan(root: str, folder: str = "") -> tuple[list[str], list[str], list[str]]:
    """Image files, folders and other files of one folder, sorted, as paths relative to the root."""
    files: list[str] = []
    folders: list[str] = []
    ignored: list[str] = []
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                kind = folders if _is_folder(entry) else files if entry.name.lower().endswith(EXTENSIONS) else ignored
                kind.append(os.path.join(folder, entry.name))
    except OSError as error:
        raise ImageError(os.path.join(root, folder), f"the folder cannot be read ({reason_of(error)})") from error
    return sorted(files), sorted(folders), ignored


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _identity(folder: str) -> tuple[int, int]:
    try:
        status = os.stat(folder)
    except OSError as error:
        raise ImageError(folder, f"the folder cannot be read ({reason_of(error)})") from error
    return status.st_dev, status.st_ino


def _nothing(ignored: list[str]) -> str:
    others = f"; {len(ignored):,} other files were passed over, such as {show(ignored[0])}" if ignored else ""
    return f"no image files in it{others}. Expected names that end in {', '.join(EXTENSIONS)}"
