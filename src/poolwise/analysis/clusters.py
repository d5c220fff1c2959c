"""What pooling made alike: correlations of codes with their exemplars, and all codes in an order in which clusters show.

    ρ_i = C_{i e} / sqrt(C_ii C_ee),   e the exemplar of i

A code with several sides has as many outputs, which count as samples of it: their covariances are added, as for selection.

C : (sides · M, sides · M) covariance of outputs, or (M, M) of the first of each code where it was selected with labels
cluster : (M,) exemplar of each candidate    selected : (K,)
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from poolwise.analysis.correlation import correlation, inverse_std
from poolwise.support.types import Array


def correlations_after(C: Array, cluster: Array) -> Array:
    """(M,) correlation of each candidate with its exemplar over pooled samples; 0 where either does not vary.

    >>> correlations_after(np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([0, 0]))
    array([1. , 0.5])
    """
    M = len(cluster)
    variance, shared = np.zeros(M), np.zeros(M)
    for start in range(0, len(C), M):
        variance += np.diagonal(C)[start : start + M]
        shared += C[np.arange(M) + start, cluster + start]
    return _correlation(shared, variance, cluster)


@dataclass(frozen=True)
class Sums:
    """Of a block of activations before pooling: patches, and per side and candidate Σ f, Σ f², Σ f f_e; e the exemplar."""

    n: int
    total: Array
    square: Array
    product: Array

    @classmethod
    def of(cls, F: Array, cluster: Array, sides: int = 1) -> "Sums":
        """F : (patches, sides · M)"""
        parts = F.reshape(len(F), sides, len(cluster))
        total = parts.sum(axis=0, dtype=np.float64)
        square, product = np.einsum("ijk,ijk->jk", parts, parts), np.einsum("ijk,ijk->jk", parts, parts[:, :, cluster])
        return cls(len(F), total, square.astype(np.float64), product.astype(np.float64))


def correlations_before(blocks: Iterable[Sums], cluster: Array) -> Array:
    """(M,) the same over single patches, before pooling, from the sums of their blocks."""
    parts = list(blocks)
    n = sum(part.n for part in parts)
    if n == 0:
        raise ValueError("there are no patches to correlate over")
    mean, square, product = (sum(getattr(part, name) for part in parts) / n for name in ("total", "square", "product"))
    variance = np.maximum(square - mean**2, 0).sum(axis=0)
    shared = (product - mean * mean[:, cluster]).sum(axis=0)
    return _correlation(shared, variance, cluster)


def _correlation(shared: Array, variance: Array, cluster: Array) -> Array:
    scale = np.sqrt(np.maximum(variance, 0) * np.maximum(variance[cluster], 0))
    return np.clip(np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0), -1, 1)


def order_of_codes(C: Array, M: int, selected: Array) -> Array:
    """(K,) ranks of the selected codes in an order in which neighbours respond alike after pooling.

    By the angle of each in the plane of the two largest directions of their correlation: a circle cut once, so that both of its
    ends are neighbours too.
    """
    K = len(selected)
    if K < 3:
        return np.arange(K)
    R = np.zeros((K, K))
    for start in range(0, len(C), M):
        R += C[np.ix_(selected + start, selected + start)]
    _, U = scipy.linalg.eigh(correlation(R), subset_by_index=(K - 2, K - 1))
    angle = np.arctan2(U[:, 0] - np.median(U[:, 0]), U[:, 1] - np.median(U[:, 1]))
    return np.argsort(angle, kind="stable")


def order_of_candidates(order: Array, selected: Array, cluster: Array, closeness: Array) -> Array:
    """(M,) candidates cluster by cluster: clusters in the order of their codes, in each the exemplar and then the closest."""
    place = np.empty(int(selected.max()) + 1, np.int64)
    place[selected[order]] = np.arange(len(selected))
    is_other = cluster != np.arange(len(cluster))
    return np.lexsort((-closeness, is_other, place[cluster]))


def members_of(cluster: Array, selected: Array, closeness: Array) -> list[Array]:
    """For each selected code the other candidates that it represents, the closest first.

    >>> members_of(np.array([0, 0, 2, 0]), np.array([0, 2]), np.array([1.0, 0.2, 1.0, 0.7]))
    [array([3, 1]), array([], dtype=int64)]
    """
    order = np.lexsort((-closeness, cluster))
    order = order[cluster[order] != order]
    ends = np.searchsorted(cluster[order], selected, side="right")
    starts = np.searchsorted(cluster[order], selected, side="left")
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]


def similarity_picture(C: Array, M: int, order: Array, most: int) -> Array:
    """Correlations of all pairs of codes in this order, (size, size) float32 in -1..1, size at most `most`.

    Where there are more codes than pixels, a pixel is the mean over its pairs: A C Aᵀ, where a row of the sparse A has, for the
    codes of one pixel, 1 / (their number · their standard deviation). One pass over C, and no copy of it.
    """
    size = min(most, M)
    edges = np.linspace(0, M, size + 1).astype(np.int64)
    variance = np.add.reduce([np.diagonal(C)[start : start + M] for start in range(0, len(C), M)])
    inverse = inverse_std(variance)[order]
    A = csr_array((inverse / np.repeat(np.diff(edges), np.diff(edges)), order, edges), shape=(size, M))
    return np.add.reduce([A @ (A @ C[at : at + M, at : at + M]).T for at in range(0, len(C), M)]).astype(np.float32)
