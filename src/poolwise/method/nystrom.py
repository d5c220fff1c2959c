"""What K selected codes say about all M, and the projection made from it (paper, section 4, eqs. 6-11).

    W = C[:, 𝒮]                        (7)    the columns of C at the selection
    C ≈ W C_SS⁺ Wᵀ                     (8)    Nyström; its error is trace(C - W C_SS⁺ Wᵀ) / trace(C)
    x ≈ A x_𝒮,  A = W C_SS⁺            (9)    all M outputs from the K selected ones
    x̄ = ΛV x_𝒮,  A = U Λ V            (10)   distances of x̄ are those of A x_𝒮, since U has orthonormal columns
    C ≈ U_K Λ_K U_Kᵀ,  x_K = U_Kᵀ x    (11)   PCA of all M outputs: a bound that no selection passes

C_SS may be near singular: codes that pool alike, or fewer samples than codes. Its pseudo-inverse leaves out eigenvalues of at
most 1e-7 of the largest, which is what the rounding of float32 samples can feign.

C : (M, M) covariance    S, 𝒮 : (K,) indices of the selected codes    A : (M, K)    T = ΛV : (K, K)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg

from poolwise.engine.threads import Threads
from poolwise.kernels.products import FEW, times_few
from poolwise.support.blocks import spans
from poolwise.support.types import Array

Kind = Literal["nystrom", "pca", "direction"]

CUT_OFF = 1e-7  # of the largest eigenvalue
_ROWS_PER_PANEL, ROWS_PER_WIDE_PANEL = 16, 64
_ROWS_PER_BLOCK = 512
_POWERS = 3  # of C, that random directions are multiplied by
_MORE_DIRECTIONS = 48


@dataclass(frozen=True)
class Projection:
    """x ↦ T x in every cell.

    kind : "nystrom" for eq. 10, "pca" for eq. 11, "direction" for those of second-order pooling (`directions`)
    T : (rows, outputs) float64; float32 for "direction", where there are millions of numbers
    """

    kind: Kind
    T: Array

    @cached_property
    def right(self) -> Array:
        """(outputs, rows) float32, Tᵀ: what rows of features are multiplied with."""
        return np.ascontiguousarray(self.T.T, np.float32)

    def __call__(self, X: Array) -> Array:
        """(n, outputs) to (n, rows) float32.

        A product's rounding may depend on its shape, so every one has 16 rows (64 for "direction", where reading T takes
        as long as multiplying); the last is filled up with zeros.
        """
        out = np.empty((len(X), self.right.shape[1]), np.float32)
        panel = np.zeros((ROWS_PER_WIDE_PANEL if self.kind == "direction" else _ROWS_PER_PANEL, X.shape[1]), np.float32)
        for rows in spans(len(X), len(panel)):
            size = rows.stop - rows.start
            panel[:size] = X[rows]
            out[rows] = (panel @ self.right)[:size]
        return out


def _inverse_root(C_SS: Array) -> Array:
    """B with B Bᵀ = C_SS⁺, (K, rank)."""
    eigenvalues, vectors = scipy.linalg.eigh(C_SS)
    kept = eigenvalues > CUT_OFF * max(eigenvalues[-1], 0)
    return vectors[:, kept] / np.sqrt(eigenvalues[kept])


def reconstruction(C: Array, selected: Array) -> Array:
    """A = W C_SS⁺ of eq. 9, (M, K): the identity at the selected rows, unless C_SS is singular.

    >>> C = np.array([[4.0, 2.0], [2.0, 3.0]])
    >>> reconstruction(C, np.array([0]))
    array([[1. ],
           [0.5]])
    """
    W = C[:, selected]
    B = _inverse_root(W[selected])
    return (W @ B) @ B.T


def nystrom_projection(C: Array, selected: Array) -> Projection:
    """T = ΛV of eq. 10, (K, K), largest singular value first.

    From the eigenvalues of AᵀA = VᵀΛ²V. A is the identity at the selected rows, so they are at least 1 and squaring loses
    nothing (those that the cut-off made 0 stay 0). The largest entry of each row is positive, so that T has one sign.
    """
    A = reconstruction(C, selected)
    squares, V = scipy.linalg.eigh(A.T @ A)
    T = np.sqrt(np.maximum(squares[::-1, None], 0)) * V.T[::-1]
    return Projection("nystrom", one_sign(T))


def pca_projection(C: Array, K: int) -> Projection:
    """T = U_Kᵀ of eq. 11, (K, M): the K directions of largest variance, the first the largest."""
    M = len(C)
    _, U = scipy.linalg.eigh(C, subset_by_index=(M - K, M - 1))
    return Projection("pca", one_sign(U.T[::-1]))


def one_sign(T: Array) -> Array:
    largest = np.abs(T).argmax(axis=1)
    return T * np.where(T[np.arange(len(T)), largest] < 0, -1.0, 1.0)[:, None].astype(T.dtype)


def approximation_error(C: Array, selected: Array) -> float:
    """trace(C - W C_SS⁺ Wᵀ) / trace(C): the share of variance that the selection does not explain; 0 if there is none.

    >>> round(approximation_error(np.diag([3.0, 1.0]), np.array([0])), 12)
    0.25
    """
    return unexplained(C, float(approximate_spectrum(C, selected).sum()))


def pca_error(C: Array, T: Array) -> float:
    """The same for T = `pca_projection(C, K)`: trace(C - C TᵀT) / trace(C). No selection of K codes has less."""
    return unexplained(C, float(np.vdot(T @ C, T)))


def unexplained(C: Array, explained: float) -> float:
    """The share of trace(C), the variance of all outputs, that is not explained; 0 if there is none.

    >>> unexplained(np.diag([3.0, 1.0]), 3.0)
    0.25
    """
    whole = float(np.trace(C))
    return max(0.0, 1 - explained / whole) if whole > 0 else 0.0


def spectrum(C: Array) -> Array:
    """(M,) eigenvalues of C, the largest first."""
    return np.asarray(scipy.linalg.eigvalsh(C)[::-1])


def leading_spectrum(C: Array, count: int, *, rng: np.random.Generator, engine: Threads) -> Array:
    """(count,) about the largest eigenvalues of C, the largest first, in the time of a few products with a thin matrix.

    Randomised subspace iteration (Halko, Martinsson and Tropp 2011): the subspace of `count` and some more random directions is
    multiplied by C a few times, and C's eigenvalues inside it are never larger than C's own. Products are in float32, in
    blocks of rows, so no copy of C is made.

    >>> C = np.diag(0.8 ** np.arange(60))
    >>> with Threads(1) as engine:
    ...     found = leading_spectrum(C, 5, rng=np.random.default_rng(0), engine=engine)
    >>> np.allclose(found, spectrum(C)[:5], rtol=1e-4)
    True
    """
    _, inside = leading_subspace(C, min(count, len(C)), rng, engine)
    return np.maximum(scipy.linalg.eigvalsh(inside)[::-1][:count], 0)


def times(C: Array, Q: Array, engine: Threads) -> Array:
    """C Q in float32, in blocks of rows, so that no copy of C is made."""
    return np.concatenate(list(engine.map(_rows_times, spans(len(C), _ROWS_PER_BLOCK), C, np.ascontiguousarray(Q.T))))


def _rows_times(rows: slice, C: Array, columns: Array) -> Array:
    block = C[rows].astype(np.float32, copy=False)
    if len(columns) > FEW:
        return block @ columns.T
    out = np.empty((len(columns), len(block)), np.float32)
    times_few(block, columns, out)
    return out.T


def leading_subspace(C: Array, count: int, rng: np.random.Generator, engine: Threads) -> tuple[Array, Array]:
    """Q : (M, count and some more) float32, orthonormal columns; and QᵀCQ in float64."""
    M = len(C)
    Q = rng.normal(size=(M, min(M, count + _MORE_DIRECTIONS))).astype(np.float32)
    for _ in range(_POWERS):
        Q = scipy.linalg.qr(times(C, Q, engine), mode="economic", overwrite_a=True, check_finite=False)[0]
    inside = (Q.T @ times(C, Q, engine)).astype(np.float64)
    return Q, (inside + inside.T) / 2


def approximate_spectrum(C: Array, selected: Array) -> Array:
    """(K,) eigenvalues of W C_SS⁺ Wᵀ that are not 0, the largest first (0 where C_SS has less than full rank)."""
    W = C[:, selected]
    root = W @ _inverse_root(W[selected])
    eigenvalues = np.zeros(len(selected))
    found = scipy.linalg.eigvalsh(root.T @ root)[::-1]
    eigenvalues[: len(found)] = np.maximum(found, 0)
    return eigenvalues
