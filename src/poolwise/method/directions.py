"""Few directions in place of the many numbers of a cell of second-order pooling.

    by variance   T = U_rᵀ, the directions of largest variance: eq. 11 for the numbers of a cell
    by labels     an orthonormal basis of the weights w that ridge regression gives the numbers of each cell, for several λ

Ridge regression of a target has the weights w with (G + λI) w = b, G the covariance of the numbers of all cells together, b
theirs with the target. A linear classifier on directions that hold every cell's part of w can do what ridge regression could on
all numbers. Where G would be too large, each cell is predicted from alone, and C, one cell's covariance, stands in for it.

C : (M, M) covariance of a cell's numbers, M in the thousands    G : (cells · M, cells · M)    T : (r, M)
B : (M, cells · targets), or (cells · M, targets) with G
"""

import numpy as np
import scipy.linalg

from poolwise.engine.threads import Threads
from poolwise.method.nystrom import Projection, leading_subspace, one_sign, times
from poolwise.support.types import Array

_LEVELS_OF_RIDGE = (10.0, 3.0, 1.0, 0.3, 0.1)  # λ, times the mean variance
_MOST_GRADIENTS, _SMALL_RESIDUAL = 60, 1e-3
_NEGLIGIBLE_SHARE = 1e-3  # of the largest singular value
_NEW_SHARE = 0.1  # of a direction's length that must lie outside of those before it
_TINY = float(np.finfo(np.float32).tiny)


def leading_directions(C: Array, r: int, *, rng: np.random.Generator, engine: Threads) -> Projection:
    """The r directions of largest variance, about, in the time of a few products with r columns; T is float32.

    >>> C = np.diag(0.5 ** np.arange(60))
    >>> with Threads(1) as engine:
    ...     T = leading_directions(C, 2, rng=np.random.default_rng(0), engine=engine).T
    >>> np.allclose(T, np.eye(60)[:2], atol=1e-4)
    True
    """
    Q, inside = leading_subspace(C, r, rng, engine)
    _, U = scipy.linalg.eigh(inside)
    return Projection("direction", one_sign((Q @ U[:, ::-1][:, :r].astype(np.float32)).T))


def predicting_directions(
    C: Array, B: Array, r: int, G: Array | None = None, *, rng: np.random.Generator, engine: Threads
) -> Projection:
    """r directions that hold ridge regression's weights for every target and cell; T is float32.

    Where the weights are fewer, directions of large variance are added; where they are more, their leading singular vectors are
    taken.
    """
    M, targets = len(C), B.shape[1]
    if G is None and targets > r:
        U, sizes, _ = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
        B = U[:, :r] * sizes[:r]
    B = (B / np.maximum(np.linalg.norm(B, axis=0), _TINY)).astype(np.float32)
    square = C if G is None else G
    W, found = np.zeros_like(B), []
    for level in _LEVELS_OF_RIDGE:
        W = _ridge(square, B, level * float(np.trace(square)) / len(square), W, engine)
        unit = W / np.maximum(np.linalg.norm(W, axis=0), _TINY)
        found.append(unit.reshape(-1, M, unit.shape[1]).transpose(1, 0, 2).reshape(M, -1))  # each cell's part a column
    U, sizes, _ = scipy.linalg.svd(np.concatenate(found, axis=1), full_matrices=False, check_finite=False)
    Q = U[:, sizes > _NEGLIGIBLE_SHARE * sizes[0]][:, :r]
    if Q.shape[1] < r:
        Q = _filled_up(Q, leading_directions(C, r, rng=rng, engine=engine).T.T)
    return Projection("direction", one_sign(np.ascontiguousarray(Q.T)))


def _filled_up(Q: Array, leading: Array) -> Array:
    """As many orthonormal columns as `leading` has: Q, and of those the first that are new."""
    rest, R = scipy.linalg.qr(leading - Q @ (Q.T @ leading), mode="economic", check_finite=False)
    order = np.argsort(np.abs(R.diagonal()) < _NEW_SHARE, kind="stable")
    both = np.concatenate([Q, rest[:, order[: leading.shape[1] - Q.shape[1]]]], axis=1)
    return np.asarray(scipy.linalg.qr(both, mode="economic", check_finite=False)[0])


def _ridge(C: Array, B: Array, ridge: float, W: Array, engine: Threads) -> Array:
    """(C + ridge I)⁻¹ B from W on, by conjugate gradients for all columns at once."""
    W = W.copy()
    R = B - times(C, W, engine) - ridge * W
    P, square = R.copy(), np.einsum("ij,ij->j", R, R)
    first = np.maximum(np.einsum("ij,ij->j", B, B), _TINY)
    for _ in range(_MOST_GRADIENTS):
        if (square <= _SMALL_RESIDUAL**2 * first).all():
            break
        Q = times(C, P, engine) + ridge * P
        step = square / np.maximum(np.einsum("ij,ij->j", P, Q), _TINY)
        W += step * P
        R -= step * Q
        before, square = square, np.einsum("ij,ij->j", R, R)
        P = R + square / np.maximum(before, _TINY) * P
    return W
