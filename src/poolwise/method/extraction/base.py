"""What every pass offers: pooled statistics of images, averaged over the layer's symmetry and then normalised."""

from abc import ABC, abstractmethod

from poolwise.method.layer import Layer
from poolwise.method.symmetry import N_COPIES, copies
from poolwise.support.types import Array


class Pass(ABC):
    """A layer, ready to be computed."""

    layer: Layer

    @abstractmethod
    def statistics(self, images: Array) -> Array:
        """(n, H, W, c) to (n, cells, ...) float32, as `Pooling.combine` gives them, on the calling thread."""

    def pooled(self, images: Array) -> Array:
        """(n, H, W, c) to (n, cells, width) float32, on the calling thread."""
        views = copies(images, self.layer.symmetry)
        total = self.statistics(next(views))
        for view in views:
            total += self.statistics(view)
        if self.layer.symmetry is not None:
            total /= N_COPIES[self.layer.symmetry]
        return self.layer.pooling.normalized(total)
