"""Probabilities from margins: a softmax with one slope, fitted to margins of samples that were held out.

    p_c = exp(β f_c) / Σ exp(β f)       β > 0 minimises  - Σ s [(1 - ε) log p_y + ε mean log p]

One slope for all classes leaves their order as it is, so that the most probable class is the one that is predicted. ε = 0.001
keeps β finite where every held-out sample is right. Of two classes f/2 and -f/2 are the margins.

F : (n, k) margins, NaN where a class was not learned, or (n, 1) of the second of two    s : (n,) weights
"""

import numpy as np
import scipy.optimize
import scipy.special

from poolwise.support.types import Array

_LOG_RANGE = (-12.0, 12.0)  # of β times the margins' size
_SMOOTHING = 1e-3  # ε


def fit_slope(F: Array, label: Array, weight: Array) -> float:
    """β from held-out margins; label : (n,) class numbers

    >>> F = np.array([[1.0, -1.0], [0.5, -0.5], [-1.0, 1.0], [0.2, -0.2]])
    >>> fit_slope(F, np.array([0, 0, 1, 1]), np.ones(4)) > 0
    True
    """
    F = _of_all_classes(F.astype(np.float64))
    known = np.isfinite(F[np.arange(len(F)), label]) & (weight > 0)
    F, label, weight = F[known], label[known], weight[known] / max(float(weight.max()), np.finfo(np.float64).tiny)
    size = np.nanmax(np.abs(F), initial=0.0)
    if size == 0:
        return 1.0
    F = np.where(np.isnan(F), -np.inf, F) / size
    finite = np.where(np.isfinite(F), F, 0)
    wanted = (1 - _SMOOTHING) * finite[np.arange(len(F)), label] + _SMOOTHING * finite.sum(axis=1) / np.isfinite(F).sum(axis=1)

    def rise(log_slope: float) -> float:
        """Of the loss: the margin expected under p less the one that is wanted; it only grows."""
        p = scipy.special.softmax(np.exp(log_slope) * F, axis=1)
        return float((weight * ((p * finite).sum(axis=1) - wanted)).sum())

    low, high = _LOG_RANGE
    if rise(low) >= 0 or rise(high) <= 0:
        return float(np.exp(low if rise(low) >= 0 else high) / size)
    return float(np.exp(scipy.optimize.brentq(rise, low, high, xtol=1e-13)) / size)


def probabilities(F: Array, slope: float) -> Array:
    """(n, k), rows sum up to 1.

    >>> probabilities(np.array([[0.0], [2.0]]), 1.0).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """
    Z = slope * _of_all_classes(F)
    Z = np.exp(Z - Z.max(axis=1, keepdims=True))
    return Z / Z.sum(axis=1, keepdims=True)


def _of_all_classes(F: Array) -> Array:
    return np.hstack([-F, F]) / 2 if F.shape[1] == 1 else F
