"""Codes taken one by one, as the pivots of a Cholesky factorisation of their covariance.

    E = C - Lᵀ L      what the pivots so far leave unexplained
    greedy            takes the largest ‖E_j‖² / E_jj, by which trace(E) falls when j is added    Farahat, Ghodsi, Kamel 2011
    cholesky          takes the largest E_jj                                                      pivoted Cholesky

C : (M, M) covariance    L : (K, M), its rows are columns of the factor
"""

from typing import Any, Literal

import numpy as np

from poolwise.method.selection.choosing import Selection, nearest_exemplar, similarity
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array

_NOTHING_LEFT = 1e-12  # of the largest variance


def greedy(C: Array, K: int, *, update: Update = silent, **unused: Any) -> Selection:
    """The largest gain in explained covariance at each step."""
    return with_nearest(C, pivots(C, K, "gain", update))


def cholesky(C: Array, K: int, *, update: Update = silent, **unused: Any) -> Selection:
    """The largest variance left unexplained at each step."""
    return with_nearest(C, pivots(C, K, "variance", update))


def uniform(C: Array, K: int, *, rng: np.random.Generator, **unused: Any) -> Selection:
    """K codes at random: the baseline of any claim."""
    return with_nearest(C, rng.choice(len(C), K, replace=False))


def with_nearest(C: Array, chosen: Array) -> Selection:
    """Each code is represented by the selected one most similar to it."""
    selected = np.sort(chosen)
    return Selection(selected, len(C), nearest_exemplar(similarity(C), selected))


def pivots(C: Array, K: int, score: Literal["gain", "variance"], update: Update = silent) -> Array:
    """K pivots of a Cholesky factorisation of C, (K,) in the order in which they were taken.

    With E = C - Lᵀ L what t pivots leave unexplained, `variance` takes the largest E_jj, and `gain` the largest ‖E_j‖² / E_jj,
    by which trace(E) falls when j is added. ‖E_j‖² is kept up to date in one product with C per step (Farahat et al. 2011).
    Where nothing is left to explain, the first codes not yet taken fill up.
    """
    M = len(C)
    C = np.ascontiguousarray(C, np.float64)
    L = np.zeros((K, M))
    left = np.diagonal(C).copy()
    square = np.einsum("ij,ij->i", C, C) if score == "gain" else left
    free, nothing = np.ones(M, np.bool_), _NOTHING_LEFT * left.max()
    chosen = np.empty(K, np.int64)
    for t in range(K):
        open_ = free & (left > nothing)
        if not open_.any():
            chosen[t:] = np.flatnonzero(free)[: K - t]
            break
        value = square / np.where(open_, left, 1) if score == "gain" else left
        j = int(np.where(open_, value, -np.inf).argmax())
        chosen[t], free[j] = j, False
        column = (C[j] - L[:t, j] @ L[:t]) / np.sqrt(left[j])
        if score == "gain":
            E_column = C @ column - (L[:t] @ column) @ L[:t]
            square = np.maximum(square - 2 * column * E_column + (column @ column) * column**2, 0)
        L[t] = column
        left = np.maximum(left - column**2, 0)
        update(t + 1, f"{left.sum() / np.trace(C):.1%} unexplained")
    return chosen
