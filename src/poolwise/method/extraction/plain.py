"""The plain pass: a layer's parts called one after the other, for encoders, descriptors and poolings without a fused form.

An image at a time, and of that as many rows of positions as take a few megabytes.
"""

from dataclasses import dataclass

import numpy as np

from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.pooling.cells import cut_cells
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_BYTES_OF_ACTIVATIONS = 8 << 20
_BYTES_OF_VECTORS = 8 << 20


@dataclass(frozen=True)
class PlainPass(Pass):
    """Any layer."""

    layer: Layer

    def statistics(self, images: Array) -> Array:
        layer = self.layer
        cells = cut_cells(layer.descriptor.positions(images.shape[1:3]), layer.pooling.grids)
        encode = layer.encoder.prepared(np.ascontiguousarray(layer.codes, np.float32))
        accumulators = []
        h, w = layer.descriptor.positions(images.shape[1:3])
        d, outputs = len(layer.whitening.W), layer.n_outputs
        at_once = max(1, min(_BYTES_OF_ACTIVATIONS // (4 * w * outputs), _BYTES_OF_VECTORS // (4 * w * d)))
        for image in images:
            pixels, into = np.asarray(image, np.float32), layer.pooling.start(cells, outputs)
            for rows in spans(h, at_once):
                P = layer.whitening(layer.descriptor.band(pixels, rows).reshape(-1, d).astype(np.float32))
                F = encode(P)
                layer.pooling.add(F.reshape(-1, w, outputs), rows.start, cells, into)
            accumulators.append(into)
        return layer.pooling.combine(np.stack(accumulators), cells)
