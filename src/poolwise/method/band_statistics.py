"""Band statistics: what contrast normalisation takes away, as features beside those of codes.

    s = (mean, spread, least, largest) of each band over the pixels of each cell, averaged over copies of the image
    x = (s - mean of s) / sqrt(var of s + ε)

The cells are those of the pooling's grids, laid over pixels. Mean and variance of s are learned in `fit` by the formula of the
outputs (stage 8): for all cells together, or for each. So they count as much as outputs do; a larger weight was no better on
held-out training images (docs/parts.md). Pixels without data, NaN, are left out; a cell without any other gets the mean of all.

s : (n, cells, 4c)    x : (n, cells · 4c)
"""

from collections.abc import Iterable

import numpy as np

from poolwise.engine import Engine
from poolwise.kernels.bands import band_atoms
from poolwise.method.nodata import mean_with_data, nan_pixels
from poolwise.method.pooling.cells import cut_cells
from poolwise.method.scale import Scale, Standardize
from poolwise.method.statistics import Moments
from poolwise.method.symmetry import N_COPIES, SymmetryName, copies
from poolwise.support.blocks import spans
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource

NAMES = ("mean", "spread", "least", "largest")
OFFSET = 0.01
_BYTES_PER_BLOCK = 4 << 20

Grids = Iterable[tuple[int, int]]


def statistics_of(images: Array, grids: Grids) -> Array:
    """The formula, in float64: (n, H, W, c) to (n, cells, 4c); NaN in cells where all pixels are.

    >>> statistics_of(np.array([[[[1], [3]]]]), [(1, 1)]).tolist()
    [[[2.0, 1.0, 1.0, 3.0]]]
    """
    x, found = np.asarray(images, np.float64), []
    cells = cut_cells(x.shape[1:3], grids)
    for top, bottom, left, right in cells.corners:
        part = x[:, cells.y_edges[top] : cells.y_edges[bottom], cells.x_edges[left] : cells.x_edges[right]]
        found.append(np.concatenate(_each(part, ~np.isnan(part)), axis=1))
    return np.stack(found, axis=1)


def _each(x: Array, has: Array) -> tuple[Array, ...]:
    """Mean, spread, least and largest, (n, c) each, of pixels that have data."""
    over, count = (1, 2), has.sum(axis=(1, 2))
    some = np.maximum(count, 1)
    mean = x.sum(over, where=has) / some
    spread = np.sqrt(((x - mean[:, None, None]) ** 2).sum(over, where=has) / some)
    each = mean, spread, x.min(over, where=has, initial=np.inf), x.max(over, where=has, initial=-np.inf)
    return tuple(np.where(count, one, np.nan) for one in each)


def band_statistics(images: Array, grids: Grids, symmetry: SymmetryName) -> Array:
    """The same, (n, cells, 4c) float32, averaged over copies and compiled: a pass over the pixels of each."""
    grids, missing = tuple(grids), nan_pixels(images)
    if missing is not None:
        return _around(images, np.asarray(missing.any(axis=(1, 2))), grids, symmetry)
    views = copies(images, symmetry)
    total = _of_view(next(views), grids)
    for view in views:
        total += _of_view(view, grids)
    total /= N_COPIES[symmetry]
    return total


def _around(images: Array, some: Array, grids: tuple[tuple[int, int], ...], symmetry: SymmetryName) -> Array:
    """The same where some images have pixels without data; these take the formula."""
    of_some, n_views = mean_with_data([statistics_of(view, grids) for view in copies(images[some], symmetry)])
    of_some[n_views == 0] = np.nan
    found = np.empty((len(images), *of_some.shape[1:]), np.float32)
    found[some] = of_some
    if not some.all():
        found[~some] = band_statistics(images[~some], grids, symmetry)
    return found


def _of_view(images: Array, grids: Grids) -> Array:
    n, H, W, c = images.shape
    cells = cut_cells((H, W), grids)
    shape = (n, len(cells.y_edges) - 1, len(cells.x_edges) - 1, c)
    sums, squares = np.empty(shape), np.empty(shape)
    least, largest = np.empty(shape, np.float32), np.empty(shape, np.float32)
    images = np.ascontiguousarray(images, np.float32)
    band_atoms(images, cells.y_edges, cells.x_edges, sums, squares, least, largest)
    found = np.empty((n, len(cells.corners), 4, c), np.float32)
    origin = images[:, 0, 0].astype(np.float64)
    for cell, (top, bottom, left, right) in enumerate(cells.corners):
        part = np.s_[:, top:bottom, left:right]
        mean = sums[part].sum(axis=(1, 2)) / cells.sizes[cell]
        variance = squares[part].sum(axis=(1, 2)) / cells.sizes[cell] - mean**2
        found[:, cell, 0] = mean + origin
        found[:, cell, 1] = np.sqrt(np.maximum(variance, 0))
        found[:, cell, 2] = least[part].min(axis=(1, 2))
        found[:, cell, 3] = largest[part].max(axis=(1, 2))
    return found.reshape(n, len(cells.corners), 4 * c)


def learn_band_scale(
    images: Array | ImageSource,
    grids: Grids,
    symmetry: SymmetryName,
    standardize: Standardize | None,
    *,
    engine: Engine,
    stages: Stages,
) -> Scale:
    """The scale of the statistics of all images; for each cell where outputs are scaled so."""
    n, H, W, c = images.shape
    grids = tuple(grids)
    form = "shared" if standardize is None else standardize.form
    columns = 4 * c * (sum(rows * wide for rows, wide in grids) if form == "cell" else 1)
    moments = Moments(columns, diagonal=True)
    blocks = spans(n, max(1, _BYTES_PER_BLOCK // (4 * H * W * c)))
    with stages.stage("band statistics", n) as update:
        for rows, found in zip(blocks, engine.map(_of_rows, blocks, images, grids, symmetry), strict=True):
            moments.update(found.reshape(-1, columns))
            update(rows.stop)
    return Standardize(form, OFFSET).learned(moments, 4 * c)


def _of_rows(rows: slice, images: Array | ImageSource, grids: Grids, symmetry: SymmetryName) -> Array:
    return band_statistics(images[rows], grids, symmetry)


def names_of_bands(channels: int) -> list[str]:
    """What the numbers of a cell are called.

    >>> names_of_bands(2)[:3]
    ['band0_mean', 'band1_mean', 'band0_spread']
    """
    return [f"band{band}_{name}" for name in NAMES for band in range(channels)]
