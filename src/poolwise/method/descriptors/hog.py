"""Dense HOG (Dalal and Triggs 2005): histograms of the directions of gradients in cells, normalised together in blocks.

    g = (I(x+1) - I(x-1), I(y+1) - I(y-1)) of the channel where it is longest,   θ = its angle modulo 180°, in one of 9 bins o
    H_co = (1/n) Σ |g| over the n pixels of cell c whose θ is in bin o
    v = (H_co of all cells of the block),   v ← v / sqrt(|v|² + ε²),   v ← min(v, 0.2),   v ← v / sqrt(|v|² + ε²)

A vector is √d v, so that its numbers have a mean square of 1 as those of patches have, and the same offsets suit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from poolwise.method.descriptors.base import WindowDescriptor
from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, ParameterError, Whole, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array

_EPSILON, _CLIP = 1e-5, 0.2


@dataclass(frozen=True, repr=False)
class Hog(WindowDescriptor):
    """Dense HOG: a block of cells at every `stride` pixels. Short vectors of outlines; cheaper and coarser than `Sift`.

    Parameters
    ----------
    cell : int
        Pixels of a side of a cell.
    block : int
        Cells of a side of a block, which are normalised together: d = block² · orientations.
    orientations : int
        Bins of 180°.
    stride : int
        Pixels from one block to the next.

    Examples
    --------
    >>> ramp = np.tile(np.arange(32.0), (32, 1))[None, :, :, None]
    >>> Hog()(ramp).shape
    (1, 12, 12, 36)
    """

    words = ("hog",)

    cell: int = parameter(4, Whole(), "Pixels of a side of a cell of HOG.", "--hog-cell")
    block: int = parameter(2, Whole(), "Cells of a side of a block.", "--hog-block")
    orientations: int = parameter(9, Whole(2), "Directions of gradients, in 180°.")
    stride: int = parameter(2, Whole(), "Pixels from one position to the next.")

    @property
    def side(self) -> int:
        return self.block * self.cell + 2  # the gradient of the outermost pixels needs their neighbours

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        fitted = self.but(**{name: int(getattr(self, name)) for name in self.described()})
        fitted.positions(image_shape[:2])
        return fitted

    def positions(self, image_size: tuple[int, int]) -> tuple[int, int]:
        (H, W), side = image_size, self.side
        if side > min(H, W):
            most = (min(H, W) - 2) // self.block
            remedy = f"give {{Hog.cell}} of at most {most}" if most > 0 else "give a smaller {Hog.block}"
            raise ParameterError(
                f"images of {H}×{W} pixels are smaller than a block of HOG with its border, {side}×{side}; {remedy}, or larger "
                f"images",
                **{"Hog.cell": NAME, "Hog.block": NAME},
            )
        return self.grid(image_size)

    def dimension(self, channels: int) -> int:
        return self.block**2 * self.orientations

    def __call__(self, images: Array) -> Array:
        (h, w), n = self.positions(images.shape[1:3]), len(images)
        pixels = images.astype(np.result_type(images, np.float32))
        dx = pixels[:, 1:-1, 2:] - pixels[:, 1:-1, :-2]
        dy = pixels[:, 2:, 1:-1] - pixels[:, :-2, 1:-1]
        longest = np.hypot(dx, dy).argmax(axis=3, keepdims=True)
        dx, dy = (np.take_along_axis(one, longest, axis=3)[..., 0] for one in (dx, dy))
        angle = np.rad2deg(np.arctan2(dy, dx)) % 180
        which = np.minimum(np.floor(angle / (180 / self.orientations)), self.orientations - 1)
        maps = np.hypot(dx, dy)[..., None] * (which[..., None] == np.arange(self.orientations))
        sums = np.lib.stride_tricks.sliding_window_view(maps, (self.cell, self.cell), axis=(1, 2)).mean(axis=(4, 5))
        blocks = []
        for i in range(self.block):
            for j in range(self.block):
                cells = sums[:, i * self.cell :: self.stride, j * self.cell :: self.stride]
                blocks.append(cells[:, :h, :w])
        v = np.stack(blocks, axis=3).reshape(n, h, w, -1)
        v = np.minimum(v / np.sqrt((v**2).sum(axis=3, keepdims=True) + _EPSILON**2), _CLIP)
        return math.sqrt(v.shape[3]) * v / np.sqrt((v**2).sum(axis=3, keepdims=True) + _EPSILON**2)

    def band(self, image: Array, rows: slice) -> Array:
        from poolwise.kernels.gradients import hog

        top, height = rows.start * self.stride, self.window(rows.stop - rows.start, 1)[0]
        pixels = np.ascontiguousarray(image[top : top + height], np.float32)
        h, w = rows.stop - rows.start, self.positions((height, image.shape[1]))[1]
        out = np.empty((h, w, self.block**2 * self.orientations), np.float32)
        hog(pixels, self.cell, self.block, self.orientations, self.stride, _EPSILON, out)
        return out
