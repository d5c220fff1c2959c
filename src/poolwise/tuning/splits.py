"""Which images are learned from and which are held out; scores that are compared on the same held-out images.

    standard error of a score            std(sᵢ) / √m
    of a difference of two scores        std(sᵢ - tᵢ) / √m       sᵢ, tᵢ : scores of held-out image i; m images

A row's place in the order is its share of the way through its class, so that any first part of an order has all classes in
proportion.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolwise.support.missing import Nodata
from poolwise.support.types import Array, ImageSource

FOLDS = 5
MOST_HELD = 2_000
ENOUGH_HELD = 300  # fewer held-out images take more folds
HELD_PER_IMAGE = 2  # they cost less than those that are learned from, and scores are only as sure as they are many


@dataclass(frozen=True)
class Task:
    """Images and what is predicted of them.

    images : (n, H, W, c)    labels : (n,) class numbers, or numbers to predict    numbers : whether they are the latter
    nodata : what pixels without data hold, which are NaN in `images`
    """

    images: Array | ImageSource
    labels: Array
    numbers: bool
    nodata: Nodata = None

    @property
    def image_shape(self) -> tuple[int, int, int]:
        H, W, c = self.images.shape[1:]
        return int(H), int(W), int(c)

    @property
    def n_classes(self) -> int:
        """1 for numbers."""
        return 1 if self.numbers else int(self.labels.max()) + 1


@dataclass(frozen=True)
class Rung:
    """So many images to learn from and to hold out, in each of so many folds.

    exact : whether classes are guessed by a linear SVM, as in a fit; else by ridge regression, which takes far less time
    """

    n: int
    m: int
    folds: int = 1
    exact: bool = False

    @property
    def key(self) -> str:
        return f"{self.n}/{self.m}/{self.folds}{'/svm' * self.exact}"

    @property
    def size(self) -> tuple[int, int, bool]:
        """What later rungs have more of."""
        return self.n, self.m * self.folds, self.exact


@dataclass(frozen=True)
class Splits:
    """(learn, held) row numbers of every fold; any first part of each has the classes in proportion."""

    folds: tuple[tuple[Array, Array], ...]

    def rung(self, n: int) -> Rung:
        """About n images to learn from, twice as many held out, and more folds where these are few; at most what there is."""
        most = min(len(learn) for learn, _ in self.folds), min(len(held) for _, held in self.folds)
        n = min(n, most[0])
        m = min(max(HELD_PER_IMAGE * n, ENOUGH_HELD), most[1])
        return Rung(n, m, min(len(self.folds), math.ceil(ENOUGH_HELD / m)))


def split(labels: Array, numbers: bool, rng: np.random.Generator) -> Splits:
    """Five folds; the first alone counts where it is large, with at most 2,000 images held out.

    Classes of a single image are always learned from.

    >>> learn, held = split(np.repeat([0, 1], [10, 5]), False, np.random.default_rng(0)).folds[0]
    >>> len(learn), len(held)
    (12, 3)
    """
    n = len(labels)
    fold, place = np.full(n, -1), np.zeros(n)
    start = 0
    for name in [None] if numbers else np.unique(labels):
        rows = rng.permutation(np.arange(n) if name is None else np.flatnonzero(labels == name))
        if len(rows) > 1:  # classes go on where the last one ended, so that folds are of one size
            fold[rows] = (np.arange(len(rows)) + start) % FOLDS
            start += len(rows)
        place[rows] = (np.arange(len(rows)) + rng.random()) / len(rows)
    order = np.argsort(place, kind="stable")
    found = []
    for number in range(FOLDS):
        held = order[fold[order] == number]
        learn = order[fold[order] != number]
        if len(held) > MOST_HELD:
            learn = np.sort(np.r_[place_of(order, learn), place_of(order, held[MOST_HELD:])])
            learn, held = order[learn], held[:MOST_HELD]
        if len(held):
            found.append((learn, held))
    return Splits(tuple(found))


def place_of(order: Array, rows: Array) -> Array:
    """Where rows are in an order."""
    where = np.empty(len(order), np.int64)
    where[order] = np.arange(len(order))
    return where[rows]


def standard_error(each: Array) -> float:
    """Of the mean of one number for each held-out image; 0 for a single image.

    >>> standard_error(np.array([1.0, 0.0, 1.0, 0.0])).__round__(4)
    0.2887
    """
    return float(np.std(each, ddof=1, dtype=np.float64) / math.sqrt(len(each))) if len(each) > 1 else 0.0


def compare(a: Array, b: Array) -> tuple[float, float]:
    """Mean and standard error of a - b, scores of the same held-out images.

    >>> compare(np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0]))
    (0.25, 0.25)
    """
    difference: Any = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    return float(difference.mean()), standard_error(difference)
