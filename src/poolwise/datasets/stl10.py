"""STL-10: few labelled images and many without labels, of 96×96 pixels; the paper uses them at 32×32."""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.download import Archive
from poolwise.datasets.home import Found, data_folder, fetched, parts_of, warn_if_partial
from poolwise.datasets.records import check_labels, check_packed, make_bunch, read_lines, read_names, read_records
from poolwise.images import ImageError
from poolwise.images.stored import npz_shapes, read_npz
from poolwise.support.progress import Stages, Update
from poolwise.support.types import Array

ARCHIVE = Archive(
    "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
    md5="91f7769df0f17e558f3565bffb0c7dfb",
    folder="stl10_binary",
    max_bytes=3_500_000_000,
)
PACKED = "stl10_32.npz"
OFFICIAL = CATALOGUE["stl10"].official
NAMES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
FOLDS = (10, 1000)
RECORD = 3 * 96 * 96
_IMAGES_PER_BLOCK = 500
_DESCR = """STL-10
------

Photographs of 10 classes, 96×96 RGB, uint8: 5,000 to train, 8,000 to test, and 100,000 without labels, some of other
classes. The data set's own protocol trains on each of 10 folds of 1,000 training images; the paper of this method on all
5,000, at 32×32.
Adam Coates, Honglak Lee, Andrew Y. Ng, An Analysis of Single-Layer Networks in Unsupervised Feature Learning, AISTATS 2011.
https://cs.stanford.edu/~acoates/stl10/
"""


