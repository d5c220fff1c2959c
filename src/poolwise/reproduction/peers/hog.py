"""HOG as Dalal and Triggs use it: a vector of the blocks of an image side by side, for a linear SVM.

The blocks are those of our descriptor `Hog`, one cell apart; of several bands, each pixel takes the longest gradient.
"""

from poolwise.method.descriptors import Hog
from poolwise.reproduction.peers.base import Peer
from poolwise.support.types import Array

_SMALL = 48  # pixels


class HogCells(Peer):
    """Cells of 4×4 pixels, of 8×8 in images of more than 48, blocks of 2×2 cells, 9 directions."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        cell = 4 if min(shape[:2]) <= _SMALL else 8
        self.descriptor = Hog(cell=cell, stride=cell).fitted_to((shape[0], shape[1], shape[2]))

    def formula(self, images: Array) -> Array:
        return self.descriptor(images).reshape(len(images), -1)
