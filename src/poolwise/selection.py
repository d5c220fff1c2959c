"""The ways to choose K of M codes from how they respond after pooling (stage 10 of the method), behind one function.

    affinity    affinity propagation on eq. 1's similarity, searched for exactly K      the paper
    kmedoids    the same objective, random codes swapped while that gains               Schubert and Rousseeuw 2021
    greedy      the largest gain in explained covariance at each step                   Farahat, Ghodsi, Kamel 2011
    cholesky    the largest variance left unexplained at each step                      pivoted Cholesky
    random      K codes, uniformly                                                      the baseline of any claim
    authors     affinity with the published experiment's quirks, for replication

A way is a function (C, K, rng, engine, progress) -> Selection; a new one is one more function in WAYS.

C : (M, M) covariance of pooled activations    selected : (K,) ascending    cluster : (M,)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from poolwise.affinity import Messages, Propagation, find_exemplars, has_variance, nearest_exemplar, outcome, similarity
from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.medoids import Exemplars

Way = Literal["affinity", "kmedoids", "greedy", "cholesky", "random", "authors"]
Progress = Callable[[int, str], None] | None

_NOTHING_LEFT = 1e-12
_BLOCK = 64
_BISECTIONS = 20
_DAMPING = 0.8
_ROUNDS = 200


@dataclass(frozen=True)
class Selection:
    """K of M codes.

    selected : (K,) ascending indices    label : (M,) for each code the rank in `selected` of the one that stands for it
    propagation : how the messages went, for `affinity` and `authors`; None where there was nothing to choose
    """

    selected: Array
    label: Array
    propagation: Propagation | None = None

    @property
    def cluster(self) -> Array:
        """(M,) for each code the index of the one that stands for it."""
        return self.selected[self.label]


def select(C: Array, K: int, way: Way, rng: np.random.Generator, engine: Threads, progress: Progress = None) -> Selection:
    """Choose exactly K of the M codes whose pooled responses have covariance C.

    Codes without variance are selected last; each stands with a selected one of its like or, if there is none, with the first.

    >>> C = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> with Threads(1) as engine:
    ...     found = select(C, 2, "greedy", np.random.default_rng(0), engine)
    >>> found.selected, found.cluster
    (array([0, 2]), array([0, 0, 2]))
    """
    M = len(C)
    if not 1 <= K <= M:
        raise ValueError(f"{K} codes cannot be selected from {M} candidates")
    varies = np.flatnonzero(has_variance(C))
    if len(varies) == M:
        return WAYS[way](C, K, rng, engine, progress)
    if len(varies) <= K:
        dead = np.setdiff1d(np.arange(M), varies)
        selected = np.sort(np.concatenate([varies, dead[: K - len(varies)]]))
        return Selection(selected, nearest_exemplar(similarity(C), selected))
    part = WAYS[way](C[np.ix_(varies, varies)], K, rng, engine, progress)
    label = np.zeros(M, part.label.dtype)
    label[varies] = part.label
    return Selection(varies[part.selected], label, part.propagation)


def _affinity(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    found = find_exemplars(similarity(C), K, engine, rng, progress=progress)
    return Selection(found.exemplars, found.label, found)


def _kmedoids(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    exemplars = Exemplars(similarity(C), rng.choice(len(C), K, replace=False))
    exemplars.bring_to(K).improve()
    return Selection(np.sort(exemplars.chosen), exemplars.labels())


def _greedy(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    return _with_nearest(C, pivots(C, K, "gain", progress))


def _cholesky(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    return _with_nearest(C, pivots(C, K, "variance", progress))


def _random(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    return _with_nearest(C, rng.choice(len(C), K, replace=False))


def _authors(C: Array, K: int, rng: np.random.Generator, engine: Threads, progress: Progress) -> Selection:
    """Affinity propagation as in the published experiment, for replication only.

    s(i, j) = (R_ij - R_ii/2 - R_jj/2) (1 + u), R = C_ij / (s_i s_j), s_i = sqrt(C_ii² + 0.01), u uniform in 0..1; at most 20
    bisections of the preference between the least and the largest s, each from scratch; the last is brought to K.
    """
    scale = np.sqrt(np.diagonal(C) ** 2 + 0.01)
    half = np.diagonal(C) / scale**2 / 2
    S = np.empty(C.shape, np.float32)
    for rows in spans(len(C), _BLOCK):
        R = C[rows] / (scale[rows, None] * scale)
        S[rows] = np.minimum(R - half[rows, None] - half, 0) * (1 + rng.random(R.shape))
    low, high = float(S.min()), float(S.max())
    messages = Messages(S, engine, _DAMPING)
    for bisection in range(_BISECTIONS):
        preference = (low + high) / 2
        messages.forget()
        settled = messages.settle(preference, _ROUNDS)
        count = int(messages.is_exemplar.sum())
        if progress is not None:
            progress(bisection + 1, f"{count} exemplars at a preference of {preference:.4g}")
        if count == K:
            break
        low, high = (preference, high) if count < K else (low, preference)
    chosen, net = np.flatnonzero(messages.is_exemplar), messages.net_similarity
    np.fill_diagonal(S, 0)
    exemplars = Exemplars(np.ascontiguousarray(S.T), chosen if count else np.zeros(1)).bring_to(K)
    found = outcome(messages, exemplars, net, preference, settled, bisection + 1)
    return Selection(found.exemplars, found.label, found)


WAYS: dict[str, Callable[[Array, int, np.random.Generator, Threads, Progress], Selection]] = {
    "affinity": _affinity,
    "kmedoids": _kmedoids,
    "greedy": _greedy,
    "cholesky": _cholesky,
    "random": _random,
    "authors": _authors,
}


def _with_nearest(C: Array, chosen: Array) -> Selection:
    """Each code stands with the selected one most similar to it."""
    selected = np.sort(chosen)
    return Selection(selected, nearest_exemplar(similarity(C), selected))


def pivots(C: Array, K: int, score: Literal["gain", "variance"], progress: Progress = None) -> Array:
    """K pivots of a Cholesky factorisation of C, (K,) in the order in which they were taken.

    With E = C - L Lᵀ what t pivots leave unexplained, `variance` takes the largest E_jj, and `gain` the largest ‖E_j‖² / E_jj,
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
        if progress is not None:
            progress(t + 1, f"{left.sum() / np.trace(C):.1%} unexplained")
    return chosen
