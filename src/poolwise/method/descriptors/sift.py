"""Dense SIFT (Lowe 2004): histograms of the directions of gradients in 4×4 bins around a position.

    g = (I(x+1) - I(x-1), I(y-1) - I(y+1)),   θ = its angle, shared between the two nearest of 8 directions o
    H_ijo = Σ_uv |g_o(u, v)| k_i(v) k_j(u),   k_i(u) = max(0, 1 - |u/b - (i - 1.5)|) exp(-(u/b)²/8)
    s = H / |H|,   s ← min(s, 0.2),   s ← s / |s|          root:   s ← sqrt(s / Σ s)

I : the mean of the channels, or each    (u, v) : pixels from the position    b : pixels of a bin    i, j : row, column of a bin

A vector is √128 s, so that its numbers have a mean square of 1 as those of patches have, and the same offsets suit. Where the
mean of |g|, weighted as in H, is below `flatness`, it is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from poolwise.method.descriptors.base import WindowDescriptor
from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, Flag, Number, ParameterError, Whole, Wholes, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array

BINS, DIRECTIONS, NUMBERS = 4, 8, 128
_CLIP = 0.2


@dataclass(frozen=True, repr=False)
class Sift(WindowDescriptor):
    """Dense SIFT at every `stride` pixels. Robust to light and small shifts, blind to colour; for texture and shape in images
    of 64 pixels and more. On small images patches of pixels are better, and faster.

    Parameters
    ----------
    bins : int or tuple of int
        Pixels of one of the 4×4 bins; the window is about five times as large. Several sizes stand one behind the other,
        around the same positions.
    stride : int
        Pixels from one position to the next.
    flatness : float
        Vectors whose mean gradient is below it are 0; for pixels in 0..255.
    root : bool
        RootSIFT: the root of the numbers divided by their sum.
    colour : bool
        Each channel by itself instead of their mean: as many times the numbers.

    Examples
    --------
    >>> ramp = np.tile(np.arange(32.0), (32, 1))[None, :, :, None]
    >>> Sift(stride=4)(ramp).shape
    (1, 3, 3, 128)
    """

    words = ("sift",)

    bins: int | tuple[int, ...] = parameter(4, Wholes(), "Pixels of a bin of SIFT, or several: 4,6.", "--sift-bins")
    stride: int = parameter(2, Whole(), "Pixels from one position to the next.")
    flatness: float = parameter(1.0, Number(), "Mean gradient below which SIFT is 0, for pixels in 0..255.")
    root: bool = parameter(True, Flag("--plain-sift"), "RootSIFT.", "--root-sift")
    colour: bool = parameter(False, Flag("--grey-gradients"), "Each channel by itself.", "--colour-gradients")

    @property
    def bin_sizes(self) -> tuple[int, ...]:
        found = Wholes().check("Sift.bins", self.bins)
        return found if isinstance(found, tuple) else (found,)

    @property
    def _reach(self) -> int:
        """Pixels from the position to the edge of its window: the largest bins, and one for the gradient."""
        return reach(max(self.bin_sizes)) + 1

    @property
    def side(self) -> int:
        return 2 * self._reach + 1

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        fitted = self.but(stride=int(self.stride), flatness=float(self.flatness))
        fitted.positions(image_shape[:2])
        return fitted

    def positions(self, image_size: tuple[int, int]) -> tuple[int, int]:
        (H, W), side = image_size, self.side
        if side > min(H, W):
            fitting = [b for b in range(1, 4096) if 2 * (reach(b) + 1) + 1 <= min(H, W)]
            remedy = f"give {{Sift.bins}} of at most {max(fitting)}, or larger images" if fitting else "give larger images"
            raise ParameterError(
                f"images of {H}×{W} pixels are smaller than the window of SIFT, {side}×{side} with bins of "
                f"{max(self.bin_sizes)}; {remedy}",
                **{"Sift.bins": NAME},
            )
        return self.grid(image_size)

    def dimension(self, channels: int) -> int:
        return NUMBERS * len(self.bin_sizes) * (channels if self.colour else 1)

    def _planes(self, images: Array) -> Array:
        """(planes, n, H, W): the mean of the channels, or each."""
        planes = np.moveaxis(images, 3, 0) if self.colour else images.mean(axis=3, dtype=np.float64)[None]
        return planes.astype(np.result_type(images, np.float32))

    def __call__(self, images: Array) -> Array:
        h, w = self.positions(images.shape[1:3])
        planes = self._planes(images)
        dx = planes[..., 1:-1, 2:] - planes[..., 1:-1, :-2]
        dy = planes[..., :-2, 1:-1] - planes[..., 2:, 1:-1]
        size = np.hypot(dx, dy)
        turn = np.arctan2(dy, dx) % (2 * np.pi) * (DIRECTIONS / (2 * np.pi))
        apart = np.abs(turn[..., None] - np.arange(DIRECTIONS))
        maps = size[..., None] * np.maximum(0, 1 - np.minimum(apart, DIRECTIONS - apart))  # (planes, n, H - 2, W - 2, 8)
        found = []
        for b in self.bin_sizes:
            k, far = bin_kernels(b), reach(b)
            first = self._reach - 1 - far
            windows = np.lib.stride_tricks.sliding_window_view(maps, (2 * far + 1, 2 * far + 1), axis=(2, 3))
            windows = windows[:, :, first :: self.stride, first :: self.stride][:, :, :h, :w]
            H = np.einsum("pnhwovu,iv,ju->pnhwijo", windows, k, k, optimize=True).reshape(*windows.shape[:4], NUMBERS)
            flat = H.sum(axis=-1, keepdims=True) < self.flatness * k.sum() ** 2
            s = np.where(flat, 0, H / _or_one(np.linalg.norm(H, axis=-1, keepdims=True)))
            s = np.minimum(s, _CLIP)
            s = s / _or_one(np.linalg.norm(s, axis=-1, keepdims=True))
            if self.root:
                s = np.sqrt(s / _or_one(s.sum(axis=-1, keepdims=True)))
            found += list(math.sqrt(NUMBERS) * s)
        return np.concatenate(found, axis=-1)

    def band(self, image: Array, rows: slice) -> Array:
        from poolwise.kernels.gradients import sift

        top, height = rows.start * self.stride, self.window(rows.stop - rows.start, 1)[0]
        planes = self._planes(np.asarray(image[None, top : top + height], np.float32))[:, 0]
        h, w = rows.stop - rows.start, self.positions((height, image.shape[1]))[1]
        out = np.empty((h, w, NUMBERS * len(self.bin_sizes) * len(planes)), np.float32)
        places = iter(range(0, out.shape[2], NUMBERS))
        for b in self.bin_sizes:
            kernels = bin_kernels(b).astype(np.float32)
            first = self._reach - 1 - reach(b)
            for plane in planes:
                sift(np.ascontiguousarray(plane), kernels, first, self.stride, self.flatness, self.root, out, next(places))
        return out


def reach(b: int) -> int:
    """Pixels from a position that bins of b pixels see on either side.

    >>> reach(4)
    9
    """
    return math.ceil(2.5 * b) - 1


def bin_kernels(b: int) -> Array:
    """(4, 2 · reach + 1) what a pixel counts in each row, or column, of bins."""
    u = np.arange(-reach(b), reach(b) + 1) / b
    centres = np.arange(BINS) - (BINS - 1) / 2
    return np.maximum(0, 1 - np.abs(u - centres[:, None])) * np.exp(-(u**2) / (BINS**2 / 2))


def _or_one(length: Array) -> Array:
    return np.where(length > 0, length, 1)
