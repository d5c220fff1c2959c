"""Which files there are, and their labels: of a folder, here or at an address, or a list of paths. No image is opened here."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from poolwise.images.decoding import EXTENSIONS, Decoded, Decoder
from poolwise.images.errors import ImageError, reason_of, show
from poolwise.images.fetching import list_names, open_text
from poolwise.images.labelling import as_text, is_missing
from poolwise.images.siblings import decode_siblings
from poolwise.support.addresses import Address, joined
from poolwise.support.types import Array

_PARTS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "holdout", "unlabeled", "unlabelled"}


@dataclass(frozen=True)
class Listing:
    """root : folder or address that names are relative to    names : n paths    labels : (n,), or None

    files : n tuples of paths, the first of which is the name, where each image is in several files; else None
    """

    root: str
    names: list[str]
    labels: Array | None
    files: list[tuple[str, ...]] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def path(self, row: int) -> str:
        """Of the file of one row; of several, the first."""
        return joined(self.root, self.names[row])

    def read(self, row: int, decode: Decoder) -> Decoded:
        """The image of one row; ImageError for whatever goes wrong."""
        if self.files is None:
            return decode.decode(self.path(row))
        return decode_siblings([joined(self.root, name) for name in self.files[row]], decode)

    def subset(self, rows: Array) -> "Listing":
        """These rows alone."""
        return replace(
            self,
            names=[self.names[row] for row in rows],
            labels=None if self.labels is None else self.labels[rows],
            files=None if self.files is None else [self.files[row] for row in rows],
        )


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
    return _labelled(str(root), names, labels, ignored, labelled)


def list_address(root: Address, labelled: bool = True) -> Listing:
    """The same of a folder at an address, in the same order."""
    found = [name for name in list_names(root) if not any(part.startswith(".") for part in name.split("/"))]
    names = sorted((name for name in found if name.lower().endswith(EXTENSIONS)), key=_place)
    ignored = [name for name in found if not name.lower().endswith(EXTENSIONS)]
    return _labelled(root.rstrip("/"), names, [name.rpartition("/")[0].partition("/")[0] for name in names], ignored, labelled)


def _place(name: str) -> list[tuple[bool, str]]:
    """Files of a folder come before its folders."""
    *folders, last = name.split("/")
    return [*((True, folder) for folder in folders), (False, last)]


def _labelled(root: str, names: list[str], labels: list[str], ignored: list[str], labelled: bool) -> Listing:
    """With the folders directly inside as labels, "" for files that lie in none; ImageError where they cannot be labels."""
    files = names[: labels.count("")]
    if not names:
        raise ImageError(root, _nothing(ignored))
    parts = sorted(set(labels))
    if labelled and len(parts) > 1 and {part.lower() for part in parts} <= _PARTS:
        raise ImageError(
            root,
            f"its folders {', '.join(map(show, parts))} are parts of a data set, not labels; give one of them, such as "
            f"{show(joined(root, parts[-1]))}, or use {{labels}} to take all without labels",
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
    return Listing(root, names, as_text(labels) if labelled and not files else None)


def list_text(path: Path | Address) -> Listing:
    """One path or address a line, relative to the folder of the list; empty lines are passed over."""
    try:
        with open_text(path) as file:
            text = file.read()
    except OSError as error:
        raise ImageError(path, reason_of(error)) from error
    names = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    if not names:
        raise ImageError(path, "it is empty; expected the path of an image in every line")
    check_names(path, names)
    return Listing(str(path.parent), names, None)


def check_names(path: Path | Address, names: Iterable[str]) -> None:
    """An error if a list that lies elsewhere names files of this machine, or of another protocol."""
    bad = next((name for name in names if not path.may_name(name)), None) if isinstance(path, Address) else None
    if bad is not None:
        raise ImageError(
            path,
            f"it names {show(bad)}, which is not of the same protocol; a list at an address may name what lies next to it, and "
            f"nothing of this machine. Download the list if you trust it",
        )


def list_paths(paths: Iterable[Any], what: str = "the list") -> list[str]:
    """Paths of a list, Series or column, each of which must be there; relative ones to the current folder.

    what : for errors

    >>> list_paths(["a.png", Path("b.png")])
    ['a.png', 'b.png']
    """
    names = []
    for row, path in enumerate(paths):
        if isinstance(path, str | os.PathLike) and os.fspath(path):
            names.append(os.fsdecode(path))
        elif is_missing(path) or path == "":
            raise ImageError(what, f"row {row} has no path; leave it out, or fill it in")
        else:
            raise ImageError(
                what, f"row {row} is {type(path).__name__} {str(path)[:50]!r}; expected paths of image files alone"
            )
    if not names:
        raise ImageError(what, "it is empty; expected paths of image files")
    return names


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
