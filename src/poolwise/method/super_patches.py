"""Pooled samples from anywhere in the images: random super-patches of the size of a pooling region (stage 7 of the method).

The cells of a grid are a few fixed places. A super-patch is a window as large as one of the cells, at a uniformly random
position of a random image, pooled whole: the codes' responses there are one sample x.

images : (n, H, W, c)    X : (samples, outputs) pooled activations
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poolwise.engine import Engine
from poolwise.method.extraction import block_size, prepare
from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.pooling.cells import cut_cells
from poolwise.support.blocks import spans
from poolwise.support.types import Array, ImageSource

_DECODED_BYTES_AT_ONCE = 1 << 20


def super_patch_blocks(
    layer: Layer, images: Array | ImageSource, n_samples: int, *, rng: np.random.Generator, engine: Engine
) -> Iterator[Array]:
    """Blocks of pooled super-patches, (samples, outputs) each, `n_samples` in all.

    Each has the size of a cell drawn uniformly from the layer's, and lies in a uniform image at a uniform position, both ends
    included. Images are read from first to last, once for each size that cells have.
    """
    n, H, W, c = images.shape
    cells = cut_cells(layer.positions, layer.pooling.grids)
    whole = prepare(replace(layer, pooling=layer.pooling.first_order().but(grid=1)))
    drawn = rng.integers(len(cells.sizes), size=n_samples)
    image, u, v = rng.integers(n, size=n_samples), rng.random(n_samples), rng.random(n_samples)
    heights, widths = np.diff(cells.y_edges[cells.corners[:, :2]])[:, 0], np.diff(cells.x_edges[cells.corners[:, 2:]])[:, 0]
    sizes = np.array([layer.descriptor.window(int(rows), int(columns)) for rows, columns in zip(heights, widths, strict=True)])
    for height, width in np.unique(sizes, axis=0):
        members = np.flatnonzero((sizes[drawn] == (height, width)).all(axis=1))
        members = members[np.argsort(image[members], kind="stable")]
        y = np.floor(u[members] * (H - height + 1)).astype(np.int64)
        x = np.floor(v[members] * (W - width + 1)).astype(np.int64)
        size = int(height), int(width)
        blocks = spans(len(members), block_size(whole.layer, (*size, c)))
        if engine.shares_memory:
            yield from engine.map(_pooled, _pixels_of(images, image[members], blocks, engine), whole, size, y, x)
        else:
            yield from engine.map(_read_and_pooled, blocks, images, image[members], whole, size, y, x)


def _pooled(part: tuple[slice, Array, Array], whole: Pass, size: tuple[int, int], y: Array, x: Array) -> Array:
    rows, pixels, place = part
    windows = sliding_window_view(pixels, size, axis=(1, 2))
    return whole.pooled(np.moveaxis(windows[place, y[rows], x[rows]], 1, 3))[:, 0]


def _read_and_pooled(
    rows: slice,
    images: Array | ImageSource,
    which: Array,
    whole: Pass,
    size: tuple[int, int],
    y: Array,
    x: Array,
) -> Array:
    """The same for one block, whose images nobody else has read."""
    drawn, place = np.unique(which[rows], return_inverse=True)
    return _pooled((rows, images[drawn], place), whole, size, y, x)


def _pixels_of(
    images: Array | ImageSource, which: Array, blocks: list[slice], engine: Engine
) -> Iterator[tuple[slice, Array, Array]]:
    """Each block of samples with an array that has its images, and their rows there; each image is decoded once, ahead.

    which : (samples,) the image of each, ascending
    """
    if not isinstance(images, ImageSource):
        yield from ((rows, images, which[rows]) for rows in blocks)
        return
    drawn, place = np.unique(which, return_inverse=True)
    at_once = max(1, _DECODED_BYTES_AT_ONCE // (int(np.prod(images.shape[1:])) * images.dtype.itemsize))
    ahead = engine.map(images.__getitem__, [drawn[part] for part in spans(len(drawn), at_once)])
    first, pixels = 0, np.empty((0, *images.shape[1:]), images.dtype)
    for rows in blocks:
        low, high = place[rows.start], place[rows.stop - 1] + 1
        parts = [pixels[low - first :]]
        while low + sum(map(len, parts)) < high:
            parts.append(next(ahead))
        first, pixels = low, np.concatenate(parts)
        yield rows, pixels, place[rows] - first
