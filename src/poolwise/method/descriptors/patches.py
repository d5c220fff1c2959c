"""Patches of pixels with their contrast normalised (stages 1 and 2 of the method).

    p ← (p - mean(p)) / (std(p) + ε)          contrast="std"       population std       (jia2012, ε = 10)
    p ← (p - mean(p)) / sqrt(var(p) + ε)      contrast="variance"  var with n - 1       (coates2011, ε = 10)

images : (n, H, W, c)    p : (d,) with d = ph · pw · c, in row, column, channel order    patches : (N, d)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from poolwise.kernels.constants import CONSTANT
from poolwise.method.descriptors.base import Descriptor
from poolwise.method.descriptors.sampling import sample_windows
from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, Choice, Number, ParameterError, Size, Whole, parameter

if TYPE_CHECKING:
    from poolwise.engine import Engine, Held
    from poolwise.support.types import Array, ImageSource

Contrast = Literal["std", "variance"] | None

_PATCHES_PER_BLOCK = 16384


@dataclass(frozen=True, repr=False)
class Patches(Descriptor):
    """Patches of pixels, their contrast normalised over all pixels and channels together.

    Parameters
    ----------
    size : int or (height, width)
    stride : int
        Pixels from one patch to the next.
    contrast : {"std", "variance", None}
        What a patch is divided by: std + offset, or sqrt(var + offset).
    offset : float
        For pixels in 0..255.
    """

    words = ("patches",)

    size: int | tuple[int, int] = parameter(6, Size(), "Pixels of a patch: 6, or height x width as 6x8.", "--patch-size")
    stride: int = parameter(1, Whole(), "Pixels from one patch to the next.")
    contrast: Contrast = parameter("std", Choice(("std", "variance", None)), "What a patch is divided by.")
    offset: float = parameter(10.0, Number(), "Added to that, for pixels in 0..255.", "--contrast-offset")

    @property
    def patch_size(self) -> tuple[int, int]:
        """(height, width)."""
        return Size().check("Patches.size", self.size)

    @property
    def pixel_offset(self) -> float:
        return 0.0 if self.contrast is None else float(self.offset)

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        H, W, c = image_shape
        ph, pw = (1, min(self.patch_size[1], W)) if clip else self.patch_size
        if ph * pw * c == 1 and self.contrast is not None:
            raise ParameterError(
                f"a patch of a single number has no contrast; images are {H}×{W} (n_features = {H * W * c}) and the patch is "
                f"1×1. Give larger images, a larger {{Patches.size}}, or {{Patches.contrast}}",
                **{"Patches.size": NAME, "Patches.contrast": None},
            )
        fitted = self.but(size=(ph, pw), stride=int(self.stride), offset=float(self.offset))
        fitted.positions((H, W))
        return fitted

    def positions(self, image_size: tuple[int, int]) -> tuple[int, int]:
        return position_grid(image_size, self.patch_size, self.stride)

    def dimension(self, channels: int) -> int:
        return math.prod(self.patch_size) * channels

    def window(self, rows: int, columns: int) -> tuple[int, int]:
        ph, pw = self.patch_size
        return (rows - 1) * self.stride + ph, (columns - 1) * self.stride + pw

    def sample(self, images: Array | ImageSource, n: int, *, rng: np.random.Generator, engine: Engine) -> Held:
        patches = sample_patches(images, n, self.patch_size, rng=rng, engine=engine)
        if self.contrast is not None:
            patches.replace(normalize_contrast, self.contrast, self.offset, size=_PATCHES_PER_BLOCK)
        return patches

    def __call__(self, images: Array) -> Array:
        views = [view_patches(image, self.patch_size, self.stride) for image in images]
        (h, w), d = views[0].shape[:2], math.prod(views[0].shape[2:])
        patches = np.stack([view.reshape(h * w, d) for view in views])
        return normalize_contrast(patches.reshape(-1, d), self.contrast, self.offset).reshape(len(images), h, w, d)

    def draw(self, codes: Array, channels: int) -> Array:
        return draw_tiles(codes, (*self.patch_size, channels))


def position_grid(image_size: tuple[int, int], patch_size: tuple[int, int], stride: int) -> tuple[int, int]:
    """How many rows and columns of patches an image has.

    >>> position_grid((32, 32), (6, 6), 1)
    (27, 27)
    """
    (H, W), (ph, pw) = image_size, patch_size
    if ph > H or pw > W:
        raise ParameterError(
            f"images of {H}×{W} pixels are smaller than the patch of {ph}×{pw}. Images are (n, height, width, channels), "
            f"channels last; a single one is images[None]. For small images give a smaller {{Patches.size}}.",
            **{"Patches.size": NAME},
        )
    return (H - ph) // stride + 1, (W - pw) // stride + 1


def view_patches(image: Array, patch_size: tuple[int, int], stride: int = 1) -> Array:
    """Every patch of one image without a copy: (H, W, c) to (h, w, ph, pw, c).

    >>> view_patches(np.zeros((32, 32, 3)), (6, 6)).shape
    (27, 27, 6, 6, 3)
    """
    position_grid((image.shape[0], image.shape[1]), patch_size, stride)
    view = np.lib.stride_tricks.sliding_window_view(image, patch_size, axis=(0, 1))
    return np.moveaxis(view[::stride, ::stride], 2, 4)


def sample_patches(
    images: Array | ImageSource, n_patches: int, patch_size: tuple[int, int], *, rng: np.random.Generator, engine: Engine
) -> Held:
    """Draw patches: the image uniform with replacement, the position uniform over every valid one.

    images : (n, H, W, c), any numeric dtype, may be a memory map    returns : (n_patches, d) float32

    >>> from poolwise.engine.threads import Threads
    >>> with Threads(1) as engine:
    ...     sample_patches(np.zeros((5, 32, 32, 3)), 10, (6, 6), rng=np.random.default_rng(0), engine=engine).shape
    (10, 108)
    """
    position_grid(images.shape[1:3], patch_size, 1)
    return sample_windows(images, n_patches, patch_size, _flat, rng=rng, engine=engine)


def _flat(windows: Array) -> Array:
    return windows.reshape(len(windows), -1)


def normalize_contrast(patches: Array, contrast: Contrast, offset: float) -> Array:
    """Contrast-normalise each row over all of its pixels and channels together.

    >>> normalize_contrast(np.array([[0.0, 20.0]]), "std", 10)
    array([[-0.5,  0.5]])
    """
    if Choice(("std", "variance", None)).check("contrast", contrast) is None:
        return patches
    dtype = np.result_type(patches, np.float32)
    mean = patches.mean(axis=1, keepdims=True, dtype=np.float64)
    centred = patches - mean
    square = (centred**2).sum(axis=1, keepdims=True)
    n = patches.shape[1]
    if contrast == "std":
        scale = np.sqrt(square / n) + offset
    else:
        scale = np.sqrt(square / max(n - 1, 1) + offset)
    constant = scale <= CONSTANT * np.abs(mean)
    normalized: Array = np.where(constant, 0, centred / np.where(constant, 1, scale)).astype(dtype)
    return normalized


def draw_tiles(D: Array, patch_shape: tuple[int, int, int]) -> Array:
    """(K, height, width, 3) uint8: each code stretched to full contrast about mid-grey.

    Three channels are drawn in colour, any other number as the grey mean of the channels.

    >>> draw_tiles(np.array([[1.0, -1.0]]), (1, 2, 1))[0, 0, :, 0]
    array([255,   0], dtype=uint8)
    """
    K = len(D)
    if K == 0 or D.shape[1] != math.prod(patch_shape):
        raise ValueError(f"codes of shape {D.shape} are not patches of {patch_shape} (height, width, channels)")
    tiles = np.asarray(D, np.float64).reshape(K, *patch_shape)
    if patch_shape[2] != 3:
        tiles = np.repeat(tiles.mean(axis=3, keepdims=True), 3, axis=3)
    peak = np.abs(tiles).max(axis=(1, 2, 3), keepdims=True)
    pixels: Array = np.round(127.5 + 127.5 * tiles / np.where(peak > 0, peak, 1)).astype(np.uint8)
    return pixels
