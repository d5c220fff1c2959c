"""Some rows of a source."""

from typing import Any

from poolwise.support.types import Array, ImageSource


class RowsOf(ImageSource):
    """Some rows of an array or source, in the given order; nothing is read or copied before it is asked for.

    >>> import numpy as np
    >>> RowsOf(np.arange(5).reshape(5, 1, 1, 1), np.array([4, 1, 0]))[1:].ravel().tolist()
    [1, 0]
    """

    def __init__(self, images: Array | ImageSource, rows: Array) -> None:
        _, H, W, c = images.shape
        self.shape, self.dtype = (len(rows), H, W, c), images.dtype
        self._images, self._rows = images, rows
        self.is_raw = bool(getattr(images, "is_raw", False))

    def __getitem__(self, rows: Any) -> Array:
        return self._images[self._rows[rows]]
