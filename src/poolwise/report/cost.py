"""What one image costs: multiplications counted, milliseconds measured."""

import time
from typing import Any

import numpy as np

from poolwise.arrays import Array
from poolwise.patches import position_grid

_REPEATS = 5


def multiply_adds(
    image_shape: tuple[int, int, int],
    patch_size: tuple[int, int],
    stride: int,
    codes: int,
    cells: int,
    sides: int = 1,
    projected: int | None = None,
    classifier: tuple[int, int] | None = None,
) -> dict[str, int]:
    """Multiply-adds per image of the products, which are nearly all of the work.

    projected : rows of the transform, None without    classifier : the shape of its coefficients, None without

    >>> multiply_adds((32, 32, 3), (6, 6), 1, 200, 4)
    {'encoding': 15746400, 'transform': 0, 'classifier': 0}
    """
    H, W, c = image_shape
    h, w = position_grid((H, W), patch_size, stride)
    return {
        "encoding": h * w * patch_size[0] * patch_size[1] * c * codes,
        "transform": cells * codes * sides * (projected or 0),
        "classifier": 0 if classifier is None else classifier[0] * classifier[1],
    }


def cost_of(features: Any, classifier: Any = None) -> dict[str, int]:
    """`multiply_adds` of a fitted model."""
    coef = getattr(classifier, "coef_", None)  # others than linear ones are not counted
    return multiply_adds(
        features.image_shape_in_,
        features.patch_size_,
        features._pooling[0],
        len(features.codes_),
        sum(rows * columns for rows, columns in features.grids_),
        2 if features._encoding[2] else 1,
        None if features.transform_ is None else len(features.transform_),
        None if coef is None else np.atleast_2d(coef).shape,
    )


def milliseconds(features: Any, images: Array, repeats: int = _REPEATS) -> float:
    """Per image, of `features.transform`: the fastest of some, which says least of the machine's neighbours."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        features.transform(images)
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds) / len(images)
