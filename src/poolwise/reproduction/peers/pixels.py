"""Raw pixels: every number of the image is a feature, standardised."""

from poolwise.reproduction.peers.base import Peer
from poolwise.support.types import Array


class Pixels(Peer):
    """d = H · W · c"""

    standardised = True

    def formula(self, images: Array) -> Array:
        return images.reshape(len(images), -1)
