"""Small pictures side by side in one."""

import math

import numpy as np

from poolwise.support.types import Array

BACKGROUND = 255


def arrange(tiles: Array, columns: int | None = None, *, zoom: int = 1, gap: int = 0) -> Array:
    """Tiles (K, h, w, 3) uint8 in one picture, (rows, columns, 3) uint8; as square as possible, unless `columns` are given.

    zoom, gap : pixels of the picture per pixel of a tile, and around tiles

    >>> arrange(np.zeros((4, 2, 2, 3), np.uint8), zoom=4, gap=2).shape
    (22, 22, 3)
    """
    K = len(tiles)
    columns = columns or math.ceil(math.sqrt(K))
    rows = math.ceil(K / columns)
    pixels = tiles.repeat(zoom, axis=1).repeat(zoom, axis=2)
    h, w = pixels.shape[1:3]
    canvas = np.full((rows * (h + gap) + gap, columns * (w + gap) + gap, 3), BACKGROUND, np.uint8)
    for k in range(K):
        y, x = gap + (k // columns) * (h + gap), gap + (k % columns) * (w + gap)
        canvas[y : y + h, x : x + w] = pixels[k]
    return canvas
