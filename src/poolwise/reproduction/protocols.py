"""How the paper uses each data set: images, settings of the features, labels."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from poolwise.datasets import fetch_cifar10, fetch_cub200, fetch_stl10, load_photos
from poolwise.datasets.eurosat import read_packed
from poolwise.datasets.home import data_folder
from poolwise.estimators import PooledFeatures
from poolwise.method.pooling import Pool
from poolwise.support.files import replacing
from poolwise.support.types import Array

Home = str | os.PathLike[str] | None

QUICK_TRAIN, QUICK_TEST = 4_000, 2_000
QUICK_PATCHES, QUICK_ITERATIONS = 40_000, 10
QUICK: dict[str, Any] = {"n_patches": QUICK_PATCHES, "dictionary__max_iter": QUICK_ITERATIONS}


@dataclass(frozen=True)
class Data:
    """A data set as the paper uses it.

    learn : (n, H, W, c) images for dictionary, scale, covariance and selection, or None for those of `train`
    train, test : images, with labels    folds : rows of `train` of the data set's own protocol, if it has one
    """

    train: Array
    train_labels: Array
    test: Array
    test_labels: Array
    learn: Array | None = None
    folds: tuple[Array, ...] = ()

    def quick(self) -> "Data":
        """The same with fewer images, taken evenly: some of the sets are sorted by class."""
        train = np.linspace(0, len(self.train) - 1, min(QUICK_TRAIN, len(self.train)), dtype=np.int64)
        test = np.linspace(0, len(self.test) - 1, min(QUICK_TEST, len(self.test)), dtype=np.int64)
        learn = None if self.learn is None else self.learn[:: max(1, len(self.learn) // QUICK_TRAIN)]
        folds = tuple(np.flatnonzero(np.isin(train, fold)) for fold in self.folds)
        return Data(self.train[train], self.train_labels[train], self.test[test], self.test_labels[test], learn, folds)

    def stored(self, folder: Path) -> "Data":
        """The same with images as maps of files in a folder, which travel to other processes as names."""
        learn = None if self.learn is None else _mapped(folder / "learn.npy", self.learn)
        train, test = _mapped(folder / "train.npy", self.train), _mapped(folder / "test.npy", self.test)
        return replace(self, train=train, test=test, learn=learn)


def _mapped(path: Path, images: Array) -> Array:
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, images)
    return np.asarray(open_memmap(path, mode="r"))


@dataclass(frozen=True)
class Protocol:
    """How a data set is used.

    load : the data    changes : what differs from preset jia2012    gamma : of the SVM
    n_images, positions, d : images encoded, positions in each and numbers per patch, for an estimate of the time
    """

    title: str
    load: Callable[[Home], Data]
    changes: dict[str, Any] = field(default_factory=dict)
    gamma: float = 0.005
    n_images: int = 60_000
    positions: int = 27 * 27
    d: int = 108

    def features(self, M: int, *, seed: int, quick: bool, n_jobs: int | None, verbose: bool) -> PooledFeatures:
        """A starting dictionary of M codes, not fitted."""
        settings = {**self.changes, **(QUICK if quick else {})}
        return PooledFeatures.preset("jia2012", n_codes=M, random_state=seed, n_jobs=n_jobs, verbose=int(verbose), **settings)


def _cifar10(home: Home) -> Data:
    train, test = (fetch_cifar10(data_home=home, subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target)


def _cifar10_part(home: Home) -> Data:
    """10,000 training images to learn from, 5,000 others to test on; no test image."""
    whole = _cifar10(home)
    x, y = whole.train, whole.train_labels
    return Data(x[:10_000], y[:10_000], x[40_000:45_000], y[40_000:45_000])


def _cifar10_few(home: Home) -> Data:
    """400 training images of each class, drawn at random."""
    return draw_labels(_cifar10(home), 400, [0, 0])


def draw_labels(data: Data, per_class: int, seed: list[int]) -> Data:
    """The data with that many training images of each class, drawn at random.

    >>> y = np.array([0, 1, 0, 1, 0, 1])
    >>> few = draw_labels(Data(np.arange(6), y, np.arange(2), y[:2]), 2, [0])
    >>> np.bincount(few.train_labels)
    array([2, 2])
    """
    rng = np.random.default_rng(seed)
    y = data.train_labels
    rows = np.sort(np.concatenate([rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)]))
    return replace(data, train=data.train[rows], train_labels=y[rows])


def _photos(home: Home) -> Data:
    train, test = (load_photos(subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target)


def _stl10(home: Home) -> Data:
    """Everything is learned from the 5,000 training images."""
    train, test = (fetch_stl10(data_home=home, subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target, None, () if train.folds is None else tuple(train.folds))


def _stl10_unlabeled(home: Home) -> Data:
    """Everything but the SVM is learned from the 100,000 unlabelled images, as in the paper."""
    return replace(_stl10(home), learn=fetch_stl10(data_home=home, subset="unlabeled").images)


def _cub200_once(home: Home) -> Data:
    train, test = (fetch_cub200(data_home=home, subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target)


def _cub200(home: Home) -> Data:
    """Training images are mirrored left-right, which doubles them."""
    once = _cub200_once(home)
    images = np.concatenate([once.train, once.train[:, :, ::-1]])
    return replace(once, train=images, train_labels=np.tile(once.train_labels, 2))


def _eurosat(home: Home) -> Data:
    """13 bands of `eurosat32.npz`, each scaled to mean 128 and standard deviation 40 of the training images."""
    train, labels, test, test_labels = read_packed(data_folder(home))
    mean, std = train.mean(axis=(0, 1, 2)), train.std(axis=(0, 1, 2))
    train, test = (((part - mean) / std * 40 + 128).astype(np.float32) for part in (train, test))
    return Data(train, labels, test, test_labels)


_BIRDS = {"descriptor__size": 5, "pooling": Pool("max", grid=4)}
PROTOCOLS = {
    "cifar10": Protocol("CIFAR-10", _cifar10),
    "cifar10-10000": Protocol("CIFAR-10, 10,000 training images, 5,000 others held out", _cifar10_part, n_images=15_000),
    "cifar10-400": Protocol("CIFAR-10, 400 training images a class", _cifar10_few, n_images=14_000),
    "photos": Protocol("the embedded photos", _photos, n_images=4_800),
    "stl10": Protocol("STL-10 at 32×32, codes from the training images", _stl10, n_images=13_000),
    "stl10-unlabeled": Protocol("STL-10 at 32×32", _stl10_unlabeled, n_images=113_000),
    # (p / 255 - mean) / (std + 10) is (p - mean) / (std + 2550) of pixels in 0..255
    "stl10-unit": Protocol("STL-10 at 32×32, pixels in 0..1", _stl10, {"descriptor__offset": 255 * 10.0}, n_images=13_000),
    "cub200": Protocol("CUB-200-2011", _cub200, _BIRDS, n_images=17_782, positions=124 * 124, d=75),
    "cub200-once": Protocol("CUB-200-2011, not mirrored", _cub200_once, _BIRDS, n_images=11_788, positions=124 * 124, d=75),
    "eurosat": Protocol("EuroSAT at 32×32, 13 bands", _eurosat, n_images=3_000, d=13 * 36),
}
# "stl10" means the paper's own protocol wherever its unlabelled images are available; results keep the two apart.
STL10 = ("stl10-unlabeled", "stl10")


def protocol_here(dataset: str, home: Home) -> str:
    """The protocol that the data here allow for a data set."""
    if dataset != "stl10":
        return dataset
    return STL10[0] if (data_folder(home) / "stl10_binary" / "unlabeled_X.bin").is_file() else STL10[1]


@dataclass
class Settings:
    """What holds for a whole run: where data is, threads, whether stages show their progress.

    folder : where images are stored for the workers of a cluster, which must see it; None without one
    """

    home: Home = None
    n_jobs: int | None = None
    verbose: bool = False
    folder: Path | None = None

    def __post_init__(self) -> None:
        self._loaded: tuple[str, bool, Data] | None = None

    def data(self, dataset: str, quick: bool) -> Data:
        """A data set; the last one stays in memory."""
        if self._loaded is None or self._loaded[:2] != (dataset, quick):
            self._loaded = None
            whole = PROTOCOLS[dataset].load(self.home)
            whole = whole.quick() if quick else whole
            self._loaded = dataset, quick, whole if self.folder is None else whole.stored(self.folder)
        return self._loaded[2]
