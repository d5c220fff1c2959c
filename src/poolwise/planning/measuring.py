"""What larger dictionaries would give, predicted from small ones on a user's own images: `poolwise plan`.

    labelled images ─ a part held out ─▶ fit K = 25, 50, ... on the rest ─▶ accuracy, seconds ─▶ law and cost at larger K

Accuracies depend on the seed alone; times are those of this machine and this moment.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from poolwise.analysis.cost import degree_of_cost, milliseconds
from poolwise.estimators import PooledFeatures
from poolwise.estimators.linear_svm import LinearClassifier
from poolwise.planning.law import AccuracyLaw, fit_law
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array, ImageSource

CANDIDATES_PER_CODE = 4
_TIMED_BYTES = 4 << 20  # of pixels: enough images to time, and few enough to time them several times
_TIMES_MEASURED = 3
_WIDE_ACCURACY = 0.05  # half of an interval that is too wide to plan by
_UNSURE_ACCURACY = 0.03
_UNEVEN_SHARE = 0.5  # of a time, off the line through all


def hold_out(labels: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Row numbers to learn from and to test on, ascending: `share` of every class is held out, at least one and never all.

    A class of a single image stays among those to learn from.

    >>> learn, test = hold_out(np.array(list("aaaabb")), 0.25, np.random.default_rng(0))
    >>> len(learn), len(test)
    (4, 2)
    """
    held = np.zeros(len(labels), np.bool_)
    for name in np.unique(labels):
        rows = np.flatnonzero(labels == name)
        count = min(len(rows) - 1, max(1, round(share * len(rows))))
        held[rng.permutation(rows)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


@dataclass(frozen=True)
class Cost:
    """Milliseconds per image: fixed + per_code K + per_square K² + per_cube K³. All at least 0, by least squares."""

    fixed: float
    per_code: float
    per_square: float = 0.0
    per_cube: float = 0.0

    def at(self, K: Any) -> Any:
        return self.fixed + K * (self.per_code + K * (self.per_square + K * self.per_cube))


def fit_cost(codes: Any, milliseconds: Any, degree: int = 1) -> Cost:
    """From what was measured; degree : the highest power of K, at most 3.

    >>> print(f"{fit_cost([25, 50, 100], [0.5, 0.75, 1.25]).at(400):.2f} ms")
    4.25 ms
    """
    K = np.asarray(codes, np.float64)
    unit = float(K.max())  # powers of K / unit are of one size
    powers = np.arange(degree + 1)
    found = nnls((K[:, None] / unit) ** powers, np.asarray(milliseconds, np.float64))[0] / unit**powers
    return Cost(*map(float, found))


@dataclass(frozen=True)
class Curve:
    """What was measured of one way to learn a dictionary.

    Attributes
    ----------
    name : str
    codes : (S,) int
        The sizes K, ascending.
    accuracy : (S, R)
        Fractions: R runs of each size.
    milliseconds : (S,)
        Per image, all threads together: the fastest of the runs, since a machine's other work only ever adds to it.
    features_at : callable
        The number of features of an image with K codes.
    degree : int
        The highest power of K in the cost.
    """

    name: str
    codes: Array
    accuracy: Array
    milliseconds: Array
    features_at: Callable[[int], int]
    degree: int = 1

    @cached_property
    def law(self) -> AccuracyLaw:
        return fit_law(np.repeat(self.codes, self.accuracy.shape[1]), self.accuracy.ravel())

    @cached_property
    def cost(self) -> Cost:
        return fit_cost(self.codes, self.milliseconds, self.degree)

    @property
    def mean(self) -> Array:
        """(S,)"""
        return self.accuracy.mean(axis=1)

    @property
    def std(self) -> Array:
        """(S,), of the runs; zeros where there is one."""
        return self.accuracy.std(axis=1, ddof=1) if self.accuracy.shape[1] > 1 else np.zeros(len(self.codes))


@dataclass(frozen=True)
class Task:
    """Images to learn from and images to test on, each with (n,) class numbers."""

    train: Array | ImageSource
    train_labels: Array
    test: Array | ImageSource
    test_labels: Array


def measure(
    task: Task,
    features: PooledFeatures,
    svm: LinearClassifier,
    sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    candidates: bool,
    update: Update = silent,
) -> list[Curve]:
    """Curves of K-means and, with `candidates`, of PDL: one dictionary and one classifier per size and seed.

    features, svm : estimators with the parameters to use; they are cloned. Memory: the features of one dictionary.
    update : called with the dictionaries done, and what comes next
    """
    few = _timed_rows(task.test)
    curves, done = [], 0
    for name, factor in (("K-means", None), ("PDL", CANDIDATES_PER_CODE))[: 1 + candidates]:
        accuracy, taken = np.zeros((len(sizes), len(seeds))), np.full(len(sizes), math.inf)
        for i, K in enumerate(sizes):
            for j, seed in enumerate(seeds):
                update(done, f"{name}, {K} codes, seed {seed}")
                model = clone(features).set_params(n_codes=K, n_candidates=factor and factor * K, random_state=seed)
                X = model.fit_transform(task.train, task.train_labels)
                classifier = clone(svm).fit(X, task.train_labels)
                del X
                accuracy[i, j] = classifier.score(model.transform(task.test), task.test_labels)
                taken[i] = min(taken[i], milliseconds(model, few, _TIMES_MEASURED))
                done += 1
        layer = model.layer_
        curves.append(Curve(name, np.asarray(sizes), accuracy, taken, layer.n_features_of, degree_of_cost(layer.pooling)))
    update(done)
    return curves


def _timed_rows(images: Array | ImageSource) -> Array:
    """Enough images in memory to time, with their decoding left out."""
    H, W, c = images.shape[1:]
    return images[: max(16, _TIMED_BYTES // (H * W * c))]


def doubts(curves: Sequence[Curve], predict: Sequence[int], n_train: int, n_test: int) -> list[str]:
    """Why predictions may not be worth much, in words; an empty list where nothing is wrong."""
    found, far = [], max(predict)
    for curve in curves:
        law, low, high = curve.law, *curve.law.interval(far)
        if law.b >= 0:
            found.append(f"{curve.name}: accuracy does not rise with the codes, so the law predicts nothing here")
            continue
        if law.bend < 0.05:
            less, bounds = ("less", "upper") if law.curvature < 0 else ("more", "lower")
            found.append(
                f"{curve.name}: at larger sizes accuracy rises {less} than the law says: take predictions as {bounds} bounds, "
                f"or give larger --sizes"
            )
        if law.a > 1:
            found.append(
                f"{curve.name}: the law rises to {law.a:.0%}, which no accuracy can, so it must bend somewhere: take "
                f"predictions as upper bounds, or give larger --sizes"
            )
        if high - low > 2 * _WIDE_ACCURACY:
            found.append(
                f"{curve.name}: with {far:,} codes anything from {low:.0%} to {high:.0%} is likely; give more --runs, or "
                f"--sizes that are larger or lie further apart"
            )
    if any(
        (np.abs(curve.cost.at(curve.codes) - curve.milliseconds) > _UNEVEN_SHARE * curve.milliseconds).any() for curve in curves
    ):
        found.append("the times lie far from a line, so other work seems to slow this machine; its milliseconds mean little")
    error = max(1.96 * math.sqrt(float(p * (1 - p)) / n_test) for curve in curves for p in curve.mean)
    if error > _UNSURE_ACCURACY:
        found.append(f"{n_test:,} images to test on give an accuracy to ± {error:.1%} only; give more, or a larger --holdout")
    most = max(curve.features_at(far) for curve in curves)
    if most > n_train:
        found.append(
            f"{far:,} codes give {most:,} features, but there are {n_train:,} images to learn from; with fewer images than "
            f"features, accuracy often rises less than the law says"
        )
    return found
