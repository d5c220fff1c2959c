"""How often a classifier is right, and what it takes for what."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolwise.arrays import Array
from poolwise.engine import spans

_ROWS = 1024


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
            f"the model does not know the label{'s' * (len(unknown) > 1)} {', '.join(map(ascii, unknown[:10]))}; it was fitted "
            f"on {', '.join(map(ascii, names[:10]))}. Remove or rename those images, or fit with them"
        )
    return np.array([numbers[name] for name in own], np.int64)[place], names


def spelled(label: Any) -> str:
    """A label as text.

    >>> spelled(3.0), spelled("cat")
    ('3', 'cat')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def measure_accuracy(
    features: Any, classifier: Any, images: Any, numbers: Array, progress: Callable[[int], None] | None = None
) -> Accuracy:
    """Classify images, a block at a time, and count; numbers : (n,) the true class of each, among `classifier.classes_`."""
    classes = np.asarray(classifier.classes_)
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for rows in spans(len(images), _ROWS):
        predicted = np.searchsorted(classes, classifier.predict(features.transform(images[rows])))
        np.add.at(confusion, (numbers[rows], predicted), 1)
        if progress is not None:
            progress(rows.stop)
    return Accuracy(confusion)
