"""Codes as a picture: every code is a small patch of colour contrasts about grey."""

import math

import numpy as np
from PIL import Image

from poolwise.arrays import Array

_BACKGROUND = 255


def code_mosaic(
    codes: Array, patch_shape: tuple[int, int, int], *, columns: int | None = None, zoom: int = 8, gap: int = 3
) -> Image.Image:
    """Draw codes side by side, each stretched to full contrast about mid-grey, with sharp pixels.

    Three channels are drawn in colour, any other number as the grey mean of the channels.

    Parameters
    ----------
    codes : (K, d)
    patch_shape : (height, width, channels), with d = height · width · channels
    columns : int, default: as square as possible
    zoom, gap : pixels of the picture per pixel of a code, and between codes

    Returns
    -------
    PIL.Image.Image, RGB

    Examples
    --------
    >>> code_mosaic(np.eye(4, 12), (2, 2, 3), zoom=4, gap=2).size
    (22, 22)
    """
    K = len(codes)
    if K == 0 or codes.shape[1] != math.prod(patch_shape):
        raise ValueError(f"codes of shape {codes.shape} are not patches of {patch_shape} (height, width, channels)")
    tiles = np.asarray(codes, np.float64).reshape(K, *patch_shape)
    if patch_shape[2] != 3:
        tiles = np.repeat(tiles.mean(axis=3, keepdims=True), 3, axis=3)
    peak = np.abs(tiles).max(axis=(1, 2, 3), keepdims=True)
    pixels = np.round(127.5 + 127.5 * tiles / np.where(peak > 0, peak, 1)).astype(np.uint8)
    pixels = pixels.repeat(zoom, axis=1).repeat(zoom, axis=2)
    columns = columns or math.ceil(math.sqrt(K))
    rows = math.ceil(K / columns)
    h, w = pixels.shape[1:3]
    canvas = np.full((rows * (h + gap) + gap, columns * (w + gap) + gap, 3), _BACKGROUND, np.uint8)
    for k in range(K):
        y, x = gap + (k // columns) * (h + gap), gap + (k % columns) * (w + gap)
        canvas[y : y + h, x : x + w] = pixels[k]
    return Image.fromarray(canvas)


def by_colour(codes: Array, channels: int) -> Array:
    """Order codes from grey to colourful, for the eye: indices (K,)."""
    tiles = np.asarray(codes).reshape(len(codes), -1, channels)
    grey = tiles.mean(axis=2, keepdims=True)
    order: Array = np.argsort(((tiles - grey) ** 2).sum(axis=(1, 2)), kind="stable")
    return order
