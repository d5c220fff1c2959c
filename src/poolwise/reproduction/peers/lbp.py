"""Local binary patterns (Ahonen, Hadid and Pietikäinen 2006): which of 8 neighbours are brighter, as histograms of 4×4 regions.

With scikit-image's `local_binary_pattern`: 58 uniform patterns and one for all others, of every band. A feature is the root of
a pattern's share, as suits histograms and a linear classifier.
"""

import numpy as np

from poolwise.reproduction.peers.base import Peer, whole_levels
from poolwise.support.types import Array

_NEIGHBOURS, _RADIUS, _PATTERNS, _REGIONS = 8, 1, 59, 4


class BinaryPatterns(Peer):
    """d = 16 · 59 · c"""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        from skimage.feature import local_binary_pattern

        self._patterns = local_binary_pattern
        y, x = (np.arange(side) * _REGIONS // side for side in shape[:2])
        self._region = (y[:, None] * _REGIONS + x) * _PATTERNS

    def formula(self, images: Array) -> Array:
        n, _, _, c = images.shape
        length = _REGIONS**2 * _PATTERNS
        counts = np.empty((n, c, length), np.float32)
        for image, found in zip(whole_levels(images), counts, strict=True):
            for band in range(c):
                patterns = self._patterns(image[:, :, band], _NEIGHBOURS, _RADIUS, "nri_uniform").astype(np.int64)
                found[band] = np.bincount((self._region + patterns).ravel(), minlength=length)
        counts /= self._region.size / _REGIONS**2
        return np.sqrt(counts).reshape(n, -1)
