"""How the loops are compiled."""

from collections.abc import Callable
from typing import Any

import scipy.linalg  # noqa: F401  (numba's np.dot calls SciPy's BLAS: it must be loaded before it can be limited)
from numba import njit

Loop = Callable[..., Any]

REORDER = {"reassoc", "nsz", "contract", "arcp"}  # lets sums be vectorised; the same machine still gives the same bits


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """numba's njit without the GIL, cached on disk where there is a place to write to."""

    def compile_loop(function: Loop) -> Loop:
        try:
            return njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no writable place for a cache: read-only package and home
            return njit(nogil=True, **options)(function)

    return compile_loop


@compiled()
def evenly(n: int, most: int) -> int:
    """The size of pieces that cut n into as few as sizes up to `most` can, all alike: no short one at the end."""
    pieces = -(-n // most)
    return -(-n // pieces)
