"""Images to pooled activations in one pass: what `patches`, `whitening`, `encoding` and `pooling` say, fused.

One image at a time, in tiles of positions: its contrast-normalised patches are the columns of A, one GEMM with the folded
dictionary gives their responses, and these are thresholded and pooled while they are in cache. Images go to threads in
blocks of a fixed size, so memory does not grow with their number and no result depends on how they were split.

images : (n, H, W, c)    X : (n, cells · outputs) pooled activations, cell by cell
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poolwise import kernels
from poolwise.arrays import Array, ImageSource
from poolwise.encoding import FoldedDictionary
from poolwise.engine import Threads, spans
from poolwise.patches import Contrast, position_grid
from poolwise.pooling import Pool, cut_cells

_TILE_POSITIONS = 1024
_BLOCK_BYTES = 1 << 20
_HOW = {"average": kernels.SUM, "sum": kernels.SUM, "rms": kernels.SQUARE, "max": kernels.MAX}


@dataclass(frozen=True)
class Extractor:
    """Everything that turns images into pooled activations.

    Parameters
    ----------
    patch_size : (ph, pw)
    stride : int
    contrast, contrast_offset
        As in `patches.normalize_contrast`.
    dictionary : FoldedDictionary
    pool : "average", "max", "sum" or "rms"
    grids : tuple of (rows, columns)
    """

    patch_size: tuple[int, int]
    stride: int
    contrast: Contrast
    contrast_offset: float
    dictionary: FoldedDictionary
    pool: Pool
    grids: tuple[tuple[int, int], ...]

    @property
    def n_cells(self) -> int:
        return sum(rows * columns for rows, columns in self.grids)

    @property
    def n_features(self) -> int:
        """Length of one row of X."""
        return self.n_cells * self.dictionary.outputs

    def block_size(self, image_shape: tuple[int, int, int]) -> int:
        """Images per block: about a megabyte of pixels and features, whatever the number of images and threads."""
        H, W, c = image_shape
        return max(1, _BLOCK_BYTES // (4 * (H * W * c + 2 * self.n_features)))

    def extract(self, images: Array) -> Array:
        """Pooled activations of one block on the calling thread, (n, H, W, c) to (n, n_features) float32."""
        n, H, W, _ = images.shape
        cells = cut_cells(position_grid((H, W), self.patch_size, self.stride), self.grids)
        D = self.dictionary
        atoms = np.empty((n, len(cells.y_edges) - 1, len(cells.x_edges) - 1, D.outputs), np.float32)
        kernels.extract_block(
            np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32),
            self.patch_size,
            self.stride,
            self.contrast is not None,
            self.contrast == "std",
            float(self.contrast_offset),
            D.centre,
            D.B,
            D.widths,
            D.D,
            D.kind,
            D.two_sided,
            float(D.theta),
            _HOW[self.pool],
            cells.y_edges,
            cells.x_edges,
            _TILE_POSITIONS,
            D.rows,
            atoms,
        )
        out = np.empty((n, self.n_cells, D.outputs), np.float32)
        cells.combine(atoms, self.pool, out)
        return out.reshape(n, -1)

    def extract_into(
        self,
        images: Array | ImageSource,
        engine: Threads,
        take: Callable[[slice, Array], None],
        progress: Callable[[int], None] | None = None,
        then: Callable[[Array], Array] = lambda X: X,
    ) -> None:
        """Call take(rows, then(X[rows])) for every block of images, in order; progress(images done) after each.

        A block is decoded, extracted and passed to `then` on its own thread; `take` runs on the caller's.
        """
        blocks = spans(len(images), self.block_size(images.shape[1:]))
        results = engine.map(lambda rows: then(self.extract(images[rows])), blocks)
        for rows, X in zip(blocks, results, strict=True):
            take(rows, X)
            if progress is not None:
                progress(rows.stop)
