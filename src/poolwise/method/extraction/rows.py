"""Blocks of images as rows of a matrix, for statistics: what workers compute, so that activations need not travel.

images : (n, H, W, c)    rows of a block : (images · cells, outputs), for `moments_of_rows`
"""

import numpy as np

from poolwise.method.extraction.base import Pass
from poolwise.method.nodata import cells_with_data, rows_with_data
from poolwise.method.statistics import Moments
from poolwise.support.types import Array, ImageSource


def pooled_rows(rows: slice, images: Array | ImageSource, ready: Pass) -> tuple[Array, None]:
    """Pooled activations of a block of images, a row for each cell that has data; for `moments_of_rows`."""
    return rows_with_data(ready.pooled(images[rows])), None


def feature_rows(rows: slice, images: Array | ImageSource, ready: Pass) -> tuple[Array, None]:
    """The same of standardised ones."""
    return rows_with_data(ready.layer.scale.around(ready.pooled(images[rows]))), None


def rows_with_targets(
    part: tuple[slice, Array], images: Array | ImageSource, ready: Pass, coarse: tuple[int, int, int], n_own: int, width: int
) -> tuple[Array, Moments]:
    """One output a code of those images that have data in every coarse cell next to their targets, and the variances of all
    outputs of the own grid."""
    (rows, targets), (first, count, M) = part, coarse
    pooled = ready.pooled(images[rows])
    whole = cells_with_data(pooled[:, first : first + count]).all(axis=1)
    seen = pooled[whole, first : first + count, :M].reshape(int(whole.sum()), count * M)
    return np.hstack([seen, targets[whole]]).astype(np.float32, copy=False), variances(pooled[:, :n_own], width)


def variances(pooled: Array, width: int) -> Moments:
    """Mean and variances of pooled activations, taken as rows of so many numbers."""
    return Moments.of(pooled.reshape(-1, width), diagonal=True)
