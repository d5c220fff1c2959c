"""What a fit learns: a layer. `Layer.features` is the method, to be read next to the paper; `extraction` computes it fast.

    images ─ descriptor ─ whitening ─ codes ─ encoder ─ pooling ─ scale ─ projection ─▶ features

A layer's parts own their parameters. Whatever leaves the estimator (the model file, the report, the commands) takes the layer.

K : codes    outputs : activations per position, sides · K    width : numbers per cell    d : numbers in a local vector
"""

from dataclasses import dataclass, replace

import numpy as np

from poolwise.method.band_statistics import names_of_bands, statistics_of
from poolwise.method.descriptors import Descriptor
from poolwise.method.encoders import Encoder
from poolwise.method.nodata import filled, mean_with_data
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import Pooling
from poolwise.method.scale import Scale
from poolwise.method.symmetry import N_COPIES, SymmetryName, copies
from poolwise.method.whitening import Whitening
from poolwise.support.types import Array


@dataclass(frozen=True, eq=False)
class Layer:
    """Images of one shape to features.

    image_shape : (H, W, c)    codes : (K, r) float32, r = d without a rank
    projection : None for the outputs as they are    symmetry : copies of an image whose pooled statistics are averaged
    statistics : the scale of band statistics, which follow the codes' numbers; None without them
    pictures : (K, height, width, 3) uint8, a window that excites each code, where codes are no pictures themselves
    """

    image_shape: tuple[int, int, int]
    descriptor: Descriptor
    whitening: Whitening
    codes: Array
    encoder: Encoder
    pooling: Pooling
    scale: Scale
    projection: Projection | None = None
    symmetry: SymmetryName = None
    pictures: Array | None = None
    statistics: Scale | None = None

    @property
    def positions(self) -> tuple[int, int]:
        """(h, w) positions of an image."""
        return self.descriptor.positions(self.image_shape[:2])

    @property
    def n_outputs(self) -> int:
        """Activations per position."""
        return self.encoder.sides * len(self.codes)

    @property
    def n_cells(self) -> int:
        return self.pooling.n_cells

    @property
    def n_features(self) -> int:
        """Numbers per image."""
        return self.n_code_features + self.n_band_features

    @property
    def n_code_features(self) -> int:
        """Numbers per image that codes respond."""
        width = self.pooling.width(self.n_outputs)
        return self.n_cells * (width if self.projection is None else len(self.projection.T))

    @property
    def n_band_features(self) -> int:
        """Numbers per image that are statistics of its bands."""
        return 0 if self.statistics is None else self.n_cells * self.statistics.mean.shape[-1]

    @property
    def projects_all_codes(self) -> bool:
        """Whether nothing was selected, and all candidates' outputs are projected (eq. 11)."""
        return self.projection is not None and self.projection.kind == "pca"

    def sized(self, K: int) -> "Layer":
        """The same layer with K codes, or K features a cell for "pca". For sizes and cost alone: all zeros, without memory."""
        rows, outputs = self.encoder.sides * K, self.encoder.sides * K
        projection = self.projection
        if projection is None or projection.kind == "direction":
            kept, columns = self.pooling.directions_kept(outputs), self.pooling.width(outputs)
            projection = None if kept is None else Projection("direction", _zeros(kept, columns))
        else:
            outputs = rows * projection.T.shape[1] // len(projection.T)
            projection = Projection(projection.kind, _zeros(rows, outputs))
        codes = _zeros(outputs // self.encoder.sides, self.codes.shape[1])
        return replace(self, codes=codes, pooling=self.pooling.of_codes(len(codes)), projection=projection, pictures=None)

    @property
    def names(self) -> list[str]:
        """Of each feature, in their order: cell by cell, then statistics of bands cell by cell."""
        if self.projection is not None:
            outputs = [f"{self.projection.kind}{k}" for k in range(len(self.projection.T))]
        else:
            outputs = self.pooling.names([f"code{k}{side}" for side in self.encoder.side_names for k in range(len(self.codes))])
        bands = names_of_bands(self.image_shape[2]) if self.statistics is not None else []
        return [
            f"pool{rows}x{columns}_r{i}c{j}_{number}"
            for numbers in (outputs, bands)
            for rows, columns in self.pooling.grids
            for i in range(rows)
            for j in range(columns)
            for number in numbers
        ]

    @property
    def multiply_adds(self) -> dict[str, int]:
        """Multiplications with an addition per image, by stage."""
        (h, w), (K, r), d = self.positions, self.codes.shape, len(self.whitening.W)
        positions = N_COPIES[self.symmetry] * h * w
        projected = 0 if self.projection is None else self.n_cells * self.projection.T.size
        return {
            "encoding": positions * (d * r * self.whitening.is_reduced + r * K),
            "pooling": positions * self.pooling.products(self.n_outputs),
            "projection": projected,
        }

    def activations(self, P: Array) -> Array:
        """Local vectors as the descriptor gives them to activations, (n, d) to (n, outputs): stages 3 and 5."""
        return self.encoder(self.whitening(P), self.codes)

    def features(self, images: Array) -> Array:
        """The method, in float64 and without a trick: (n, H, W, c) to (n, n_features). Memory grows with n.

        Patches that touch a pixel without data, NaN, are left out: cells pool the others.
        """
        views = list(copies(np.asarray(images, np.float64), self.symmetry))
        x, n_views = mean_with_data([self._statistics(view) for view in views])
        x = self.pooling.normalized(x)  # (n, cells, width)
        x = (x - self.scale.mean) / self.scale.spread
        x[n_views == 0] = 0  # a cell without data has the mean of all
        if self.projection is not None:
            x = x @ self.projection.T.T  # ΛV x in every cell
        x = x.reshape(len(x), -1)
        if self.statistics is None:
            return x
        s, n_views = mean_with_data([statistics_of(view, self.pooling.grids) for view in views])
        s = (s - self.statistics.mean) / self.statistics.spread
        s[n_views == 0] = 0
        return np.hstack([x, s.reshape(len(x), -1)])

    def _statistics(self, images: Array) -> Array:
        missing = np.asarray(np.isnan(images).any(axis=3))  # pixels without data
        has_data = self.descriptor.with_data(missing) if missing.any() else np.ones((len(images), *self.positions), np.bool_)
        P = self.descriptor(filled(images, missing))  # (n, h, w, d) patches, contrast-normalised
        n, h, w, d = P.shape
        P = self.whitening(P.reshape(-1, d))  # Wᵀ (p - m)
        F = self.encoder(P, self.codes.astype(np.float64))  # (n · h · w, outputs) activations
        return np.stack([self.pooling.statistics_of(*one) for one in zip(F.reshape(n, h, w, -1), has_data, strict=True)])

    def has_data(self, images: Array) -> Array:
        """(n,) whether an image has any patch without a pixel that is NaN, as it is or turned."""
        missing = np.isnan(images[..., :1])
        turned = [self.descriptor.with_data(view[..., 0]).any(axis=(1, 2)) for view in copies(missing, self.symmetry)]
        found: Array = np.any(turned, axis=0)
        return found

    def outputs_of(self, codes: Array) -> Array:
        """Indices of the outputs of some codes: side by side."""
        return np.concatenate([codes + side * len(self.codes) for side in range(self.encoder.sides)])

    def keep(self, selected: Array, projection: Projection | None) -> "Layer":
        """The layer of some of its codes. Of a coupled encoder the scale has to be learned anew."""
        scale = self.scale.keep(self.outputs_of(selected))
        pictures = None if self.pictures is None else self.pictures[selected]
        return replace(self, codes=self.codes[selected], scale=scale, projection=projection, pictures=pictures)


def _zeros(rows: int, columns: int) -> Array:
    return np.broadcast_to(np.float32(0), (rows, columns))
