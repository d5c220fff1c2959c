"""CUB-200-2011: birds, cut out as the paper does, 1.5 times the size of the box around the bird."""

import os
from math import ceil, floor
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.download import Archive
from poolwise.datasets.home import Found, data_folder, fetched, parts_of, warn_if_partial
from poolwise.datasets.records import check_labels, check_packed, make_bunch, read_lines
from poolwise.images import ImageError
from poolwise.images.decoding import Decoder
from poolwise.images.stored import npz_shapes, read_npz
from poolwise.support.progress import Stages, Update
from poolwise.support.types import Array

ARCHIVE = Archive(
    "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
    md5="97eceeb196236b17998738112f37df78",
    folder="CUB_200_2011",
    max_bytes=3_000_000_000,
)
PACKED = "cub128.npz"
OFFICIAL = CATALOGUE["cub200"].official
N_CLASSES = 200
MARGIN = 1.5
_DESCR = """CUB-200-2011
------------

11,788 photographs of 200 species of birds, RGB, uint8: 5,994 to train, 5,794 to test. Each is cut to 1.5 times the width and
height of the box around the bird, about the box's centre, as far as the image goes, and resized to a square.
Catherine Wah, Steve Branson, Peter Welinder, Pietro Perona, Serge Belongie, The Caltech-UCSD Birds-200-2011 Dataset,
CNS-TR-2011-001, 2011. https://www.vision.caltech.edu/datasets/cub_200_2011/
"""


class Birds(NamedTuple):
    """The lists of the data set, an entry an image: names below images/, labels from 0 on, boxes (x, y, width, height)."""

    names: list[str]
    labels: Array
    is_train: Array
    boxes: Array


