"""Codes as pixels: each a small patch of colour contrasts about grey.

Codes live in the space of whitened patches, where all directions weigh alike and a code is mostly sharp specks. The patch that
whitening makes into d_k is m + W⁺ d_k; less the mean m, that is what the eye knows from the images:

    d_k ↦ W⁺ d_k

D : (K, d) codes    W : (d, d) whitening matrix    tiles : (K, height, width, 3) uint8
"""

import math

import numpy as np

from poolwise.arrays import Array

_BACKGROUND = 255


def unwhiten(D: Array, W: Array) -> Array:
    """W⁺ d of every code, (K, d); directions that whitening left out stay 0.

    >>> unwhiten(np.array([[1.0, 1.0]]), np.diag([0.5, 0.0]))
    array([[2., 0.]])
    """
    pictures: Array = np.asarray(D, np.float64) @ np.linalg.pinv(np.asarray(W, np.float64), hermitian=True).T
    return pictures


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


def arrange(tiles: Array, columns: int | None = None, *, zoom: int = 1, gap: int = 0) -> Array:
    """Tiles side by side in one picture, (rows, columns, 3) uint8; as square as possible, unless told.

    zoom, gap : pixels of the picture per pixel of a tile, and around tiles

    >>> arrange(np.zeros((4, 2, 2, 3), np.uint8), zoom=4, gap=2).shape
    (22, 22, 3)
    """
    K = len(tiles)
    columns = columns or math.ceil(math.sqrt(K))
    rows = math.ceil(K / columns)
    pixels = tiles.repeat(zoom, axis=1).repeat(zoom, axis=2)
    h, w = pixels.shape[1:3]
    canvas = np.full((rows * (h + gap) + gap, columns * (w + gap) + gap, 3), _BACKGROUND, np.uint8)
    for k in range(K):
        y, x = gap + (k // columns) * (h + gap), gap + (k % columns) * (w + gap)
        canvas[y : y + h, x : x + w] = pixels[k]
    return canvas
