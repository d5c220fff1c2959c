"""Statistics of bands alone: mean, spread, least and largest of every band, in the cells of a pyramid."""

from poolwise.method.band_statistics import band_statistics
from poolwise.reproduction.peers.base import Peer
from poolwise.support.types import Array

_GRIDS = ((1, 1), (2, 2), (4, 4))


class Bands(Peer):
    """d = 21 · 4c"""

    standardised = True

    def formula(self, images: Array) -> Array:
        return band_statistics(images, _GRIDS, None).reshape(len(images), -1)
