"""Images whose pixels without data become NaN as they are read.

x_b(y, x) ← NaN for all bands b  where any band is the nodata value, or not finite
"""

from typing import Any

import numpy as np

from poolwise.support.missing import Nodata, missing_pixels
from poolwise.support.types import Array, ImageSource


class Masked(ImageSource):
    """Images with NaN in every band of the pixels without data, block by block as they are read; other numbers as they are.

    >>> images = Masked(np.array([[[[5, 0], [5, 7]]]], np.uint16), 0.0)
    >>> images[:1].tolist(), images.dtype
    ([[[[nan, nan], [5.0, 7.0]]]], dtype('float32'))
    """

    is_masked = True

    def __init__(self, images: Array | ImageSource, nodata: Nodata) -> None:
        n, H, W, c = images.shape
        self.images, self.nodata = images, nodata
        self.shape, self.dtype = (n, H, W, c), np.result_type(images.dtype, np.float32)

    def __getitem__(self, rows: Any) -> Array:
        block = np.asarray(self.images[rows])
        missing = missing_pixels(block, self.nodata)
        found = block.astype(self.dtype)
        found[missing] = np.nan
        return found
