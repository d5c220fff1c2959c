"""Cholesky factors of a symmetric matrix with one diagonal after another, in the place of the matrix.

    A + diag(x) + ε I = Uᵀ U,   ε = 0, or the smallest of a few powers of ten that lets the factor exist

A stays below the diagonal and U stands on and above it, so that another x needs no other memory. U is computed block row by
block row, the blocks of one row on all threads; of a block i, j, with U above row i known,

    U_ij = U_ii⁻ᵀ (A_ij - Σ_{k<i} U_kiᵀ U_kj)

A : (n, n) float32 or float64    x : (n,)    B : (k, n), a right-hand side in each row
"""

import numpy as np
import scipy.linalg

from poolwise.engine.threads import Threads
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_ROWS_PER_BLOCK = 512
_PROBLEMS_AT_ONCE = 16  # of one thread; groups of problems are some 25, so that two threads have work


class Factor:
    """Uᵀ U = A + diag(x) + ε I.

    Parameters
    ----------
    A : (n, n), C-contiguous
        Symmetric; overwritten.

    Attributes
    ----------
    extra : float
        ε.

    Examples
    --------
    >>> factor = Factor(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> with Threads(1) as engine:
    ...     factor.add_to_diagonal(np.ones(2), engine)
    ...     factor.solve(np.array([[3.0, 3.0]]), engine)
    array([[1., 1.]])
    """

    def __init__(self, A: Array) -> None:
        self._A, self._diagonal = A, A.diagonal().copy()
        self._blocks = spans(len(A), _ROWS_PER_BLOCK)
        self.dtype: type = A.dtype.type
        self.extra = 0.0
        self._known: tuple[Array, float] | None = None  # x and the least ε of the factor that is there

    def add_to_diagonal(self, x: Array, engine: Threads, least: float = 0.0) -> None:
        """Factor A + diag(x) + ε I, ε at least `least`; nothing is computed where that is there already."""
        if self._known is not None and self._known[1] == least and np.array_equal(self._known[0], x):
            return
        diagonal, self._known = self._diagonal + x, None
        self.extra = least
        while True:
            if not np.isfinite(diagonal).all() or self.extra > diagonal.max():
                raise ValueError("the features are too large to be multiplied with each other; rescale them")
            if self._factor(diagonal + self.extra, engine):
                self._known = x.copy(), least
                return
            self.extra = 10 * max(self.extra, float(np.finfo(self._A.dtype).eps) * float(diagonal.max()))

    def _factor(self, diagonal: Array, engine: Threads) -> bool:
        """U of the matrix with this diagonal; False where it is not positive definite."""
        A = self._A
        self._inverses: list[Array] = []
        for number, i in enumerate(self._blocks):
            above = A[: i.start, i]
            below = np.tril(A[i, i], -1)
            own = below + below.T
            np.fill_diagonal(own, diagonal[i])
            own -= above.T @ above
            try:
                U = scipy.linalg.cholesky(own, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                return False
            if not np.isfinite(U.diagonal()).all():
                return False
            A[i, i] = U + below
            inverse = scipy.linalg.solve_triangular(U, np.eye(len(U), dtype=A.dtype), check_finite=False)

            def fill(j: slice, i: slice = i, above: Array = above, inverse: Array = inverse) -> None:
                A[i, j] = inverse.T @ (A[j, i].T - above.T @ A[: i.start, j])

            engine.run(fill, self._blocks[number + 1 :])
            self._inverses.append(inverse)
        return True

    def below(self, some: Array) -> Array:
        """A at these rows and columns, ascending, in float64: on and below the diagonal, anything above it."""
        part = self._A[np.ix_(some, some)].astype(np.float64, copy=False)
        np.fill_diagonal(part, self._diagonal[some])
        return part

    def times(self, B: Array, engine: Threads) -> Array:
        """B A, (k, n), in A's precision."""
        right = B.astype(self._A.dtype)
        out = right * self._diagonal

        def multiply(problems: slice) -> None:
            x, y = right[problems], out[problems]
            for i in self._blocks:
                below = np.tril(self._A[i, i], -1)
                y[:, i] += x[:, i] @ below.T + x[:, i] @ below + x[:, : i.start] @ self._A[i, : i.start].T
                y[:, : i.start] += x[:, i] @ self._A[i, : i.start]

        engine.run(multiply, spans(len(out), _PROBLEMS_AT_ONCE))
        return out

    def solve(self, B: Array, engine: Threads) -> Array:
        """(A + diag(x) + ε I)⁻¹ for every row of B, in A's precision, by products of blocks that let other threads run."""
        X, U = B.astype(self._A.dtype), self._A  # a copy of B

        def substitute(problems: slice) -> None:
            x = X[problems]
            for i, inverse in zip(self._blocks, self._inverses, strict=True):
                x[:, i] = (x[:, i] - x[:, : i.start] @ U[: i.start, i]) @ inverse
            for i, inverse in zip(self._blocks[::-1], self._inverses[::-1], strict=True):
                x[:, i] = (x[:, i] - x[:, i.stop :] @ U[i, i.stop :].T) @ inverse.T

        engine.run(substitute, spans(len(X), _PROBLEMS_AT_ONCE))
        return X
