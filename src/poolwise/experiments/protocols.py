"""How the paper uses each data set: images, settings of the features, labels."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poolwise.arrays import Array
from poolwise.datasets import fetch_cifar10, fetch_cub200, fetch_stl10
from poolwise.datasets.home import data_folder
from poolwise.estimators import PooledFeatures

Home = str | os.PathLike[str] | None

QUICK_TRAIN, QUICK_TEST = 4_000, 2_000
QUICK: dict[str, Any] = {"n_patches": 40_000, "max_iter": 10}


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


@dataclass(frozen=True)
class Protocol:
    """title, how the data is loaded, what differs from preset jia2012, and the SVM's γ."""

    title: str
    load: Callable[[Home], Data]
    changes: dict[str, Any]
    gamma: float = 0.005

    def features(self, M: int, seed: int, quick: bool, n_jobs: int | None, verbose: bool) -> PooledFeatures:
        """A starting dictionary of M codes, not fitted."""
        settings = {**self.changes, **(QUICK if quick else {})}
        return PooledFeatures.preset("jia2012", n_codes=M, random_state=seed, n_jobs=n_jobs, verbose=int(verbose), **settings)


def _cifar10(home: Home) -> Data:
    train, test = (fetch_cifar10(data_home=home, subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target)


def _stl10(home: Home) -> Data:
    """Everything is learned from the 5,000 training images."""
    train, test = (fetch_stl10(data_home=home, subset=part) for part in ("train", "test"))
    return Data(train.images, train.target, test.images, test.target, None, () if train.folds is None else tuple(train.folds))


def _stl10_unlabeled(home: Home) -> Data:
    """Everything but the SVM is learned from the 100,000 unlabelled images, as in the paper."""
    return replace(_stl10(home), learn=fetch_stl10(data_home=home, subset="unlabeled").images)


def stl10_here(home: Home) -> str:
    """The protocol for STL-10 that the data here allow: "stl10-unlabeled" where these images are, else "stl10"."""
    return "stl10-unlabeled" if (data_folder(home) / "stl10_binary" / "unlabeled_X.bin").is_file() else "stl10"


def _cub200(home: Home) -> Data:
    """Training images are mirrored left-right, which doubles them."""
    train, test = (fetch_cub200(data_home=home, subset=part) for part in ("train", "test"))
    images = np.concatenate([train.images, train.images[:, :, ::-1]])
    return Data(images, np.tile(train.target, 2), test.images, test.target)


PROTOCOLS = {
    "cifar10": Protocol("CIFAR-10", _cifar10, {}),
    "stl10": Protocol("STL-10 at 32×32, codes from the training images", _stl10, {}),
    "stl10-unlabeled": Protocol("STL-10 at 32×32", _stl10_unlabeled, {}),
    # (p / 255 - mean) / (std + 10) is (p - mean) / (std + 2550) of pixels in 0..255
    "stl10-unit": Protocol("STL-10 at 32×32, pixels in 0..1", _stl10, {"contrast_offset": 255 * 10.0}),
    "cub200": Protocol("CUB-200-2011", _cub200, {"patch_size": 5, "pool": "max", "grid": 4}),
}
