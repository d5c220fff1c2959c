"""The types that all packages share; shapes and dtypes are in docstrings."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from poolwise.support.mapped import packed, unpacked

Array = np.ndarray[Any, np.dtype[Any]]
Rows = slice | Array  # which rows of something: a slice, or (n,) row numbers


class ImageSource(ABC):
    """Images that are not in memory. Wherever images are taken, an array or one of these will do; blocks are read from it.

    shape : (n, H, W, c)    source[rows] : (len(rows), H, W, c) for a slice or an array of row numbers, from any thread
    """

    shape: tuple[int, int, int, int]
    dtype: np.dtype[Any]
    ndim = 4
    is_raw = False  # whether numbers are as files have them, of whatever range
    is_masked = False  # whether pixels without data are NaN

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: Any) -> Array: ...

    def __getstate__(self) -> dict[str, Any]:
        """Memory maps travel to other processes as the names of their files."""
        return {name: packed(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: unpacked(value) for name, value in state.items()})
