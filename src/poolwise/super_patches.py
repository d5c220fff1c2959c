"""Pooled samples from anywhere in the images: random super-patches of the size of a pooling region (stage 7 of the method).

The cells of a grid are a few fixed places. A super-patch is a window as large as one of the cells, at a uniformly random
position of a random image, pooled whole: what the code answers there is one sample x.

images : (n, H, W, c)    X : (samples, outputs) pooled activations
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.extraction import Extractor
from poolwise.patches import position_grid
from poolwise.pooling import cut_cells


def extract_super_patches(
    extractor: Extractor,
    images: Array,
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
        windows = sliding_window_view(images, (height, width), axis=(1, 2))
        which = image[members]

        def extract(rows: slice, windows: Array = windows, which: Array = which, y: Array = y, x: Array = x) -> Array:
            return whole.extract(np.moveaxis(windows[which[rows], y[rows], x[rows]], 1, 3))

        for X in engine.map(extract, spans(len(members), whole.block_size((int(height), int(width), images.shape[3])))):
            take(X)
            done += len(X)
            if progress is not None:
                progress(done)


def _pixels(extractor: Extractor, rows: Array, columns: Array) -> tuple[int, int]:
    """Height and width in pixels of a cell that covers these patch positions."""
    (ph, pw), stride = extractor.patch_size, extractor.stride
    return int((rows[1] - rows[0] - 1) * stride + ph), int((columns[1] - columns[0] - 1) * stride + pw)
