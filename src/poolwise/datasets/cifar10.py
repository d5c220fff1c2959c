"""CIFAR-10, its binary edition; the Python edition is a pickle, which can run code, and is never read."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.download import Archive
from poolwise.datasets.home import Found, data_folder, fetched, parts_of, warn_if_partial
from poolwise.datasets.records import check_labels, make_bunch, read_names, read_records
from poolwise.support.types import Array

ARCHIVE = Archive(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    folder="cifar-10-batches-bin",
    max_bytes=250_000_000,
)
FILES = {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)}
OFFICIAL = CATALOGUE["cifar10"].official
NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32
_DESCR = """CIFAR-10
--------

60,000 photographs of 10 classes, 32×32 RGB, uint8: 50,000 to train, 10,000 to test, as many of each class.
Alex Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009. https://www.cs.toronto.edu/~kriz/cifar.html
"""


def fetch_cifar10(
    *,
    data_home: str | os.PathLike[str] | None = None,
    subset: Literal["train", "test", "all"] = "train",
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load CIFAR-10 (classification), and download it if it is not there (170 MB).

    =================   ==========================
    Classes                                     10
    Samples total       50,000 train, 10,000 test
    Images                         32 × 32 × 3 uint8
    =================   ==========================

    Parameters
    ----------
    data_home : path or None
        The folder that holds `cifar-10-batches-bin`, or is to hold it. None: what POOLWISE_DATA names, else `poolwise` in
        scikit-learn's data folder.
    subset : {"train", "test", "all"}, default="train"
    download_if_missing : bool, default=True
        False: a FileNotFoundError if the folder is not there.
    return_X_y : bool, default=False
        Give (images, target) instead of a Bunch.
    verbose : bool, default=True
        Show the progress of a download on stderr.

    Returns
    -------
    Bunch with `images` (n, 32, 32, 3) uint8, `data` (n, 3072) the same flattened, `target` (n,) int, `target_names` (10,),
    `is_train` (n,) bool, `DESCR`.

    Examples
    --------
    >>> from poolwise.datasets import fetch_cifar10
    >>> cifar = fetch_cifar10(subset="test")  # doctest: +SKIP
    >>> cifar.images.shape, cifar.target_names[cifar.target[0]]  # doctest: +SKIP
    ((10000, 32, 32, 3), np.str_('cat'))
    """
    parts = parts_of(subset)
    folder = fetched(ARCHIVE, data_folder(data_home), download_if_missing, verbose)
    counts = [sum(len(read_records(folder / name, RECORD)) for name in FILES[part]) for part in parts]
    for part, count in zip(parts, counts, strict=True):
        warn_if_partial(folder, part, count, OFFICIAL[part])
    images, target = read_batches([folder / name for part in parts for name in FILES[part]])
    if return_X_y:
        return images, target
    is_train = np.repeat([part == "train" for part in parts], counts)
    return make_bunch(images, target, read_names(folder / "batches.meta.txt", NAMES), is_train, _DESCR)


def found(home: Path) -> Found:
    """What exists, from the sizes of files."""
    folder = home / ARCHIVE.folder
    there = {part: [folder / name for name in names] for part, names in FILES.items()}
    return {
        part: (folder, sum(path.stat().st_size // RECORD for path in paths))
        for part, paths in there.items()
        if all(path.is_file() for path in paths)
    }


def read_batches(paths: Sequence[Path]) -> tuple[Array, Array]:
    """Images (n, 32, 32, 3) uint8 and labels (n,) int64 of files of records: a label, then 1024 bytes of each colour."""
    batches = [read_records(path, RECORD) for path in paths]
    images = np.empty((sum(map(len, batches)), 32, 32, 3), np.uint8)
    labels, start = [], 0
    for path, batch in zip(paths, batches, strict=True):
        labels.append(check_labels(path, np.array(batch[:, 0]), len(NAMES)))
        images[start : start + len(batch)] = batch[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        start += len(batch)
    return images, np.concatenate(labels)
