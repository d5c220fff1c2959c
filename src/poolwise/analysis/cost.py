"""What one image costs: multiplications counted, milliseconds measured."""

import time

from poolwise.estimators import PooledFeatures
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pooling, SecondOrder
from poolwise.support.types import Array

_TIMES_MEASURED = 5


def cost_of(layer: Layer, classifier: tuple[int, int] | None = None) -> dict[str, int]:
    """Multiply-adds per image of the products, which are nearly all of the work.

    classifier : the shape of its coefficients, or None without a linear one
    """
    return {**layer.multiply_adds, "classifier": 0 if classifier is None else classifier[0] * classifier[1]}


def degree_of_cost(pooling: Pooling) -> int:
    """The highest power of K in the time of an image: 2 for products of every two codes, 3 for roots of matrices of these.

    >>> from poolwise.method.pooling import Pool
    >>> degree_of_cost(Pool()), degree_of_cost(SecondOrder()), degree_of_cost(SecondOrder(normalize="power"))
    (1, 3, 2)
    """
    if not isinstance(pooling, SecondOrder):
        return 1
    return 3 if pooling.normalize in ("root", "log") else 2


def milliseconds(features: PooledFeatures, images: Array, repeats: int = _TIMES_MEASURED) -> float:
    """Per image, of `features.transform`: the fastest of some calls, which depends least on what else the machine does."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        features.transform(images)
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds) / len(images)
