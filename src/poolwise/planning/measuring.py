"""What larger dictionaries would give, predicted from small ones on a user's own images: `poolwise plan`.

    labelled images ─ a part held out ─▶ fit K = 25, 50, ... on the rest ─▶ accuracy, seconds ─▶ law and cost at larger K

Accuracies depend on the seed alone; times are those of this machine and this moment.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from poolwise.analysis.cost import milliseconds, nominal_milliseconds
from poolwise.estimators import PooledFeatures
from poolwise.estimators.linear_svm import GammaWarning, LinearClassifier
from poolwise.method.layer import Layer
from poolwise.planning.law import AccuracyLaw, fit_law
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array, ImageSource
from poolwise.support.warning import warn_user

CANDIDATES_PER_CODE = 4
_TIMED_BYTES = 4 << 20  # of pixels: enough images to time, and few enough to time them several times
_TIMES_MEASURED = 3
_WIDE_ACCURACY = 0.05  # half of an interval that is too wide to plan by
_UNSURE_ACCURACY = 0.03
_UNEVEN_SHARE = 0.5  # of a time, off the curve through all
_GROWN_SHARE = 0.3  # of the time of the largest size, that has to grow with the codes


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
    """Milliseconds per image: fixed + ratio · work(K). Both numbers are at least 0, by least squares.

    work : of an image with K codes, as it is counted. A polynomial with a free number for each power would predict anything.
    """

    fixed: float
    ratio: float
    work: Callable[[int], float] = float

    def at(self, K: Any) -> Any:
        return self.fixed + self.ratio * _each(self.work, K)


def fit_cost(codes: Any, milliseconds: Any, work: Callable[[int], float] = float) -> Cost:
    """From what was measured.

    >>> print(f"{fit_cost([25, 50, 100], [0.5, 0.75, 1.25]).at(400):.2f} ms")
    4.25 ms
    """
    done = _each(work, codes)
    unit = float(done.max())
    fixed, ratio = nnls(np.stack([np.ones_like(done), done / unit], axis=1), np.asarray(milliseconds, np.float64))[0]
    return Cost(float(fixed), float(ratio) / unit, work)


def _each(work: Callable[[int], float], K: Any) -> Any:
    """work(K) of a number, or of each of an array; on a line between whole numbers."""
    K = np.asarray(K, np.float64)
    whole = np.floor(K)
    below, above = (np.array([work(int(one)) for one in ends.ravel()]).reshape(K.shape) for ends in (whole, np.ceil(K)))
    return below + (K - whole) * (above - below)


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
    work_at : callable
        The work of an image with K codes, in any unit.
    small_gamma_at : tuple of int
        Sizes for which γ was far too small.
    """

    name: str
    codes: Array
    accuracy: Array
    milliseconds: Array
    features_at: Callable[[int], int]
    work_at: Callable[[int], float] = float
    small_gamma_at: tuple[int, ...] = ()

    @cached_property
    def law(self) -> AccuracyLaw:
        return fit_law(np.repeat(self.codes, self.accuracy.shape[1]), self.accuracy.ravel())

    @cached_property
    def cost(self) -> Cost:
        return fit_cost(self.codes, self.milliseconds, self.work_at)

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
        small_gamma = set()
        for i, K in enumerate(sizes):
            for j, seed in enumerate(seeds):
                update(done, f"{name}, {K} codes, seed {seed}")
                model = clone(features).set_params(n_codes=K, n_candidates=factor and factor * K, random_state=seed)
                X = model.fit_transform(task.train, task.train_labels)
                classifier = clone(svm)
                if _warns_of_gamma(classifier, X, task.train_labels):
                    small_gamma.add(K)
                del X
                accuracy[i, j] = classifier.score(model.transform(task.test), task.test_labels)
                taken[i] = min(taken[i], milliseconds(model, few, _TIMES_MEASURED))
                done += 1
        curves.append(
            Curve(
                name,
                np.asarray(sizes),
                accuracy,
                taken,
                features_at=partial(_features, model.layer_),
                work_at=partial(_work, model.layer_),
                small_gamma_at=tuple(sorted(small_gamma)),
            )
        )
    update(done)
    return curves


def _features(layer: Layer, K: int) -> int:
    return layer.sized(K).n_features


def _work(layer: Layer, K: int) -> float:
    return nominal_milliseconds(layer.sized(K))


def _warns_of_gamma(svm: LinearClassifier, X: Array, labels: Array) -> bool:
    """Fit it; whether γ is far too small, which `doubts` puts into one sentence for all sizes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        svm.fit(X, labels)
    for one in caught:
        if not issubclass(one.category, GammaWarning):
            warn_user(one.message)
    return any(issubclass(one.category, GammaWarning) for one in caught)


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
        found.append(
            "the times do not grow as the work does, so others seem to use this machine too; its milliseconds mean little"
        )
    for curve in curves:
        largest = float(curve.cost.at(int(curve.codes[-1])))
        if largest - curve.cost.fixed < _GROWN_SHARE * largest:
            found.append(
                f"{curve.name}: the times hardly grow up to {curve.codes[-1]:,} codes, so that those of more are guesses; give "
                f"larger --sizes, or a machine without other work"
            )
        if curve.small_gamma_at:
            found.append(
                f"{curve.name}: from {curve.small_gamma_at[0]:,} codes on, gamma is far too small for {n_train:,} images with "
                f"so many features, which may lower accuracy there; give --gamma auto"
            )
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
