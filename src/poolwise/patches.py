"""Patches: sample them, view them all, normalise their contrast (stages 1 and 2 of the method).

    p ← (p - mean(p)) / (std(p) + ε)          contrast="std"       population std       (jia2012, ε = 10)
    p ← (p - mean(p)) / sqrt(var(p) + ε)      contrast="variance"  var with n - 1       (coates2011, ε = 10)

images : (n, H, W, c)    p : (d,) with d = ph · pw · c, in row, column, channel order    patches : (N, d)
"""

from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from poolwise.arrays import Array, ImageSource
from poolwise.engine import Threads
from poolwise.kernels import CONSTANT

Contrast = Literal["std", "variance"] | None

_SAMPLE_BLOCK = 8192
_DECODED_BYTES = 4 << 20


def position_grid(image_size: tuple[int, int], patch_size: tuple[int, int], stride: int) -> tuple[int, int]:
    """How many rows and columns of patches an image has.

    >>> position_grid((32, 32), (6, 6), 1)
    (27, 27)
    """
    (H, W), (ph, pw) = image_size, patch_size
    if ph > H or pw > W:
        raise ValueError(
            f"images of {H}×{W} pixels are smaller than the patch of {ph}×{pw}. Images are (n, height, width, "
            f"channels), channels last; a single one is images[None]. For small images give a smaller patch_size."
        )
    return (H - ph) // stride + 1, (W - pw) // stride + 1


def view_patches(image: Array, patch_size: tuple[int, int], stride: int = 1) -> Array:
    """Every patch of one image without a copy: (H, W, c) to (h, w, ph, pw, c).

    >>> view_patches(np.zeros((32, 32, 3)), (6, 6)).shape
    (27, 27, 6, 6, 3)
    """
    position_grid((image.shape[0], image.shape[1]), patch_size, stride)
    view = sliding_window_view(image, patch_size, axis=(0, 1))
    return np.moveaxis(view[::stride, ::stride], 2, 4)


def sample_patches(
    images: Array | ImageSource,
    n_patches: int,
    patch_size: tuple[int, int],
    rng: np.random.Generator,
    engine: Threads | None = None,
) -> Array:
    """Draw patches: the image uniform with replacement, the position uniform over every valid one.

    images : (n, H, W, c), any numeric dtype, may be a memory map    returns : (n_patches, d) float32

    Of a source each image drawn is decoded once, on the engine's threads, and few are in memory at a time.

    >>> rng = np.random.default_rng(0)
    >>> sample_patches(np.zeros((5, 32, 32, 3), np.uint8), 10, (6, 6), rng).shape
    (10, 108)
    """
    n, H, W, c = images.shape
    ph, pw = patch_size
    h, w = position_grid((H, W), patch_size, 1)
    image, y, x = rng.integers(n, size=n_patches), rng.integers(h, size=n_patches), rng.integers(w, size=n_patches)
    order = np.argsort(image, kind="stable")  # read the images from first to last: they may be on disk
    patches = np.empty((n_patches, ph, pw, c), np.float32)

    def cut(pixels: Array, place: Array, samples: Array) -> None:
        windows = sliding_window_view(pixels, patch_size, axis=(1, 2))
        for start in range(0, len(samples), _SAMPLE_BLOCK):
            rows = samples[start : start + _SAMPLE_BLOCK]
            patches[rows] = np.moveaxis(windows[place[start : start + _SAMPLE_BLOCK], y[rows], x[rows]], 1, 3)

    def decode_and_cut(samples: Array) -> None:
        drawn, place = np.unique(image[samples], return_inverse=True)
        cut(images[drawn], place, samples)

    if isinstance(images, ImageSource):
        starts = np.flatnonzero(np.diff(image[order], prepend=-1))  # where the samples of the next image begin
        at_once = max(1, _DECODED_BYTES // (H * W * c * images.dtype.itemsize))
        blocks = np.split(order, starts[at_once::at_once])
        for _ in map(decode_and_cut, blocks) if engine is None else engine.map(decode_and_cut, blocks):
            pass
    else:
        cut(images, image[order], order)
    return patches.reshape(n_patches, -1)


def normalize_contrast(patches: Array, contrast: Contrast, offset: float) -> Array:
    """Contrast-normalise each row over all of its pixels and channels together.

    >>> normalize_contrast(np.array([[0.0, 20.0]]), "std", 10)
    array([[-0.5,  0.5]])
    """
    if contrast is None:
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
