"""What one image costs: multiplications counted, milliseconds estimated from these or measured; and what a fit needs.

    ms ≈ r (a · multiply-adds + b · activations + c · cells · outputs³ [matrix roots] + e · numbers in cells + f · pixels [band
         statistics])

a, b, c, e, f are of one machine; r is another's ratio to it.
"""

import math
import time

from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pooling
from poolwise.method.symmetry import N_COPIES
from poolwise.support.types import Array

MS_PER_PRODUCT = 1.5e-8
_MS_PER_ACTIVATION, _MS_PER_NUMBER, _MS_PER_PIXEL = 1.2e-6, 3e-6, 4e-6
_MS_PER_CUBE = {"root": 4.5e-7, "log": 2.4e-6}  # the logarithm needs eigenvectors
_TIMES_MEASURED = 5


def cost_of(*layers: Layer, classifier: tuple[int, int] | None = None) -> dict[str, int]:
    """Multiply-adds per image of the products: nearly all of the work but for matrix roots and logarithms.

    layers : all that an image goes through    classifier : the shape of its coefficients, or None without a linear one
    """
    counted = [layer.multiply_adds for layer in layers]
    total = {stage: sum(one[stage] for one in counted) for stage in counted[0]}
    return {**total, "classifier": 0 if classifier is None else classifier[0] * classifier[1]}


def has_matrix_functions(pooling: Pooling) -> bool:
    """Whether a matrix root or logarithm is taken in every cell, which is most of the work for many outputs."""
    return pooling.roots_of(1) > 0


def _function(pooling: Pooling) -> str:
    """What is taken of matrices, if anything is."""
    return str(getattr(pooling, "normalize", None))


def nominal_milliseconds(layer: Layer) -> float:
    """Per image, of the machine that the constants are of."""
    activations = N_COPIES[layer.symmetry] * math.prod(layer.positions) * layer.n_outputs
    cubes = layer.n_cells * layer.pooling.roots_of(layer.n_outputs) ** 3 * _MS_PER_CUBE.get(_function(layer.pooling), 0.0)
    numbers = layer.n_cells * layer.pooling.width(layer.n_outputs)
    products = sum(layer.multiply_adds.values())
    pixels = 0 if layer.statistics is None else N_COPIES[layer.symmetry] * math.prod(layer.image_shape)
    passes = _MS_PER_ACTIVATION * activations + _MS_PER_NUMBER * numbers + _MS_PER_PIXEL * pixels
    return MS_PER_PRODUCT * products + passes + cubes


def milliseconds(features: PooledFeatures | StackedFeatures, images: Array, repeats: int = _TIMES_MEASURED) -> float:
    """Per image, of `features.transform`: the fastest of some calls, which depends least on what else the machine does."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        features.transform(images)
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds) / len(images)


def fit_bytes(pooling: Pooling, outputs: int, n: int) -> int:
    """What features of n images and a linear classifier on them need: the features, its square matrix, and directions.

    >>> from poolwise.method.pooling import SecondOrder
    >>> fit_bytes(SecondOrder(grid=1), 3, 100)
    2544
    """
    width, kept = pooling.width(outputs), pooling.directions_kept(outputs)
    d = pooling.n_cells * (kept or width)
    needed = 4 * n * d + 4 * min(n, d) ** 2
    return needed if kept is None else max(needed, 10 * width**2)
