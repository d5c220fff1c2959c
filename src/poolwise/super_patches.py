"""Pooled samples from anywhere in the images: random super-patches of the size of a pooling region (stage 7 of the method).

The cells of a grid are a few fixed places. A super-patch is a window as large as one of the cells, at a uniformly random
position of a random image, pooled whole: what the code answers there is one sample x.

images : (n, H, W, c)    X : (samples, outputs) pooled activations
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poolwise.arrays import Array, ImageSource
from poolwise.engine import Threads, spans
from poolwise.extraction import Extractor
from poolwise.patches import position_grid
from poolwise.pooling import cut_cells

_DECODED_BYTES = 1 << 20


def extract_super_patches(
    extractor: Extractor,
    images: Array | ImageSource,
    n_samples: int,
    rng: np.random.Generator,
    engine: Threads,
    take: Callable[[Array], None],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Call take(X) with blocks of pooled super-patches, `n_samples` in all; progress(samples done) after each.

    Each has the size of a cell drawn uniformly from the extractor's, and stands in a uniform image at a uniform position, both
    ends included. Images are read from first to last, once for each size that cells have.
    """
    n, H, W, _ = images.shape
    cells = cut_cells(position_grid((H, W), extractor.patch_size, extractor.stride), extractor.grids)
    whole = replace(extractor, grids=((1, 1),))
    drawn = rng.integers(len(cells.sizes), size=n_samples)
    image, u, v = rng.integers(n, size=n_samples), rng.random(n_samples), rng.random(n_samples)
    sizes = np.array([_pixels(extractor, cells.y_edges[[a, b]], cells.x_edges[[c, d]]) for a, b, c, d in cells.corners])
    done = 0
    for height, width in np.unique(sizes, axis=0):
        members = np.flatnonzero((sizes[drawn] == (height, width)).all(axis=1))
        members = members[np.argsort(image[members], kind="stable")]
        y = np.floor(u[members] * (H - height + 1)).astype(np.int64)
        x = np.floor(v[members] * (W - width + 1)).astype(np.int64)
        size = int(height), int(width)
        blocks = spans(len(members), whole.block_size((*size, images.shape[3])))

        def extract(part: tuple[slice, Array, Array], size: tuple[int, int] = size, y: Array = y, x: Array = x) -> Array:
            rows, pixels, place = part
            windows = sliding_window_view(pixels, size, axis=(1, 2))
            return whole.extract(np.moveaxis(windows[place, y[rows], x[rows]], 1, 3))

        for X in engine.map(extract, _pixels_of(images, image[members], blocks, engine)):
            take(X)
            done += len(X)
            if progress is not None:
                progress(done)


def _pixels_of(
    images: Array | ImageSource, which: Array, blocks: list[slice], engine: Threads
) -> Iterator[tuple[slice, Array, Array]]:
    """Each block of samples with an array that has its images, and their rows there; each image is decoded once, ahead.

    which : (samples,) the image of each, ascending
    """
    if not isinstance(images, ImageSource):
        yield from ((rows, images, which[rows]) for rows in blocks)
        return
    drawn, place = np.unique(which, return_inverse=True)
    at_once = max(1, _DECODED_BYTES // (int(np.prod(images.shape[1:])) * images.dtype.itemsize))
    ahead = engine.map(lambda part: images[drawn[part]], spans(len(drawn), at_once))
    first, pixels = 0, np.empty((0, *images.shape[1:]), images.dtype)
    for rows in blocks:
        low, high = place[rows.start], place[rows.stop - 1] + 1
        parts = [pixels[low - first :]]
        while low + sum(map(len, parts)) < high:
            parts.append(next(ahead))
        first, pixels = low, np.concatenate(parts)
        yield rows, pixels, place[rows] - first


def _pixels(extractor: Extractor, rows: Array, columns: Array) -> tuple[int, int]:
    """Height and width in pixels of a cell that covers these patch positions."""
    (ph, pw), stride = extractor.patch_size, extractor.stride
    return int((rows[1] - rows[0] - 1) * stride + ph), int((columns[1] - columns[0] - 1) * stride + pw)
