"""BLAS inside threads of ours: held to one thread each; how many threads there are; and the shape of products that it likes."""

import threading
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import OpenBLASController, ThreadpoolController

_SMALL_PRODUCT_CORES = ("SkylakeX", "Cooperlake", "SapphireRapids")
_SMALL_PRODUCT_MULTIPLICATIONS = 10**6
_LEAST_ROWS_OF_SQUARE = 64  # with fewer, adding up the results takes longer than small products save


@lru_cache
def _controller() -> ThreadpoolController:
    """The BLAS libraries of NumPy and SciPy; looking for them takes milliseconds."""
    return ThreadpoolController()


def _blas_threads() -> int:
    return max((lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"), default=cpu_count())


class OneThreadBlas:
    """Holds BLAS to one thread while anybody needs it; the last to leave restores what was there.

    `threadpool_limits` alone saves 1 as the original number when two user threads overlap, and BLAS stays slow for good.
    Where another thread of the user's is inside `threadpool_limits`, threadpoolctl obeys that one and not us: slower, same
    results.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._threads = 0
        self._limit: Any = None
        self._owner: threading.Thread | None = None

    def acquire(self) -> None:
        with self._lock:
            if self._users == 0:
                self._threads = _blas_threads()
                self._owner = threading.current_thread()
                self._limit = _controller().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                if self._owner is not threading.current_thread():
                    OpenBLASController.clear_controlling_thread(force=True)  # else it obeys only the one that set it
                self._limit.__exit__(None, None, None)
                self._limit = self._owner = None

    def threads(self) -> int:
        """How many threads BLAS may use where nobody holds it."""
        with self._lock:
            return self._threads if self._users else _blas_threads()


one_thread_blas = OneThreadBlas()


class WrongProductError(ArithmeticError, ValueError):
    """What NumPy computes on this machine is wrong."""


@lru_cache
def check_products() -> None:
    """An error, once per process, where this machine's float32 AᵀA is wrong, as that of NumPy 2.5.0 is on one CPU."""
    A = (np.arange(40 * 24, dtype=np.float32).reshape(40, 24) * 7919 % 31 - 15) / 8  # all sums are exact
    if not np.array_equal(A.T @ A, np.einsum("ij,ik->jk", A, A)):
        raise WrongProductError(
            f"the matrix product of NumPy {np.__version__} is wrong on this machine, so that nothing learned with it could be "
            f"trusted; install another version: pip install 'numpy!=2.5.0'"
        )


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means: a number, -1 for every core, None for as many as BLAS may use now.

    None therefore honours OMP_NUM_THREADS, `threadpoolctl.threadpool_limits` and joblib's limits in worker processes.

    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        return max(1, min(cpu_count(), one_thread_blas.threads()))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} has no meaning; give a number of threads, -1 for every core, or None")
    return n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)


def limit_this_thread() -> None:
    """BLAS libraries on OpenMP have a limit per thread, which new threads do not inherit; elsewhere this does nothing."""
    _controller().limit(limits=1, user_api="blas")


def kinds_of_blas() -> list[str]:
    """BLAS libraries with their kernels, as "openblas 0.3.29 SkylakeX"; results may differ in the last bits between them.

    >>> len(kinds_of_blas()) > 0
    True
    """
    found = [lib for lib in _controller().info() if lib["user_api"] == "blas"]
    return sorted({f"{lib['internal_api']} {lib.get('version')} {lib.get('architecture', '')}".strip() for lib in found})


def _has_small_products() -> bool:
    return any(lib.get("architecture") in _SMALL_PRODUCT_CORES for lib in _controller().info())


@lru_cache
def square_rows(columns: int) -> int:
    """The most rows of F, (rows, columns) float32, that a product FᵀF on one thread should take at once; see `product_tile`.

    >>> square_rows(100) >= 64
    True
    """
    rows = _SMALL_PRODUCT_MULTIPLICATIONS // max(1, columns * columns)
    return rows if rows >= _LEAST_ROWS_OF_SQUARE and _has_small_products() else 1 << 20


@lru_cache
def product_tile(inner: int) -> tuple[int, int]:
    """The shape of a float32 product (rows, inner)·(inner, columns) that runs fastest on one thread and fits in cache.

    OpenBLAS's kernels for AVX-512 take products of up to 10⁶ multiplications without packing or clearing the result, and beat
    its large-matrix rate there at 64 columns (128 where the rows stay long). Elsewhere packing is paid per product, so it must
    be large.

    >>> rows, columns = product_tile(109)
    >>> rows >= 16 and columns >= 64
    True
    """
    if _has_small_products():
        for columns, least in ((128, 128), (64, 16)):
            rows = _SMALL_PRODUCT_MULTIPLICATIONS // (columns * inner)
            if rows >= least:
                return rows, columns
    return 1024, 320
