"""A picture for each code that is none itself: the window, of all in some images, to which it responds most.

window_k = argmax_i d_k·p_i,   p_i : whitened local vector of window i
"""

import numpy as np

from poolwise.engine import Engine
from poolwise.method.layer import Layer
from poolwise.method.nodata import filled, nan_pixels
from poolwise.support.types import Array, ImageSource

_IMAGES = 400
_PIXELS = 16 << 20  # of all these images; fewer are looked at where they are large


def exciting_windows(layer: Layer, images: Array | ImageSource, *, engine: Engine) -> Array:
    """(K, height, width, 3) uint8 for the codes of a layer, from images (n, H, W, c) spread evenly."""
    n, H, W, c = images.shape
    rows = np.unique(np.linspace(0, n - 1, max(1, min(n, _IMAGES, _PIXELS // (H * W)))).astype(np.intp))
    codes = np.asarray(layer.codes, np.float32)
    best, image, place = np.full(len(codes), -np.inf), np.zeros(len(codes), np.intp), np.zeros(len(codes), np.intp)
    for row, (value, where) in zip(rows, engine.map(_responses, rows, images, layer, codes), strict=True):
        better = value > best
        best, image, place = np.where(better, value, best), np.where(better, row, image), np.where(better, where, place)
    (height, width), (far, right) = layer.descriptor.window(1, 1), layer.descriptor.window(2, 2)
    columns = layer.positions[1]
    y, x = place // columns * (far - height), place % columns * (right - width)
    found = np.empty((len(codes), height, width, c), np.float64)
    for row in np.unique(image):
        pixels = np.asarray(images[row : row + 1])[0]
        for k in np.flatnonzero(image == row):
            found[k] = pixels[y[k] : y[k] + height, x[k] : x[k] + width]
    if c != 3:
        found = np.repeat(found.mean(axis=3, keepdims=True), 3, axis=3)
    low, high = (edge(axis=(1, 2, 3), keepdims=True) for edge in (found.min, found.max))
    return np.round(255 * (found - low) / np.where(high > low, high - low, 1)).astype(np.uint8)


def _responses(row: int, images: Array | ImageSource, layer: Layer, codes: Array) -> tuple[Array, Array]:
    """Of one image: the largest response of each code, and the position that has it."""
    block = np.asarray(images[row : row + 1], np.float32)
    missing = nan_pixels(block)
    pixels = block[0] if missing is None else filled(block, missing)[0]
    P = layer.descriptor.band(pixels, slice(0, layer.positions[0]))
    Z = layer.whitening(P.reshape(-1, P.shape[2]).astype(np.float32)) @ codes.T
    if missing is not None:
        Z[~layer.descriptor.with_data(missing).ravel()] = -np.inf
    where = Z.argmax(axis=0)
    return Z[where, np.arange(len(codes))], where
