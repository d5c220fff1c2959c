"""`photos`: which picture is this crop from? Parts of real photographs that ship inside the package: nothing is downloaded.

The pictures are scikit-image's samples. `pictures/` has those of their pixels that lie in a crop, without loss, and the licence
of each in LICENSES.txt.

Each picture is cut across its longer side into train | gap | test | gap | train. A crop lies within one part and the gap is
wider than a crop, so no training crop shares or even touches a pixel of a test crop.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image
from sklearn.utils import Bunch

from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.home import Found
from poolwise.support.types import Array

Subset = Literal["all", "train", "test"]

CROP, GAP = 32, 40
PICTURES = (
    "astronaut",
    "brick",
    "camera",
    "cat",
    "cell",
    "coffee",
    "coins",
    "galaxies",
    "grass",
    "gravel",
    "moon",
    "motorcycle",
    "page",
    "retina",
    "rocket",
    "tissue",
)
OFFICIAL = CATALOGUE["photos"].official
TRAIN_CROPS, TEST_CROPS = (OFFICIAL[part] // len(PICTURES) for part in ("train", "test"))
_DESCR = f"""Crops of photographs
--------------------

{CROP}×{CROP} RGB crops, uint8, of {len(PICTURES)} photographs and textures from scikit-image:
{", ".join(PICTURES)}.
The class is the picture. Grey pictures have three equal channels. {TRAIN_CROPS} training and {TEST_CROPS} test crops of each,
at fixed random places; test crops come from a strip across the middle of the picture, training crops from the rest,
with a gap of {GAP} pixels between them. LICENSES.txt next to the pictures states the licence of each.
"""


def load_photos(*, subset: Subset = "all", return_X_y: bool = False) -> Any:
    """Load the embedded data set (classification).

    =================   =====================
    Classes                                16
    Samples per class      200 train, 100 test
    Samples total                        4800
    Images                     32 × 32 × 3 uint8
    =================   =====================

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
    return_X_y : bool, default=False
        Give (images, target) instead of a Bunch.

    Returns
    -------
    Bunch with `images` (n, 32, 32, 3) uint8, `data` (n, 3072) the same flattened, `target` (n,) int, `target_names`,
    `is_train` (n,) bool, `corners` (n, 2) each crop's top row and left column in its picture, `DESCR`.

    Examples
    --------
    >>> from poolwise.datasets import load_photos
    >>> photos = load_photos(subset="train")
    >>> photos.images.shape, len(photos.target_names)
    ((3200, 32, 32, 3), 16)
    """
    if subset not in ("all", "train", "test"):
        raise ValueError(f"subset must be 'all', 'train' or 'test'; got {subset!r}")
    parts = {"all": (True, False), "train": (True,), "test": (False,)}[subset]
    images, target, is_train, corners = [], [], [], []
    for label, name in enumerate(PICTURES):
        picture = read_picture(name)
        rng = np.random.default_rng(label)  # one order of draws, whichever subset is asked for
        for train in (True, False):
            places = _places(picture.shape[:2], train)
            chosen = places[rng.choice(len(places), TRAIN_CROPS if train else TEST_CROPS, replace=False)]
            if train in parts:
                images += [picture[y : y + CROP, x : x + CROP] for y, x in chosen]
                target += [label] * len(chosen)
                is_train += [train] * len(chosen)
                corners.append(chosen)
    stacked = np.stack(images)
    y = np.array(target)
    if return_X_y:
        return stacked, y
    return Bunch(
        data=stacked.reshape(len(stacked), -1),
        images=stacked,
        target=y,
        target_names=np.array(list(PICTURES)),
        is_train=np.array(is_train),
        corners=np.concatenate(corners),
        DESCR=_DESCR,
    )


def found(home: Path) -> Found:
    """What exists: all or nothing, whatever folder data sets are searched for in."""
    folder = Path(str(_folder()))
    there = all((folder / f"{name}.png").is_file() for name in PICTURES)
    return {part: (folder, count) for part, count in OFFICIAL.items()} if there else {}


def _folder() -> Traversable:
    return files("poolwise.datasets") / "pictures"


def read_picture(name: str) -> Array:
    """One picture, (H, W, 3) uint8, of the size it had; black where no crop lies."""
    path = _folder() / f"{name}.png"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: reinstall poolwise, its wheel carries the pictures of `photos`")
    with path.open("rb") as file, Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"))


def strips(length: int) -> dict[bool, list[tuple[int, int]]]:
    """Where the training (True) and test (False) parts begin and end along a picture's longer side."""
    test = max(2 * CROP, length // 5)
    start = (length - test) // 2
    return {True: [(0, start - GAP), (start + test + GAP, length)], False: [(start, start + test)]}


def _places(shape: tuple[int, int], train: bool) -> Array:
    """Every corner (y, x) of a crop that lies within one part, (n, 2)."""
    long_axis = int(shape[1] >= shape[0])
    along = np.concatenate([np.arange(a, b - CROP + 1) for a, b in strips(shape[long_axis])[train]])
    across = np.arange(shape[1 - long_axis] - CROP + 1)
    grid = np.stack(np.meshgrid(along, across, indexing="ij"), axis=-1).reshape(-1, 2)
    return grid if long_axis == 0 else grid[:, ::-1]
