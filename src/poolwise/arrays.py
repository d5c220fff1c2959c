"""The types that all rooms speak of; shapes and dtypes stand in docstrings."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class ImageSource(ABC):
    """Images that are not in memory: where a room takes images, it takes an array or one of these, and cuts blocks from it.

    shape : (n, H, W, c)    source[rows] : (len(rows), H, W, c) for a slice or an array of row numbers, from any thread
    """

    shape: tuple[int, int, int, int]
    dtype: np.dtype[Any]
    ndim = 4

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: Any) -> Array: ...
