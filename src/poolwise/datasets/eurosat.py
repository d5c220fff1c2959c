"""EuroSAT: tiles of Sentinel-2 in 13 bands, as the official GeoTIFFs or packed at 32×32."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.download import Archive
from poolwise.datasets.home import ANOTHER_HOME, Found, MissingDataError, data_folder, fetched, parts_of, warn_if_partial
from poolwise.datasets.records import check_labels, make_bunch
from poolwise.images import ImageError
from poolwise.images.decoding import Decoder
from poolwise.images.stored import npz_shapes, read_npz
from poolwise.support.memory import check_memory
from poolwise.support.parameters import NAME
from poolwise.support.progress import Stages
from poolwise.support.types import Array

ARCHIVE = Archive(
    "https://zenodo.org/records/7711810/files/EuroSAT_MS.zip",
    md5="091174add3c8e680a49244acf185b9f0",
    folder="EuroSAT_MS",
    max_bytes=4_000_000_000,
)
PACKED = "eurosat32.npz"
OFFICIAL = CATALOGUE["eurosat"].official
SHAPE, SMALL_SHAPE = (64, 64, 13), (32, 32, 13)
NAMES = (
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
)
_TEST_EVERY = 5
_DESCR = f"""EuroSAT
-------

27,000 tiles of Sentinel-2 of 10 classes of land use, 64×64 pixels of 10 m, 13 bands (B01 to B12, then B8A), uint16. The data
set has no official split: here every {_TEST_EVERY}th tile of a class, by the number in its name, is one of 5,400 to test, and
the other 21,600 are to train. Neighbouring tiles may show the same place.
Patrick Helber and others, EuroSAT: A Novel Dataset and Deep Learning Benchmark for Land Use and Land Cover Classification,
IEEE Journal of Selected Topics in Applied Earth Observations and Remote Sensing, 2019.
https://zenodo.org/records/7711810
"""


def fetch_eurosat(
    *,
    data_home: str | os.PathLike[str] | None = None,
    subset: Literal["train", "test", "all"] = "train",
    size: Literal[32, 64] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    verbose: bool = True,
) -> Any:
    """Load EuroSAT in 13 bands (classification), and download it if it is not there (2.1 GB).

    =================   ===============================
    Classes                                          10
    Samples total           21,600 train, 5,400 test ¹
    Images                      64 × 64 × 13 uint16 ²
    =================   ===============================

    ¹ A split of ours: every fifth tile of a class is a test tile. ² 2.9 GB in memory; `open_images` on the folder reads tiles
    as they are needed.

    Parameters
    ----------
    data_home : path or None
        The folder that holds `EuroSAT_MS`, or is to hold it. None: what POOLWISE_DATA names, else `poolwise` in scikit-learn's
        data folder.
    subset : {"train", "test", "all"}, default="train"
    size : {32, 64} or None, default=None
        64: the official tiles. 32: those of `eurosat32.npz` in the same folder, with its own split (x_train, y_train, x_test,
        y_test), which is not downloaded. None: the official ones where they are complete, else the packed ones where there
        are any, else what there is of the official ones.
    download_if_missing : bool, default=True
        False: a FileNotFoundError if the folder is not there.
    return_X_y : bool, default=False
        Give (images, target) instead of a Bunch.
    verbose : bool, default=True
        Show the progress of a download and of reading on stderr.

    Returns
    -------
    Bunch with `images` (n, size, size, 13) uint16, `data` the same flattened, `target` (n,) int, `target_names` (10,),
    `is_train` (n,) bool, `DESCR`.

    Examples
    --------
    >>> from poolwise.datasets import fetch_eurosat
    >>> tiles = fetch_eurosat(subset="test")  # doctest: +SKIP
    >>> tiles.images.shape, tiles.target_names[tiles.target[0]]  # doctest: +SKIP
    ((5400, 64, 64, 13), np.str_('AnnualCrop'))
    """
    parts = parts_of(subset)
    if size not in (None, 32, 64):
        raise ValueError(f"size must be 32, 64 or None; got {size!r}")
    home = data_folder(data_home)
    if size == 32 or (size is None and _packed_serves(home)):
        read = [_read_packed(home, part) for part in parts]
    else:
        folder = fetched(ARCHIVE, home, download_if_missing, verbose)
        read = [read_part(folder, part, verbose) for part in parts]
    for part, (some, _) in zip(parts, read, strict=True):
        warn_if_partial(home, f"{part} EuroSAT", len(some), OFFICIAL[part])
    images, target = (each[0] if len(each) == 1 else np.concatenate(each) for each in zip(*read, strict=True))
    if return_X_y:
        return images, target
    is_train = np.repeat([part == "train" for part in parts], [len(some) for some, _ in read])
    return make_bunch(images, target, np.array(NAMES), is_train, _DESCR)


def found(home: Path) -> Found:
    """What exists, from names of files and the headers of the .npz file."""
    if _packed_serves(home):
        shapes = npz_shapes(home / PACKED)
        return {part: (home / PACKED, shapes[f"x_{part}"][0]) for part in OFFICIAL if shapes.get(f"x_{part}")}
    folder = home / ARCHIVE.folder
    counts = {part: len(tiles_of(folder, part)) for part in OFFICIAL}
    return {part: (folder, count) for part, count in counts.items() if count}


def tiles_of(folder: Path, part: str) -> list[tuple[Path, int]]:
    """The files of one part with their labels, class by class, in the order of their numbers."""
    tiles: list[tuple[Path, int]] = []
    for label, name in enumerate(NAMES):
        pattern = re.compile(rf"{name}_([1-9][0-9]{{0,8}})\.tif", re.ASCII)
        numbers = [int(known[1]) for path in (folder / name).glob("*.tif") if (known := pattern.fullmatch(path.name))]
        chosen = [number for number in sorted(numbers) if (number % _TEST_EVERY == 0) == (part == "test")]
        tiles += [(folder / name / f"{name}_{number}.tif", label) for number in chosen]
    return tiles


def read_part(folder: Path, part: str, verbose: bool = False) -> tuple[Array, Array]:
    """Images (n, 64, 64, 13) uint16 and labels (n,) int64 of the official files of one part."""
    tiles = tiles_of(folder, part)
    if not tiles:
        raise MissingDataError(
            f"{folder} holds no {part} tiles, such as {NAMES[0]}/{NAMES[0]}_5.tif; complete that folder, remove it to download "
            f"it anew, or {ANOTHER_HOME}",
            data_home=NAME,
        )
    needed = 2 * len(tiles) * int(np.prod(SHAPE))
    check_memory(needed, f"EuroSAT's {len(tiles):,} {part} tiles", "Open the folder with open_images, which reads as it needs.")
    images, decode = np.empty((len(tiles), *SHAPE), np.uint16), Decoder()
    with Stages(verbose).stage(f"read {folder.name}", len(tiles)) as update:
        for number, (path, _) in enumerate(tiles):
            pixels = decode.decode(str(path)).pixels
            if pixels.shape != SHAPE or pixels.dtype != np.uint16:
                raise ImageError(path, f"it is {pixels.shape} of {pixels.dtype}; expected {SHAPE} uint16: fetch it again")
            images[number] = pixels
            update(number + 1)
    return images, np.array([label for _, label in tiles], np.int64)


def read_packed(home: Path) -> tuple[Array, Array, Array, Array]:
    """Training images and labels, test images and labels of `eurosat32.npz`; a FileNotFoundError where it is missing."""
    return *_read_packed(home, "train"), *_read_packed(home, "test")


def _read_packed(home: Path, part: str) -> tuple[Array, Array]:
    path = home / PACKED
    if not path.is_file():
        raise MissingDataError(
            f"{path} is not here, and is not downloaded; give size=64 for the official tiles, or {ANOTHER_HOME}", data_home=NAME
        )
    images, labels = read_npz(path, f"x_{part}")
    if images.shape[1:] != SMALL_SHAPE or images.dtype != np.uint16 or not len(images):
        raise ImageError(path, f"images of shape {images.shape} of {images.dtype}; expected (n, 32, 32, 13) uint16")
    if labels is None or labels.shape != images.shape[:1] or labels.dtype.kind not in "ui":
        raise ImageError(path, f"it has no labels y_{part} for its {len(images)} images; expected whole numbers")
    return images, check_labels(path, labels, len(NAMES))


def _packed_serves(home: Path) -> bool:
    """Whether there is a .npz file, and no complete official folder."""
    return (home / PACKED).is_file() and not _is_complete(home / ARCHIVE.folder, tuple(OFFICIAL.items()))


def _is_complete(folder: Path, counts: Sequence[tuple[str, int]]) -> bool:
    return folder.is_dir() and all(len(tiles_of(folder, part)) == count for part, count in counts)
