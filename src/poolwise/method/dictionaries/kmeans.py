"""The starting dictionary: K-means on whitened patches, and its relatives (stage 4 of the method).

    kmeans      minimise Σᵢ minₖ ‖pᵢ - dₖ‖² by Lloyd's rounds; each centre divided by its norm once, at the end
    centroids   the same, the centres as they are
    spherical   assign to the largest d·p, d ← Σ p, unit norm every round
    omp1        assign to the largest |d·p|, d ← Σ (d·p) p with its sign, unit norm every round

Given    X : (N, d) float32 patches that an engine holds, K, and a random generator
Stops    when Σ ‖movement of the centres‖² ≤ tol × mean variance of X's columns, or after max_iter rounds
Returns  D : (K, d) float32, K different codes always: no empty cluster, no duplicate, no NaN

A round is a map over a number of shards that depends on N alone, and a reduction in the order of the shards: the codes are
the same bits for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolwise.method.dictionaries.base import (
    SAME_COSINE,
    Dictionary,
    Learner,
    different,
    distinct_patches,
    random_rows,
    shard_size,
    too_few,
    unit,
)
from poolwise.method.statistics import Moments
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Number, Whole, parameter
from poolwise.support.progress import Update, silent
from poolwise.support.steps import current, set_state, state_of

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

Method = Literal["kmeans", "centroids", "spherical", "omp1"]
Init = Literal["patches", "noise"]

_NOISE_STD = 0.1
_FAR_VARIANCES = 10.0  # a squared mean above that many variances is far from the origin


@dataclass(frozen=True, repr=False)
class KMeans(Learner):
    """Codes by K-means or one of its relatives.

    Parameters
    ----------
    method : {"kmeans", "centroids", "spherical", "omp1"}
        K-means with codes of unit norm, or its centres as they are; spherical K-means; OMP-1, spherical with sign.
    init : {"patches", "noise"}
        Where its rounds start: random patches, or 0.1 × Gaussian noise.
    max_iter : int
        Most rounds.
    tol : float
        Rounds stop when the centres' summed squared movement is at most tol × the patches' mean variance.
    """

    words = ("kmeans", "centroids", "spherical", "omp1")
    word_field = "method"

    method: Method = parameter("kmeans", Choice(words), "How codes are learned.", "--dictionary")
    init: Init = parameter("patches", Choice(("patches", "noise")), "Where K-means starts.")
    max_iter: int = parameter(100, Whole(), "Most rounds of K-means.")
    tol: float = parameter(1e-4, Number(), "Stop when the centres move no more than this.")

    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        return learn_dictionary(X, K, self, rng=rng, update=update)


def learn_dictionary(X: Held, K: int, kmeans: KMeans, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
    """Learn K codes from patches. Raises ValueError if X has fewer than K different patches.

    >>> from poolwise.engine.threads import HeldArray, Threads
    >>> X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    >>> with Threads(1) as engine:
    ...     result = learn_dictionary(HeldArray(X, engine), 10, KMeans(), rng=np.random.default_rng(0))
    >>> result.codes.shape, bool(np.allclose(np.linalg.norm(result.codes, axis=1), 1))
    ((10, 8), True)
    """
    (N, d), method = X.shape, kmeans.checked().method
    work = current()
    known = work.load("rounds", {"codes": ("float64", (K, d)), "objective": ("float64", (None,))})
    if known is None:
        start = distinct_patches(X, K, rng)
        if kmeans.init == "noise":
            start = _NOISE_STD * rng.standard_normal((K, d))
    lloyd = method in ("kmeans", "centroids")
    if not lloyd and not any(X.map(np.any, size=shard_size(N))):
        raise too_few(0, K)
    moments = Moments(d, diagonal=True)
    for part in X.map(_variances, size=shard_size(N)):
        moments.merge(part)
    mean, variance = moments.mean, moments.variance()
    stop = kmeans.tol * float(variance.mean())
    least = SAME_COSINE * float(np.sqrt((mean**2 + variance).sum()))
    # Lloyd's rounds do not depend on the origin, but p·d - |d|²/2 loses its digits far from it: move there and back.
    far = lloyd and (mean**2).sum() > _FAR_VARIANCES * variance.sum()
    origin = mean.astype(np.float32) if far else None
    objective: list[float] = []
    converged = False
    if known is None:
        C = _less(start, origin) if lloyd else unit(start)
    else:
        C, objective = known["codes"], known["objective"].tolist()
        set_state(rng, known.fact("random", list))
    for _ in range(len(objective), kmeans.max_iter):
        sums, counts, value = one_round(X, C, kmeans.method, origin)
        objective.append(value)
        update(len(objective), f"objective {value:.6g}")
        new = sums / np.maximum(counts, 1)[:, None] if lloyd else unit(sums)
        empty = np.flatnonzero(counts == 0 if lloyd else np.linalg.norm(sums, axis=1) <= least * counts)
        if lloyd:
            new[empty] = _less(X.take(rng.integers(N, size=len(empty))), origin)
        else:
            new[empty] = unit(random_rows(X, len(empty), rng))
        movement = float(((new - C) ** 2).sum())
        C = new
        if movement <= stop:
            converged = True
            break
        if work.is_due("rounds"):
            work.save("rounds", {"codes": C, "objective": np.array(objective)}, {"random": state_of(rng)})
    codes = C if origin is None else C + origin
    if method == "centroids":
        codes = different(codes, X, rng=rng, spread=float(variance.sum()))
    else:
        codes = different(unit(codes, least), X, rng=rng, two_sided=method == "omp1")
    return Dictionary(codes, objective, len(objective), converged)


def one_round(X: Held, C: Array, method: Method = "kmeans", origin: Array | None = None) -> tuple[Array, Array, float]:
    """Assign every patch to its best code and sum up: one map over shards, one ordered reduction.

    X : (N, d) float32    C : (K, d)    origin : (d,), subtracted from the patches first
    returns : sums (K, d) float64, counts (K,), and the objective of this assignment
    """
    Choice(KMeans.words).check("KMeans.method", method)
    K, d = C.shape
    C32 = np.ascontiguousarray(C, np.float32)
    sums, counts, value = np.zeros((K, d)), np.zeros(K, np.int64), 0.0
    for part_sums, part_counts, part_value in X.map(_assign, C32, method, origin, size=shard_size(X.shape[0])):
        sums += part_sums
        counts += part_counts
        value += part_value
    return sums, counts, value


def _assign(X: Array, C: Array, method: Method, origin: Array | None) -> tuple[Array, Array, float]:
    """One shard's part of a round."""
    from poolwise.engine.blas import product_tile
    from poolwise.kernels import kmeans as loops

    (K, d), signed, lloyd = C.shape, method == "omp1", method in ("kmeans", "centroids")
    X = _less(X, origin)
    norm2 = (C.astype(np.float64) ** 2).sum(axis=1)
    half = (norm2 / 2 if lloyd else np.zeros(K)).astype(np.float32)
    codes, lanes = product_tile(d)
    score, label = np.empty(len(X), np.float32), np.empty(len(X), np.int32)
    loops.assign_shard(X, C, half, signed, lanes, codes, score, label)
    sums, counts = np.zeros((K, d)), np.zeros(K, np.int64)
    square = loops.sum_by_label(X, label, C, signed, sums, counts)
    score = score.astype(np.float64)
    if signed:
        return sums, counts, square - float((score**2).sum())
    value = square - 2 * float(score.sum())
    return sums, counts, value if lloyd else value + float(norm2[label].sum())


def _variances(block: Array) -> Moments:
    return Moments.of(block, diagonal=True)


def _less(X: Array, origin: Array | None) -> Array:
    return X if origin is None else X - origin
