"""The mirror images of a source."""

from typing import Any

from poolwise.support.types import Array, ImageSource


class Mirrored(ImageSource):
    """The images of an array or source with left and right exchanged; a block is mirrored when it is asked for.

    >>> import numpy as np
    >>> Mirrored(np.arange(8).reshape(2, 2, 2, 1))[1:].ravel().tolist()
    [5, 4, 7, 6]
    """

    def __init__(self, images: Array | ImageSource) -> None:
        _, H, W, c = images.shape
        self.shape, self.dtype = (len(images), H, W, c), images.dtype
        self._images = images
        self.is_raw = bool(getattr(images, "is_raw", False))

    def __getitem__(self, rows: Any) -> Array:
        return self._images[rows][..., ::-1, :]
