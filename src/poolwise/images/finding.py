"""What was given to `open_images`: a path, array, table, list of paths, or sequence. Objects are known by what they have."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poolwise.images.decoding import EXTENSIONS
from poolwise.images.errors import ImageError, reason_of
from poolwise.images.items import Items
from poolwise.images.labelling import as_labels, is_missing
from poolwise.images.listing import Listing, list_address, list_folder, list_paths, list_text
from poolwise.images.sliced import SlicedImages
from poolwise.images.sources import ArrayImages, Images
from poolwise.images.stored import map_npy, npy_at, read_npz
from poolwise.images.tables import Columns, check_columns, list_frame, list_table
from poolwise.images.zarr_arrays import is_zarr, open_zarr
from poolwise.support.addresses import Address, place_of
from poolwise.support.parameters import Example, ParameterError

_ACCEPTED = "expected an image file, a folder, or a .npy, .npz, .zarr, .txt (a path a line) or .csv file"
_LOST_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")  # Path("s3://bucket")
_HINT = ". An address is given as text: a Path loses one of its slashes"
_OBJECTS = (
    "expected a path, a list or Series of paths, a DataFrame, an array (n, height, width, channels), or a sequence of "
    "(image, label)"
)


def find(where: Any, member: str | None, columns: Columns | None, labelled: bool) -> Images | Listing | Items:
    """Images that are there, or what lists those to decode; `labelled` False where labels are not wanted."""
    if isinstance(where, str | os.PathLike):
        place = place_of(where)
        look = _find_address if isinstance(place, Address) else _find_path
        return look(place, member, columns, labelled)  # type: ignore[arg-type]
    if member is not None:
        raise ParameterError(f"{{member}} chooses an array of a .npz file; {_name(where)} is not one", member=member)
    if is_frame(where):
        return list_frame(where, columns, labelled)
    if isinstance(where, Iterator):
        where = _as_list(where)
    found = _find_object(where, columns)
    if columns is not None and not isinstance(found, Items):
        raise ParameterError(f"{{columns}} are those of a table; {_name(where)} is not one", columns=columns)
    return found


def _find_object(where: Any, columns: Columns | None) -> Images | Listing | Items:
    shape = _shape(where)
    if isinstance(where, np.ndarray) and where.dtype.kind not in "OUT":
        return ArrayImages("the array", where)
    if isinstance(where, Mapping) or (shape is None and hasattr(where, "keys")):
        names = ", ".join(repr(str(name)) for name in list(where)[:20]) or "nothing"
        raise ImageError(
            _name(where), f"it holds several arrays, {names}; give the one of images, and {{labels}}", labels="..."
        )
    if shape is not None and hasattr(where, "dtype") and len(shape) != 1:
        return SlicedImages(_name(where), where)
    if hasattr(where, "convert") and hasattr(where, "mode"):
        raise ImageError("the picture", "it is a single one; give a list of pictures")
    if isinstance(where, bytes) or not hasattr(where, "__len__") or not hasattr(where, "__getitem__"):
        raise TypeError(f"images cannot be opened from {type(where).__name__}; {_OBJECTS}")
    if len(where) == 0:
        raise ImageError(_name(where), f"it is empty; {_OBJECTS}")
    if hasattr(where, "dtype") or isinstance(where, list | tuple):
        return _find_in_list(where, columns)
    return _items(where, columns)


def _find_in_list(where: Any, columns: Columns | None) -> Images | Listing | Items:
    """Paths, (path, label) pairs, items, or images to be stacked."""
    first = next((one for one in where if not is_missing(one)), None)
    if is_path(first) or first is None:
        return Listing("", list_paths(where, _name(where)), None)
    if isinstance(first, tuple | list) and len(first) > 2 and all(map(is_path, first)):
        raise ImageError(
            _name(where),
            f"its entries are {len(first)} texts each; expected (path, label). For several files of an image give a table, "
            f"a column for each, and {{columns}}",
            columns=Example("((..., ...), ...)", "PATH+PATH,LABEL"),
        )
    if isinstance(first, tuple | list) and len(first) == 2 and is_path(first[0]):
        if not all(isinstance(one, tuple | list) and len(one) == 2 for one in where):
            raise ImageError(_name(where), "some of it is (path, label) and some is not; expected two entries in each")
        names = list_paths([path for path, _ in where], _name(where))
        return Listing("", names, as_labels([label for _, label in where], len(names), f"the labels of {_name(where)}"))
    if isinstance(first, Mapping | tuple) or hasattr(first, "convert"):  # a tuple of arrays is an image and its label
        return _items(where, columns)
    try:
        is_masked = any(isinstance(one, np.ma.MaskedArray) for one in where)
        return ArrayImages("the array", np.ma.stack(where) if is_masked else np.asarray(where))
    except ValueError as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(_name(where), f"its images cannot be stacked into one array ({reason_of(error)})") from error


def _items(where: Any, columns: Columns | None) -> Items:
    keys: tuple[str | None, str | None] = (None, None)
    if columns is not None:
        images, label = check_columns(columns)
        if len(images) > 1:
            raise ParameterError("{columns} names several images; an item has one", columns=columns)
        keys = images[0], label
    return Items(where, type(where).__name__, range(len(where)), keys)


def is_path(one: Any) -> bool:
    """Whether it is text or a path."""
    return isinstance(one, str | os.PathLike)


def is_frame(where: Any) -> bool:
    """Whether it is a table with named columns, as pandas and polars have them, and not an array."""
    return hasattr(where, "columns") and hasattr(where, "__getitem__") and not hasattr(where, "dtype")


Kind = Literal["ready", "images", "labelled"]


def kind_of(where: Any) -> Kind:
    """What is given in place of images: an array in memory or rows of numbers; images to open; or images with their labels.

    >>> kind_of(["a.png"]), kind_of([("a.png", "cat")]), kind_of(np.zeros((2, 8, 8)))
    ('images', 'labelled', 'ready')
    """
    if is_path(where) or (is_frame(where) and any(map(is_path, _first_row(where)))):
        return "labelled"
    if is_frame(where) or not hasattr(where, "__len__") or not hasattr(where, "__getitem__"):
        return "images" if not is_frame(where) and _is_array(where) else "ready"
    shape = _shape(where)
    if isinstance(where, list | tuple) or (shape is not None and len(shape) == 1):
        first = next((one for one in where if not is_missing(one)), None) if len(where) else None
        is_pair = (
            isinstance(first, tuple) and len(first) == 2 and (is_path(first[0]) or np.ndim(first[0]) > 1 >= np.ndim(first[1]))
        )
        return "images" if is_path(first) else "labelled" if is_pair or isinstance(first, Mapping) else "ready"
    if shape is None:
        return "ready" if hasattr(where, "__array__") else "labelled"
    return "images" if _is_array(where) else "ready"


def _is_array(where: Any) -> bool:
    """Whether it is images of another library, that may not be in memory."""
    shape = _shape(where)
    of_others = not isinstance(where, np.ndarray) and not hasattr(where, "__array_namespace__")
    return (
        of_others and shape is not None and len(shape) in (3, 4) and hasattr(where, "dtype") and hasattr(where, "__getitem__")
    )


def _first_row(frame: Any) -> list[Any]:
    return np.asarray(frame.head(1).to_numpy(), object).ravel().tolist() if hasattr(frame, "head") else []


def _as_list(where: Iterator[Any]) -> list[Any]:
    """Paths of a generator, such as `Path.glob`."""
    found = []
    for one in where:
        if not is_path(one):
            raise TypeError(f"a {type(where).__name__} of {type(one).__name__} can be read only once; {_OBJECTS}")
        found.append(one)
    return found


def _shape(where: Any) -> tuple[int, ...] | None:
    try:
        shape = where.shape
    except AttributeError:
        return None
    except Exception as error:  # h5py after its file is closed
        raise ImageError(_name(where), f"it cannot be read ({reason_of(error)}); is its file still open?") from error
    return tuple(shape) if isinstance(shape, tuple) else None


def _name(where: Any) -> str:
    """
    >>> _name([]), _name(Path("a"))
    ('the list', 'the PosixPath')
    """
    return f"the {type(where).__name__}"


def _find_path(path: Path, member: str | None, columns: Columns | None, labelled: bool) -> Images | Listing:
    kind = ".zarr" if path.is_dir() and is_zarr(path) else "folder" if path.is_dir() else path.suffix.lower()
    _check_words(path, kind, member, columns)
    if kind == "folder":
        return list_folder(path, labelled)
    if not path.exists():
        raise ImageError(path, f"there is no such file or folder; {_ACCEPTED}{_HINT if _LOST_SLASH.match(str(path)) else ''}")
    if kind == ".zarr" and path.is_dir():
        return SlicedImages(str(path), *open_zarr(path, member, labelled))
    if kind not in (".npy", ".npz", ".txt", ".csv", *EXTENSIONS) or not path.is_file():
        raise ImageError(path, f"images cannot be opened from it; {_ACCEPTED}")
    if kind in EXTENSIONS:
        return Listing("", [str(path)], None)
    if kind == ".npy":
        return ArrayImages(str(path), map_npy(path))
    if kind == ".npz":
        return ArrayImages(str(path), *read_npz(path, member, labelled=labelled))
    return list_text(path) if kind == ".txt" else list_table(path, columns, labelled)


def _find_address(where: Address, member: str | None, columns: Columns | None, labelled: bool) -> Images | Listing:
    """What its ending says; without a known one it is a folder."""
    kind = where.suffix.lower()
    _check_words(where, kind, member, columns)
    if kind == ".zarr":
        return SlicedImages(where, *open_zarr(where, member, labelled))
    if kind in EXTENSIONS:
        return Listing("", [where], None)
    if kind == ".npy":
        return SlicedImages(where, npy_at(where))
    if kind == ".npz":
        return ArrayImages(where, *read_npz(where, member, labelled=labelled))
    if kind == ".txt":
        return list_text(where)
    return list_table(where, columns, labelled) if kind == ".csv" else list_address(where, labelled)


def _check_words(place: Path | Address, kind: str, member: str | None, columns: Columns | None) -> None:
    if member is not None and kind not in (".npz", ".zarr"):
        raise ParameterError(f"{{member}} chooses an array of a .npz file; {place} is not one", member=member)
    if columns is not None and kind != ".csv":
        raise ParameterError(f"{{columns}} are those of a .csv file; {place} is not one", columns=columns)
