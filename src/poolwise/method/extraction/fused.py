"""The fused pass: patches, whitening, encoder and pooling, one tile of positions at a time.

The contrast-normalised patches of a tile are the columns of A, one GEMM with the folded dictionary gives their responses, and
these are activated and pooled while they are in cache.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from poolwise.engine.blas import product_tile, square_rows
from poolwise.kernels import constants
from poolwise.kernels import extraction as loops
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Folded
from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.pooling import BothOrders, Pool, Pooling, SecondOrder
from poolwise.method.pooling.cells import cut_cells
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_POSITIONS_PER_TILE = 1024
_ALL = np.empty((0, 0, 0), np.bool_)
_HOW = {
    "average": constants.SUM,
    "sum": constants.SUM,
    "rms": constants.SQUARE,
    "max": constants.MAX,
    "both": constants.BOTH,
}
_POOLINGS = (Pool, SecondOrder, BothOrders)
_ACTIVATION = {"threshold": constants.THRESHOLD, "triangle": constants.TRIANGLE, "nearest": constants.NEAREST}


@dataclass(frozen=True)
class FusedPass(Pass):
    """A layer of patches, an encoder that can be folded, and pooling of first or second order or of both.

    rows : most positions in one product
    """

    layer: Layer
    patches: loops.Patches
    dictionary: loops.Dictionary
    rows: int

    @classmethod
    def of(cls, layer: Layer) -> Self | None:
        """None where a part of the layer has no fused form."""
        folded, cut = layer.encoder.fused(layer.codes, layer.whitening.inner), layer.descriptor
        if folded is None or type(cut) is not Patches or type(layer.pooling) not in _POOLINGS:  # nor a subclass
            return None
        cut.checked()
        ph, pw = cut.patch_size
        patches = loops.Patches(ph, pw, cut.stride, cut.contrast is not None, cut.contrast == "std", float(cut.offset))
        dictionary, rows = fold_dictionary(layer, folded)
        return cls(layer, patches, dictionary, rows)

    def statistics(self, images: Array, has_data: Array | None = None) -> Array:
        n, H, W, _ = images.shape
        pooling, outputs = self.layer.pooling, self.layer.n_outputs
        cells = cut_cells(self.layer.descriptor.positions((H, W)), pooling.grids)
        alone, paired = _pooled_alone(pooling), pooling.multiplied(outputs)
        shape = n, len(cells.y_edges) - 1, len(cells.x_edges) - 1
        atoms = np.empty((*shape, 0 if alone is None else alone.width(outputs)), np.float32)
        moments = np.empty((*shape, paired * paired), np.float32)
        loops.extract_block(
            np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32),
            self.patches,
            self.dictionary,
            loops.Atoms(cells.y_edges, cells.x_edges, constants.NONE if alone is None else _HOW[alone.how], paired),
            loops.Tiling(_POSITIONS_PER_TILE, self.rows, square_rows(max(paired, 1))),
            _ALL if has_data is None else has_data,
            atoms,
            moments,
        )
        parts = [part for part in (atoms, moments) if part.shape[3]]
        return self._combined(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=3), cells, has_data)


def _pooled_alone(pooling: Pooling) -> Pool | None:
    """How every output is pooled by itself, if it is."""
    if isinstance(pooling, BothOrders):
        return pooling.first_order()
    return pooling if isinstance(pooling, Pool) else None


def fold_dictionary(layer: Layer, folded: Folded) -> tuple[loops.Dictionary, int]:
    """The folded dictionary in tiles whose responses fit in cache, and how many positions one product takes."""
    rows, columns = product_tile(layer.codes.shape[1] + 1)
    B = np.vstack([folded.F.T, folded.b]).astype(np.float32)
    tiles = [np.ascontiguousarray(B[:, part]) for part in spans(B.shape[1], B.shape[1] if folded.together else columns)]
    dictionary = loops.Dictionary(
        layer.whitening.centre,
        layer.whitening.reduction,
        np.concatenate([tile.ravel() for tile in tiles]),
        np.array([tile.shape[1] for tile in tiles]),
        np.ascontiguousarray(layer.codes, np.float32),
        _ACTIVATION[folded.activation],
        np.array(folded.signs, np.float32),
        np.array(folded.thetas, np.float32),
    )
    return dictionary, rows
