"""Probabilities from margins: a sigmoid for each class, fitted to margins of samples that were held out (Platt 1999).

    p(f) = 1 / (1 + exp(a f + b)),   minimising  - Σ s [t log p + (1 - t) log(1 - p)]

t is (n₊ + 1) / (n₊ + 2) for samples of the class and 1 / (n₋ + 2) for the others, so that no probability is 0 or 1. Newton's
steps with a line search, as Lin, Lin and Weng (2007) have them. Of several classes the probabilities are divided by their sum.

F : (n, classes) margins, NaN where they are not known, or (n, 1) of the second of two    sigmoid : (classes or 1, 2), a and b
"""

import numpy as np

from poolwise.support.types import Array

_MOST_ROUNDS = 100
_RIDGE = 1e-12
_SMALL_GRADIENT = 1e-9  # per sample
_LEAST_STEP = 1e-10


def fit_sigmoids(F: Array, label: Array, weight: Array) -> Array:
    """(columns of F, 2) from held-out margins; label : (n,) class numbers    weight : (n,), 1 on average"""
    classes = [1] if F.shape[1] == 1 else range(F.shape[1])
    found = []
    for f, c in zip(F.T, classes, strict=True):
        known = np.isfinite(f)
        found.append(fit_sigmoid(f[known], label[known] == c, weight[known]))
    return np.array(found)


def fit_sigmoid(f: Array, positive: Array, weight: Array) -> tuple[float, float]:
    """a and b of one class.

    >>> a, b = fit_sigmoid(np.array([-1.0, -0.5, 0.5, 1.0]), np.array([False, False, True, True]), np.ones(4))
    >>> a < 0, abs(b) < 1e-6
    (True, True)
    """
    f = f.astype(np.float64)
    up, down = float(weight[positive].sum()), float(weight[~positive].sum())
    t = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))
    ab = np.array([0.0, np.log((down + 1) / (up + 1))])

    def loss(ab: Array) -> float:
        z = ab[0] * f + ab[1]
        return float((weight * (t * z + np.logaddexp(0, -z))).sum())

    value, total = loss(ab), max(up + down, _RIDGE)
    X = np.column_stack([f, np.ones_like(f)])
    for _ in range(_MOST_ROUNDS):
        p = 1 / (1 + np.exp(np.clip(X @ ab, -500, 500)))
        gradient = X.T @ (weight * (t - p))
        if np.abs(gradient).max() < _SMALL_GRADIENT * total:
            break
        H = (X * (weight * p * (1 - p))[:, None]).T @ X + _RIDGE * total * np.eye(2)
        step, size = np.linalg.solve(H, gradient), 1.0
        while size > _LEAST_STEP:
            lower = loss(ab - size * step)
            if lower < value - 1e-4 * size * float(gradient @ step):
                ab, value = ab - size * step, lower
                break
            size /= 2
        else:
            break
    return float(ab[0]), float(ab[1])


def probabilities(F: Array, sigmoid: Array) -> Array:
    """(n, classes), rows sum up to 1.

    >>> probabilities(np.array([[0.0], [2.0]]), np.array([[-1.0, 0.0]])).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """
    p = 1 / (1 + np.exp(np.clip(F * sigmoid[:, 0] + sigmoid[:, 1], -500, 500)))
    if p.shape[1] == 1:
        return np.hstack([1 - p, p])
    return p / p.sum(axis=1, keepdims=True)  # never 0, thanks to the clip
