"""The one type that all rooms speak of; shapes and dtypes stand in docstrings."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
