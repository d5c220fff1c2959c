"""How often a classifier is right, and what it takes for what."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.estimators.linear_svm import LinearClassifier
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array, ImageSource

_ROWS_CLASSIFIED = 1024  # together,
_BYTES_CLASSIFIED = 32 << 20  # or fewer


@dataclass(frozen=True)
class Accuracy:
    """confusion : (classes, classes) images, a row per true class, a column per predicted one"""

    confusion: Array

    @property
    def share(self) -> float:
        """Of images that got their own label."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    def largest_confusions(self, count: int) -> list[tuple[int, int, int]]:
        """(true, predicted, images) of the mistakes made most often.

        >>> Accuracy(np.array([[5, 2], [0, 4]])).largest_confusions(3)
        [(0, 1, 2)]
        """
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        pairs = [np.unravel_index(at, wrong.shape) for at in order]
        return [(int(i), int(j), int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def class_numbers(labels: Any, known: Any = None) -> tuple[Array, list[str]]:
    """(n,) which class each label is, and the classes' names; 3, 3.0 and "3" are the same label.

    known : the classes of a classifier; an error if a label is none of them. None: the labels' own

    >>> class_numbers(["b", "a", "b"])
    (array([1, 0, 1]), ['a', 'b'])
    """
    found, place = np.unique(np.asarray(labels), return_inverse=True)
    own = [spelled(label) for label in found.tolist()]
    names = own if known is None else [spelled(label) for label in np.asarray(known).tolist()]
    numbers = {name: number for number, name in enumerate(names)}
    unknown = [name for name in own if name not in numbers]
    if unknown:
        raise ValueError(
            f"the model does not know the label{'s' * (len(unknown) > 1)} {_few(unknown)}; it was fitted on {_few(names)}. "
            f"Remove or rename those images, or fit with them"
        )
    return np.array([numbers[name] for name in own], np.int64)[place], names


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(map(ascii if any(not name.isprintable() for name in names) else repr, names[:10])) + more


def spelled(label: Any) -> str:
    """A label as text.

    >>> spelled(3.0), spelled("cat")
    ('3', 'cat')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def margin_blocks(
    features: PooledFeatures, classifier: LinearClassifier, images: Array | ImageSource
) -> Iterator[tuple[slice, Array]]:
    """(rows, margins of these images), margins (rows, classes): for two classes minus and plus the one that there is."""
    for rows, X in _collected(features, images):
        F = classifier.decision_function(X)
        yield rows, np.stack([-F, F], axis=1) if F.ndim == 1 else F


def _collected(features: PooledFeatures | StackedFeatures, images: Array | ImageSource) -> Iterator[tuple[slice, Array]]:
    """(rows, features), about a thousand rows or 32 MB at a time: as many as are worth classifying together."""
    waiting: list[Array] = []
    start = 0
    for rows, X in features.transform_blocks(images):
        waiting.append(X)
        count = rows.stop - start
        if count >= _ROWS_CLASSIFIED or count * X[0].nbytes >= _BYTES_CLASSIFIED or rows.stop == len(images):
            yield slice(start, rows.stop), np.concatenate(waiting)
            waiting.clear()
            start = rows.stop


def measure_accuracy(
    features: PooledFeatures | StackedFeatures,
    classifier: ClassifierMixin,
    images: Array | ImageSource,
    numbers: Array,
    update: Update = silent,
) -> Accuracy:
    """Classify images, a block at a time, and count; numbers : (n,) the true class of each, among `classifier.classes_`."""
    classes = np.asarray(classifier.classes_)
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for rows, X in _collected(features, images):
        np.add.at(confusion, (numbers[rows], np.searchsorted(classes, classifier.predict(X))), 1)
        update(rows.stop)
    return Accuracy(confusion)
