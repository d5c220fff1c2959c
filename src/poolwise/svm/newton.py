"""Newton's step for the squared hinge: ridge regression on the samples inside the margin.

Where y f ≥ 1 a sample has no loss; on the others, A, the objective is  S⁻¹ Σ_A s (y - f)² + γ |w|²,  whose minimum is known:

    few samples       (X_A X_Aᵀ + diag(γS/s)) β = y - b,   Σ β = 0,   w = X_Aᵀ β
    few features      (Z diag(s) Zᵀ + γS I) w = Z s (y - ȳ),   Z = (X_A - x̄)ᵀ,   b = ȳ - x̄·w

Once A is right, a single step ends at the minimum. Each costs the third power of the smaller number: it is for small problems
and for those with few samples inside the margin, where M is far from the Hessian.

X_A : (a, d) rows less their mean    K : (a, a) = X_A X_Aᵀ    y, s : (a,) ±1 and weights    S : Σ s over all samples
"""

from collections.abc import Iterable

import numpy as np
import scipy.linalg

from poolwise.support.types import Array


def ridge_by_samples(K: Array, y: Array, s: Array, gamma_S: float) -> tuple[Array, float]:
    """β : (a,) and b; K is read on and below its diagonal, and overwritten.

    >>> beta, b = ridge_by_samples(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0]), np.ones(2), 1.0)
    >>> beta.round(6), round(b, 6) + 0.0
    (array([ 0.333333, -0.333333]), 0.0)
    """
    K.ravel()[:: len(K) + 1] += gamma_S / s
    u, v = _solve(K, np.column_stack([np.ones(len(y)), y])).T
    b = v.sum() / u.sum()
    return v - b * u, float(b)


def ridge_by_features(blocks: Iterable[Array], y: Array, s: Array, gamma_S: float) -> tuple[Array, float]:
    """w : (d,) and b. X_A comes in blocks of rows, so that H, (d, d), is all the memory that is needed.

    >>> w, b = ridge_by_features([np.array([[1.0]]), np.array([[-1.0]])], np.array([1.0, -1.0]), np.ones(2), 1.0)
    >>> w.round(6), round(b, 6) + 0.0
    (array([0.666667]), 0.0)
    """
    y_mean, total, done = np.average(y, weights=s), s.sum(), 0
    H, right, first = np.zeros(()), np.zeros(()), np.zeros(())
    for X in blocks:
        weight = s[done : done + len(X), None]
        right = right + X.T @ (weight[:, 0] * (y[done : done + len(X)] - y_mean))
        first = first + (weight * X).sum(axis=0)
        H = H + X.T @ (weight * X)
        done += len(X)
    x_mean = first / total
    H -= np.outer(total * x_mean, x_mean)  # rows come less the mean of all of them, so little is lost here
    H.ravel()[:: len(H) + 1] += gamma_S
    w = _solve(H, right[:, None])[:, 0]
    return w, float(y_mean - x_mean @ w)


def _solve(H: Array, right: Array) -> Array:
    """H⁻¹ right for a positive definite H, which is read on and below its diagonal and overwritten: scaled to ones on it."""
    scale = 1 / np.sqrt(H.diagonal())
    H *= scale[:, None]
    H *= scale
    H.ravel()[:: len(H) + 1] += 4 * len(H) * np.finfo(np.float64).eps
    # H.T is what LAPACK can overwrite without a copy; what is below H's diagonal is above its own
    factor = scipy.linalg.cho_factor(H.T, lower=False, overwrite_a=True, check_finite=False)
    solved: Array = scipy.linalg.cho_solve(factor, right * scale[:, None], check_finite=False) * scale[:, None]
    return solved


def flops(a: int, d: int, *, kernel_known: bool) -> float:
    """Of one step, counted four times for its factor, which runs in float64 and on one thread."""
    m = min(a, d)
    return 4 * m**3 / 3 + (0 if kernel_known else 4.0 * a * d * m)