def fetch_stl10(
    *,
    data_home: str | os.PathLike[str] | None = None,
    subset: Literal["train", "test", "all", "unlabeled"] = "train",
    size: Literal[32, 96] = 32,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load STL-10 (classification), and download it if it is not there (2.6 GB).

    =================   ============================================
    Classes                                                       10
    Samples total       5,000 train, 8,000 test, 100,000 unlabelled
    Images                         32 × 32 × 3 or 96 × 96 × 3 uint8
    =================   ============================================

    Parameters
    ----------
    data_home : path or None
        The folder that holds `stl10_binary`, or is to hold it. None: what POOLWISE_DATA names, else `poolwise` in
        scikit-learn's data folder. Where `stl10_binary` lacks images, `stl10_32.npz` next to it serves for size=32.
    subset : {"train", "test", "all", "unlabeled"}, default="train"
        "all" is "train", then "test".
    size : {32, 96}, default=32
        As the paper has them, by the mean over boxes of 3×3 pixels, or the originals.
    download_if_missing : bool, default=True
        False: a FileNotFoundError if the folder is not there.
    return_X_y : bool, default=False
        Give (images, target) instead of a Bunch.
    verbose : bool, default=True
        Show the progress of a download, and of reading the unlabelled images, on stderr.

    Returns
    -------
    Bunch with `images` (n, size, size, 3) uint8, `data` the same flattened, `target` (n,) int, -1 for images without label,
    `target_names` (10,), `is_train` (n,) bool, `DESCR`; for "train" and "all" also `folds` (10, 1000) int, rows of the training
    images, or None where these are incomplete or there are no folds.

    Examples
    --------
    >>> from poolwise.datasets import fetch_stl10
    >>> stl = fetch_stl10(subset="train")  # doctest: +SKIP
    >>> stl.images.shape, stl.folds.shape  # doctest: +SKIP
    ((5000, 32, 32, 3), (10, 1000))
    """
    parts = parts_of(subset, "unlabeled")
    if size not in (32, 96):
        raise ValueError(f"size must be 32 or 96; got {size!r}")
    home = data_folder(data_home)
    read = {}
    for part in parts:
        if size == 32 and part != "unlabeled" and _packed_serves(home, part):
            read[part] = _read_packed(home / PACKED, part)
        else:
            read[part] = read_part(fetched(ARCHIVE, home, download_if_missing, verbose), part, size, verbose)
        warn_if_partial(home, f"{part} STL-10", len(read[part][0]), OFFICIAL[part])
    images, target = (arrays[0] if len(arrays) == 1 else np.concatenate(arrays) for arrays in zip(*read.values(), strict=True))
    if return_X_y:
        return images, target
    is_train = np.repeat([part == "train" for part in parts], [len(read[part][0]) for part in parts])
    folds = {"folds": _folds(home, len(read["train"][0]))} if "train" in parts else {}
    return make_bunch(images, target, read_names(home / ARCHIVE.folder / "class_names.txt", NAMES), is_train, _DESCR, **folds)


def found(home: Path) -> Found:
    """What exists for size=32, from the sizes of files and the headers of the .npz file."""
    folder, there = home / ARCHIVE.folder, {}
    for part in OFFICIAL:
        pixels, labels = folder / f"{part}_X.bin", folder / f"{part}_y.bin"
        if part != "unlabeled" and _packed_serves(home, part):
            shape = npz_shapes(home / PACKED).get(f"x_{part}")
            if shape:
                there[part] = home / PACKED, shape[0]
        elif pixels.is_file() and (part == "unlabeled" or labels.is_file()):
            there[part] = folder, pixels.stat().st_size // RECORD
    return there


def read_part(folder: Path, part: str, size: int, verbose: bool = False) -> tuple[Array, Array]:
    """Images (n, size, size, 3) uint8 and labels (n,) int64, -1 for the unlabelled, of the official files of one part."""
    records = read_records(folder / f"{part}_X.bin", RECORD)
    if part == "unlabeled":
        with Stages(verbose).stage("read unlabeled_X.bin", len(records)) as update:
            return decode(records, size, update), np.full(len(records), -1)
    path = folder / f"{part}_y.bin"
    labels = read_records(path, 1)[:, 0]
    if len(labels) != len(records):
        raise ImageError(path, f"it has {len(labels):,} labels for the {len(records):,} images of {part}_X.bin")
    return decode(records, size), check_labels(path, labels, len(NAMES), first=1)


def decode(records: Array, size: int, update: Update | None = None) -> Array:
    """Records (n, 27648), each colour column by column, to images (n, size, size, 3); block by block, as records may be a map.

    >>> decode(np.full((2, 3 * 96 * 96), 7, np.uint8), 32).shape
    (2, 32, 32, 3)
    """
    images = np.empty((len(records), size, size, 3), np.uint8)
    for start in range(0, len(records), _IMAGES_PER_BLOCK):
        block = records[start : start + _IMAGES_PER_BLOCK].reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
        images[start : start + _IMAGES_PER_BLOCK] = block if size == 96 else third(block)
        if update is not None:
            update(min(start + _IMAGES_PER_BLOCK, len(records)))
    return images


def third(images: Array) -> Array:
    """Images (n, H, W, c) uint8 at a third of their size, by the mean of each 3×3 box.

    Means are rounded along each row and then along each column, as Pillow's box filter does it, which `stl10_32.npz` was made
    with: at most 1 from the mean that is rounded once.
    """
    wide = images.astype(np.uint16)
    rows = (wide[:, :, 0::3] + wide[:, :, 1::3] + wide[:, :, 2::3] + 1) // 3
    return ((rows[:, 0::3] + rows[:, 1::3] + rows[:, 2::3] + 1) // 3).astype(np.uint8)


def read_folds(path: Path) -> Array:
    """(10, 1000) int64: a fold a line, numbers of training images from 0 on."""
    try:
        folds = [np.array(line.split(), np.int64) for line in read_lines(path)]
    except (ValueError, OverflowError) as error:
        raise ImageError(path, f"it holds something else than whole numbers ({error})") from error
    return _check_folds(path, folds)


def _check_folds(path: Path, folds: Any) -> Array:
    if len(folds) != FOLDS[0] or any(len(fold) != FOLDS[1] for fold in folds):
        raise ImageError(path, f"expected {FOLDS[0]} folds of {FOLDS[1]:,} images; fetch it again")
    stacked = np.stack(folds).astype(np.int64)
    if stacked.min() < 0 or stacked.max() >= OFFICIAL["train"]:
        raise ImageError(path, f"its numbers are {stacked.min()}..{stacked.max()}, expected 0..{OFFICIAL['train'] - 1}")
    return stacked


def _folds(home: Path, n_train: int) -> Array | None:
    if n_train != OFFICIAL["train"]:
        return None
    path = home / ARCHIVE.folder / "fold_indices.txt"
    if path.is_file():
        return read_folds(path)
    return _check_folds(home / PACKED, read_npz(home / PACKED, "fold_indices")[0]) if (home / PACKED).is_file() else None


def _packed_serves(home: Path, part: str) -> bool:
    """Whether there is a .npz file, and no complete official one."""
    official = home / ARCHIVE.folder / f"{part}_X.bin"
    complete = official.is_file() and official.stat().st_size == OFFICIAL[part] * RECORD
    return (home / PACKED).is_file() and not complete


def _read_packed(path: Path, part: str) -> tuple[Array, Array]:
    images, labels = check_packed(path, *read_npz(path, f"x_{part}"), 32)
    return images, check_labels(path, labels, len(NAMES))
