"""Bands of any range as numbers like those of pixels, which contrast normalisation and its offset are made for.

    x ← 128 + 40 (x - mean) / std        "standardize": of each band, over the pixels of the images learned from
    x ← 255 (x - low) / (high - low)     a range given for each band

x : (n, H, W, c) pixels of 12 or 16 bits, reflectances, counts
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolwise.method.nodata import is_masked, nan_pixels
from poolwise.support.blocks import spans
from poolwise.support.parameters import NAME, ParameterError
from poolwise.support.types import Array, ImageSource

LEVEL, SPREAD, LARGEST = 128.0, 40.0, 255.0
_MOST_IMAGES = 5_000
_PIXELS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Bands:
    """gain, shift : (c,) float32; x becomes x · gain + shift"""

    gain: Array
    shift: Array

    def __call__(self, images: Array) -> Array:
        """
        >>> Bands(np.float32([2, 1]), np.float32([1, 0]))(np.array([[[[3, 4]]]], np.uint16)).tolist()
        [[[[7.0, 4.0]]]]
        """
        found = images.astype(np.float32)
        found *= self.gain
        found += self.shift
        return found


class Banded(ImageSource):
    """Images with their bands scaled, block by block as they are read."""

    def __init__(self, images: Array | ImageSource, bands: Bands) -> None:
        n, H, W, c = images.shape
        self.images, self.bands = images, bands
        self.shape, self.dtype = (n, H, W, c), np.dtype(np.float32)
        self.is_masked = is_masked(images)

    def __getitem__(self, rows: Any) -> Array:
        return self.bands(np.asarray(self.images[rows]))


def learn_bands(images: Array | ImageSource) -> Bands:
    """Mean 128 and standard deviation 40 of each band, over up to 5,000 images spread evenly; a constant band becomes 128.

    Pixels without data, NaN, are left out.

    >>> images = np.random.default_rng(0).normal(5000, 7, (20, 8, 8, 2))
    >>> x = learn_bands(images)(images)
    >>> x.mean(axis=(0, 1, 2)).round(2), x.std(axis=(0, 1, 2)).round(2)
    (array([128., 128.], dtype=float32), array([40., 40.], dtype=float32))
    """
    n, H, W, _ = images.shape
    rows = np.unique(np.linspace(0, n - 1, min(n, _MOST_IMAGES)).astype(np.intp))
    blocks = [rows[span] for span in spans(len(rows), max(1, _PIXELS_AT_ONCE // (H * W)))]
    centre = _first_mean(images, rows)  # sums of squares of small numbers keep their digits
    total, squares, count = np.zeros_like(centre), np.zeros_like(centre), 0
    for block in blocks:
        x = _data(np.asarray(images[block], np.float64)) - centre
        total += x.sum(axis=tuple(range(x.ndim - 1)))
        squares += (x**2).sum(axis=tuple(range(x.ndim - 1)))
        count += x[..., 0].size
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 0))
    gain = np.where(std > 0, SPREAD / np.where(std > 0, std, 1), 0)
    return Bands(gain.astype(np.float32), (LEVEL - gain * (mean + centre)).astype(np.float32))


def _data(x: Array) -> Array:
    """(n, H, W, c) pixels: all of them, or (pixels, c), those that have data where some have not."""
    missing = nan_pixels(x)
    return x if missing is None else x[~missing]


def _first_mean(images: Array | ImageSource, rows: Array) -> Array:
    """(c,) means of the first image that has data."""
    for row in rows:
        x = _data(np.asarray(images[np.array([row])], np.float64))
        if x.size:
            first: Array = x.mean(axis=tuple(range(x.ndim - 1)))
            return first
    raise ParameterError(f"none of the {len(rows):,} images looked at has a pixel with data ({{nodata}})", nodata=NAME)


def bands_of_ranges(ranges: Sequence[tuple[float, float]], channels: int) -> Bands:
    """Each band's range as 0..255.

    >>> bands_of_ranges([(0, 5100)], 1).gain.tolist()
    [0.05000000074505806]
    """
    if len(ranges) != channels:
        raise ParameterError(f"bands has {len(ranges)} ranges, but the images have {channels} channels; give one for each")
    low, high = np.array(ranges, np.float64).T
    gain = LARGEST / (high - low)
    return Bands(gain.astype(np.float32), (-low * gain).astype(np.float32))
