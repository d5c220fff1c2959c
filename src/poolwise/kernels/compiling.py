"""How the loops are compiled."""

from collections.abc import Callable
from typing import Any

import scipy.linalg  # noqa: F401  (numba's np.dot calls SciPy's BLAS: it must be loaded before it can be limited)
from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """numba's njit without the GIL, cached on disk where there is a place to write to."""

    def compile_loop(function: Callable[..., None]) -> Callable[..., None]:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no writable place for a cache: read-only package and home
            return njit(nogil=True, **options)(function)

    return compile_loop
