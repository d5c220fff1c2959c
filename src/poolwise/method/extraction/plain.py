"""The plain pass: a layer's parts called one after the other, for encoders, descriptors and poolings without a fused form.

An image at a time, and of that as many rows of positions as take a few megabytes.
"""

from dataclasses import dataclass, replace

import numpy as np

from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.pooling.cells import Cells, cut_cells
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_BYTES_OF_ACTIVATIONS = 8 << 20
_BYTES_OF_VECTORS = 8 << 20


@dataclass(frozen=True)
class PlainPass(Pass):
    """Any layer."""

    layer: Layer

    def statistics(self, images: Array, has_data: Array | None = None) -> Array:
        layer = self.layer
        cells = cut_cells(layer.descriptor.positions(images.shape[1:3]), layer.pooling.grids)
        encode = layer.encoder.prepared(np.ascontiguousarray(layer.codes, np.float32))
        accumulators = []
        h, w = layer.descriptor.positions(images.shape[1:3])
        d, outputs = len(layer.whitening.W), layer.n_outputs
        at_once = max(1, min(_BYTES_OF_ACTIVATIONS // (4 * w * outputs), _BYTES_OF_VECTORS // (4 * w * d)))
        for number, image in enumerate(images):
            pixels, into = np.asarray(image, np.float32), layer.pooling.start(cells, outputs)
            for rows in spans(h, at_once):
                P = layer.descriptor.band(pixels, rows).reshape(-1, d).astype(np.float32)
                if has_data is None:
                    layer.pooling.add(encode(layer.whitening(P)).reshape(-1, w, outputs), rows.start, cells, into)
                    continue
                places = np.flatnonzero(has_data[number, rows])
                if len(places):
                    F = encode(layer.whitening(P[places]))
                    self._add_some(F, places // w + rows.start, places % w, cells, into)
            accumulators.append(into)
        return self._combined(np.stack(accumulators), cells, has_data)

    def _add_some(self, F: Array, y: Array, x: Array, cells: Cells, into: Array) -> None:
        """Take in activations (n, outputs) at positions (y, x): those of an atom are pooled as one row."""
        row, column = (np.searchsorted(edges, at, "right") - 1 for edges, at in ((cells.y_edges, y), (cells.x_edges, x)))
        for i, j in {*zip(row.tolist(), column.tolist(), strict=True)}:
            f = F[(row == i) & (column == j)][None]
            strip = replace(cells, y_edges=np.array([0, 1]), x_edges=np.array([0, f.shape[1]]))
            self.layer.pooling.add(f, 0, strip, into[i : i + 1, j : j + 1])
