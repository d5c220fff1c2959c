"""Correlations of a covariance."""

import numpy as np

from poolwise.support.types import Array


def correlation(C: Array) -> Array:
    """(M, M) correlations of a covariance; 0 for codes that do not vary.

    >>> correlation(np.array([[4.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    std = np.sqrt(np.maximum(np.diagonal(C), 0))
    std = np.where(std > 0, std, np.inf)
    return np.asarray(C / std[:, None] / std)


def inverse_std(variance: Array) -> Array:
    """1 / standard deviation; 0 where there is none."""
    std = np.sqrt(np.maximum(variance, 0))
    return np.divide(1, std, out=np.zeros_like(std), where=std > 0)
