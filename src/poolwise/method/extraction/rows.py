"""Blocks of images as rows of a matrix, for statistics: what workers compute, so that activations need not travel.

images : (n, H, W, c)    rows of a block : (images · cells, outputs), for `moments_of_rows`
"""

import numpy as np

from poolwise.method.extraction import features_of
from poolwise.method.extraction.base import Pass
from poolwise.method.statistics import Moments
from poolwise.support.types import Array, ImageSource


def pooled_rows(rows: slice, images: Array | ImageSource, ready: Pass, outputs: int) -> tuple[Array, None]:
    """Pooled activations of a block of images, a row for each cell; for `moments_of_rows`."""
    return ready.pooled(images[rows]).reshape(-1, outputs), None


def feature_rows(rows: slice, images: Array | ImageSource, ready: Pass, outputs: int) -> tuple[Array, None]:
    """The same of standardised ones."""
    return features_of(ready, images[rows]).reshape(-1, outputs), None


def rows_with_targets(
    part: tuple[slice, Array], images: Array | ImageSource, ready: Pass, coarse: tuple[int, int, int], n_own: int, width: int
) -> tuple[Array, Moments]:
    """One output a code of some images next to their targets, and the variances of all outputs of the own grid."""
    (rows, targets), (first, count, M) = part, coarse
    pooled = ready.pooled(images[rows])
    seen = pooled[:, first : first + count, :M].reshape(len(pooled), -1)
    return np.hstack([seen, targets]).astype(np.float32, copy=False), variances(pooled[:, :n_own], width)


def variances(pooled: Array, width: int) -> Moments:
    """Mean and variances of pooled activations, taken as rows of so many numbers."""
    return Moments.of(pooled.reshape(-1, width), diagonal=True)
