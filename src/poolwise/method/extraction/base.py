"""What every pass offers: pooled statistics of images, averaged over the layer's symmetry and then normalised."""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from poolwise.method.layer import Layer
from poolwise.method.nodata import filled, mean_with_data, nan_pixels
from poolwise.method.pooling.cells import Cells, cut_cells
from poolwise.method.symmetry import N_COPIES, copies
from poolwise.support.types import Array


class Pass(ABC):
    """A layer, ready to be computed."""

    layer: Layer

    @abstractmethod
    def statistics(self, images: Array, has_data: Array | None = None) -> Array:
        """(n, H, W, c) to (n, cells, ...) float32, as `Pooling.combine` gives them, on the calling thread.

        has_data : (n, h, w) the positions that are pooled, None for all; what a cell without any gets has no meaning
        """

    def pooled(self, images: Array) -> Array:
        """(n, H, W, c) to (n, cells, width) float32, on the calling thread; NaN in cells where every patch touches a NaN."""
        missing = nan_pixels(images)
        if missing is not None:
            return self._pooled_around(images, missing)
        views = copies(images, self.layer.symmetry)
        total = self.statistics(next(views))
        for view in views:
            total += self.statistics(view)
        if self.layer.symmetry is not None:
            total /= N_COPIES[self.layer.symmetry]
        return self.layer.pooling.normalized(total)

    def _pooled_around(self, images: Array, missing: Array) -> Array:
        """The same where some images have pixels without data; the others take the way of all."""
        layer, some = self.layer, missing.any(axis=(1, 2))
        found = np.empty((len(images), layer.n_cells, layer.pooling.width(layer.n_outputs)), np.float32)
        if not some.all():
            found[~some] = self.pooled(images[~some])
        views = []
        turned = copies(missing[some, :, :, None], layer.symmetry)
        for view, gone in zip(copies(filled(images[some], missing[some]), layer.symmetry), turned, strict=True):
            has_data = layer.descriptor.with_data(gone[..., 0])
            statistics = self.statistics(view, has_data)
            cells = cut_cells(has_data.shape[1:], layer.pooling.grids)
            statistics[np.stack([cells.counts(one) for one in has_data]) == 0] = np.nan
            views.append(statistics)
        x, n_views = mean_with_data(views)
        pooled = layer.pooling.normalized(x)
        pooled[n_views == 0] = np.nan
        found[some] = pooled
        return found

    def _combined(self, accumulators: Array, cells: Cells, has_data: Array | None) -> Array:
        """Statistics of accumulated images; averages are over the positions that have data."""
        pooling = self.layer.pooling
        if has_data is None:
            return pooling.combine(accumulators, cells)
        sizes = [np.maximum(cells.counts(one), 1) for one in has_data]
        parts = [pooling.combine(one[None], replace(cells, sizes=n)) for one, n in zip(accumulators, sizes, strict=True)]
        return np.concatenate(parts)
