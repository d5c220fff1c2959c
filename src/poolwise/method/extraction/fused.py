"""The fused pass: patches, whitening, encoder and first-order pooling, one tile of positions at a time.

The contrast-normalised patches of a tile are the columns of A, one GEMM with the folded dictionary gives their responses, and
these are activated and pooled while they are in cache.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from poolwise.engine.blas import product_tile
from poolwise.kernels import constants
from poolwise.kernels import extraction as loops
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Folded
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pool
from poolwise.method.pooling.cells import cut_cells
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_POSITIONS_PER_TILE = 1024
_HOW = {"average": constants.SUM, "sum": constants.SUM, "rms": constants.SQUARE, "max": constants.MAX}
_ACTIVATION = {"threshold": constants.THRESHOLD, "triangle": constants.TRIANGLE, "nearest": constants.NEAREST}


@dataclass(frozen=True)
class FusedPass:
    """A layer of patches, an encoder that can be folded, and first-order pooling.

    rows : most positions in one product
    """

    layer: Layer
    patches: loops.Patches
    dictionary: loops.Dictionary
    pool: Pool
    rows: int

    @classmethod
    def of(cls, layer: Layer) -> Self | None:
        """None where a part of the layer has no fused form."""
        folded = layer.encoder.fused(layer.codes, layer.whitening)
        cut, pool = layer.descriptor, layer.pooling
        if folded is None or type(cut) is not Patches or type(pool) is not Pool:  # a subclass may have another formula
            return None
        cut.checked()
        ph, pw = cut.patch_size
        patches = loops.Patches(ph, pw, cut.stride, cut.contrast is not None, cut.contrast == "std", float(cut.offset))
        dictionary, rows = fold_dictionary(layer, folded)
        return cls(layer, patches, dictionary, pool, rows)

    def pooled(self, images: Array) -> Array:
        """(n, H, W, c) to (n, cells, outputs) float32, on the calling thread."""
        n, H, W, _ = images.shape
        cells = cut_cells(self.layer.descriptor.positions((H, W)), self.pool.grids)
        atoms = np.empty((n, len(cells.y_edges) - 1, len(cells.x_edges) - 1, self.layer.n_outputs), np.float32)
        loops.extract_block(
            np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32),
            self.patches,
            self.dictionary,
            loops.Atoms(cells.y_edges, cells.x_edges, _HOW[self.pool.how]),
            loops.Tiling(_POSITIONS_PER_TILE, self.rows),
            atoms,
        )
        return self.pool.finish(atoms, cells)


def fold_dictionary(layer: Layer, folded: Folded) -> tuple[loops.Dictionary, int]:
    """The folded dictionary in tiles whose responses fit in cache, and how many positions one product takes."""
    rows, columns = product_tile(layer.codes.shape[1] + 1)
    B = np.vstack([folded.F.T, folded.b]).astype(np.float32)
    tiles = [np.ascontiguousarray(B[:, part]) for part in spans(B.shape[1], B.shape[1] if folded.together else columns)]
    dictionary = loops.Dictionary(
        layer.whitening.centre,
        np.concatenate([tile.ravel() for tile in tiles]),
        np.array([tile.shape[1] for tile in tiles]),
        np.ascontiguousarray(layer.codes, np.float32),
        _ACTIVATION[folded.activation],
        layer.encoder.sides == 2,
        float(folded.theta),
    )
    return dictionary, rows