def fetch_cub200(
    *,
    data_home: str | os.PathLike[str] | None = None,
    subset: Literal["train", "test", "all"] = "train",
    size: int = 128,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load CUB-200-2011 (classification), and download it if it is not there (1.2 GB).

    =================   ========================
    Classes                                  200
    Samples total       5,994 train, 5,794 test
    Images                 size × size × 3 uint8
    =================   ========================

    Parameters
    ----------
    data_home : path or None
        The folder that holds `CUB_200_2011`, or is to hold it. None: what POOLWISE_DATA names, else `poolwise` in
        scikit-learn's data folder. Where `CUB_200_2011` is incomplete, `cub128.npz` next to it serves for size=128.
    subset : {"train", "test", "all"}, default="train"
        "all" is "train", then "test".
    size : int, default=128
        Height and width that each crop is resized to, whatever its proportions.
    download_if_missing : bool, default=True
        False: a FileNotFoundError if the folder is not there.
    return_X_y : bool, default=False
        Give (images, target) instead of a Bunch.
    verbose : bool, default=True
        Show the progress of a download, and of decoding, on stderr.

    Returns
    -------
    Bunch with `images` (n, size, size, 3) uint8, `data` the same flattened, `target` (n,) int, `target_names` (200,),
    `is_train` (n,) bool, `DESCR`.

    Examples
    --------
    >>> from poolwise.datasets import fetch_cub200
    >>> birds = fetch_cub200(subset="train")  # doctest: +SKIP
    >>> birds.images.shape  # doctest: +SKIP
    (5994, 128, 128, 3)
    """
    parts = parts_of(subset)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size <= 4096:
        raise ValueError(f"size must be a whole number in 1..4096; got {size!r}")
    home = data_folder(data_home)
    birds = read_lists(home / ARCHIVE.folder) if (home / ARCHIVE.folder).is_dir() else None
    if size == 128 and _packed_serves(home, birds):
        images, target, is_train, names = _read_packed(home / PACKED, parts)
    else:
        folder = fetched(ARCHIVE, home, download_if_missing, verbose)
        birds = birds or read_lists(folder)
        rows = np.concatenate([np.flatnonzero(birds.is_train == (part == "train")) for part in parts])
        if not rows.size:
            raise ImageError(folder / "train_test_split.txt", f"it has no images for subset={subset!r}")
        with Stages(verbose).stage("decode CUB-200-2011", len(rows)) as update:
            images = decode(folder, birds, rows, int(size), update)
        target, is_train, names = birds.labels[rows], birds.is_train[rows], read_classes(folder / "classes.txt")
    for part in parts:
        warn_if_partial(home, f"{part} CUB-200-2011", int((is_train == (part == "train")).sum()), OFFICIAL[part])
    return (images, target) if return_X_y else make_bunch(images, target, names, is_train, _DESCR)


def found(home: Path) -> Found:
    """What exists for size=128, from the lists, or by the headers of the .npz file."""
    folder = home / ARCHIVE.folder
    birds = read_lists(folder) if folder.is_dir() else None
    if _packed_serves(home, birds):
        shapes = npz_shapes(home / PACKED)
        return {part: (home / PACKED, shapes[f"x_{part}"][0]) for part in OFFICIAL if shapes.get(f"x_{part}")}
    if birds is None:
        return {}
    counts = {part: int((birds.is_train == (part == "train")).sum()) for part in OFFICIAL}
    return {part: (folder, count) for part, count in counts.items() if count}


def decode(folder: Path, birds: Birds, rows: Array, size: int, update: Update | None = None) -> Array:
    """The crops of these rows, (rows, size, size, 3) uint8, file by file; ImageError for one that is not an image."""
    read = Decoder(grey=False)  # a few of its files are grey
    images = np.empty((len(rows), size, size, 3), np.uint8)
    for done, row in enumerate(rows):
        path = folder / "images" / birds.names[row]
        pixels = read(str(path))
        images[done] = crop(path, pixels, birds.boxes[row], size)
        if update is not None:
            update(done + 1)
    return images


def crop(path: Path, pixels: Array, box: Array, size: int) -> Array:
    """The part of an image (H, W, 3) around a box (x, y, width, height), resized to (size, size, 3).

    The part has 1.5 times the box's width and height and its centre, widened to whole pixels and clipped to the image; it is
    resized by Pillow's bicubic filter. To the bit so were the images of `cub128.npz` made, before they were stored as JPEG.

    >>> crop(Path("bird.jpg"), np.zeros((90, 120, 3), np.uint8), np.array([10.0, 20.0, 60.0, 40.0]), 32).shape
    (32, 32, 3)
    """
    H, W = pixels.shape[:2]
    left, top, right, bottom = bounds(box, H, W)
    if left >= right or top >= bottom:
        raise ImageError(path, f"the box {box.tolist()} of bounding_boxes.txt lies outside of its {H}×{W} pixels")
    part = np.rint(pixels[top:bottom, left:right]).astype(np.uint8)  # 16-bit greys come as float
    return np.asarray(Image.fromarray(part).resize((size, size), Image.Resampling.BICUBIC))


def bounds(box: Array, H: int, W: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the part that is cut out of an image of H × W pixels.

    >>> bounds(np.array([10.0, 20.0, 61.0, 40.0]), 75, 120)
    (0, 10, 87, 70)
    """
    x, y, width, height = box.tolist()
    dx, dy = (MARGIN - 1) / 2 * width, (MARGIN - 1) / 2 * height
    return max(0, floor(x - dx)), max(0, floor(y - dy)), min(W, ceil(x + width + dx)), min(H, ceil(y + height + dy))


def read_lists(folder: Path) -> Birds:
    """The lists of images, classes, split and boxes; every image of images.txt must have its line in the others."""
    names = _read_numbered(folder / "images.txt")
    ids = list(names)
    labels = _numbers(folder / "image_class_labels.txt", ids, 1)
    is_train = _numbers(folder / "train_test_split.txt", ids, 1)
    boxes = _numbers(folder / "bounding_boxes.txt", ids, 4)
    for number, name in names.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            raise ImageError(folder / "images.txt", f"image {number} is {name!r}, which leads out of the folder of images")
    if not np.isin(is_train, (0, 1)).all():
        raise ImageError(folder / "train_test_split.txt", "expected 0 or 1 for every image")
    if (boxes[:, 2:] <= 0).any() or (np.abs(boxes) > 1e6).any():
        bad = np.flatnonzero((boxes[:, 2:] <= 0).any(axis=1) | (np.abs(boxes) > 1e6).any(axis=1))[0]
        raise ImageError(folder / "bounding_boxes.txt", f"image {ids[bad]} has the impossible box {boxes[bad].tolist()}")
    target = check_labels(folder / "image_class_labels.txt", labels[:, 0], N_CLASSES, first=1)
    return Birds(list(names.values()), target, is_train[:, 0] == 1, boxes)


def read_classes(path: Path) -> Array:
    """(200,) names; the number takes the place of a name that the list leaves out, as it does in a sample of the data set."""
    known = _read_numbered(path)
    return np.array([known.get(number, f"{number:03}") for number in range(1, N_CLASSES + 1)])


def _read_numbered(path: Path) -> dict[int, str]:
    """Lines "number text" as a dict, in their order."""
    found: dict[int, str] = {}
    for line in read_lines(path):
        number, _, text = line.strip().partition(" ")
        if not (number.isascii() and number.isdecimal()) or len(number) > 9 or not text.strip() or int(number) in found:
            raise ImageError(path, f"the line {line[:80]!r} is not a new number and a text; fetch it again")
        found[int(number)] = text.strip()
    if not found:
        raise ImageError(path, "it is empty; fetch it again")
    return found


def _numbers(path: Path, ids: list[int], count: int) -> Array:
    """(ids, count) float64: the numbers that a list has for each image."""
    lines = _read_numbered(path)
    rows = []
    for number in ids:
        if number not in lines:
            raise ImageError(path, f"it has no line for image {number} of images.txt; fetch it again")
        try:
            row = [float(text) for text in lines[number].split()]
        except ValueError:
            row = []
        if len(row) != count or not np.isfinite(row).all():
            raise ImageError(path, f"image {number} has {lines[number][:80]!r}, expected {count} number(s)")
        rows.append(row)
    return np.array(rows)


def _packed_serves(home: Path, birds: Birds | None) -> bool:
    """Whether there is a .npz file, and no complete official folder."""
    complete = birds is not None and len(birds.names) == sum(OFFICIAL.values())
    return (home / PACKED).is_file() and not complete


def _read_packed(path: Path, parts: tuple[str, ...]) -> tuple[Array, Array, Array, Array]:
    """Images, labels, whether they are for training, and class names of the .npz file."""
    names = read_npz(path, "class_names")[0]
    if names.shape != (N_CLASSES,) or names.dtype.kind != "U":
        raise ImageError(path, f"class_names of shape {names.shape} of {names.dtype}; expected ({N_CLASSES},) text")
    read = [check_packed(path, *read_npz(path, f"x_{part}"), 128) for part in parts]
    images = read[0][0] if len(read) == 1 else np.concatenate([images for images, _ in read])
    target = check_labels(path, np.concatenate([labels for _, labels in read]), N_CLASSES)
    return images, target, np.repeat([part == "train" for part in parts], [len(labels) for _, labels in read]), names
