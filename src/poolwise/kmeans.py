"""The starting dictionary: K-means on whitened patches, and its relatives (stage 4 of the method).

    kmeans      minimise Σᵢ minₖ ‖pᵢ - dₖ‖² by Lloyd's rounds; each centre divided by its norm once, at the end
    centroids   the same, the centres as they are
    spherical   assign to the largest d·p, d ← Σ p, unit norm every round
    omp1        assign to the largest |d·p|, d ← Σ (d·p) p with its sign, unit norm every round
    patches     K random patches, unit norm
    gaussian    K random directions

Given    X : (N, d) float32 patches, K, and a random generator
Stops    when Σ ‖movement of the centres‖² ≤ tol × mean variance of X's columns, or after max_iter rounds
Returns  D : (K, d) float32, K different codes always: no empty cluster, no duplicate, no NaN

A round is a map over a number of shards that depends on N alone, and a reduction in the order of the shards: the codes are
the same bits for any number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from poolwise import kernels
from poolwise.arrays import Array
from poolwise.engine import Threads, product_tile, spans
from poolwise.statistics import Moments

Method = Literal["kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"]
Init = Literal["patches", "noise"]

METHODS = ("kmeans", "centroids", "spherical", "omp1", "patches", "gaussian")

_SHARDS = 32
_LEAST_SHARD = 1024
_NOISE = 0.1
_FAR = 10.0
_SAME = 1e-6  # codes whose cosine is above 1 - _SAME are one code


@dataclass(frozen=True)
class Dictionary:
    """What learning a dictionary gives.

    codes : (K, d) float32    objective : of the assignment in each round, Σ ‖p - d‖² (omp1: Σ ‖p - (d·p) d‖²)
    n_iter : rounds    converged : whether the centres stopped moving
    """

    codes: Array
    objective: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = True


def learn_dictionary(
    X: Array,
    K: int,
    rng: np.random.Generator,
    engine: Threads,
    *,
    method: Method = "kmeans",
    init: Init = "patches",
    max_iter: int = 100,
    tol: float = 1e-4,
    progress: Callable[[int, float], None] | None = None,
) -> Dictionary:
    """Learn K codes from patches.

    `progress(round, objective)` is called after each round. Raises ValueError if X has fewer than K different patches.

    >>> X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    >>> with Threads(1) as engine:
    ...     result = learn_dictionary(X, 10, np.random.default_rng(0), engine)
    >>> result.codes.shape, bool(np.allclose(np.linalg.norm(result.codes, axis=1), 1))
    ((10, 8), True)
    """
    if method == "gaussian":
        return Dictionary(_different(_unit(rng.standard_normal((K, X.shape[1]))), X, rng))
    start = _distinct_patches(X, K, rng)
    if method == "patches":
        return Dictionary(_different(_unit(start), X, rng))
    if init == "noise":
        start = _NOISE * rng.standard_normal((K, X.shape[1]))
    lloyd = method in ("kmeans", "centroids")
    if not lloyd and not X.any():
        raise _too_few(0, K)
    moments = Moments(X.shape[1], diagonal=True)
    for part in engine.map(lambda rows: Moments.of(X[rows], diagonal=True), spans(len(X), _shard_size(len(X)))):
        moments.merge(part)
    mean, variance = moments.mean, moments.variance()
    stop = tol * float(variance.mean())
    least = _SAME * float(np.sqrt((mean**2 + variance).sum()))
    # Lloyd's rounds do not depend on the origin, but p·d - |d|²/2 loses its digits far from it: move there and back.
    far = lloyd and (mean**2).sum() > _FAR * variance.sum()
    origin = mean.astype(np.float32) if far else np.zeros_like(mean, np.float32)
    Y = X - origin if far else X
    C = start - origin if lloyd else _unit(start)
    objective: list[float] = []
    converged = False
    for _ in range(max_iter):
        sums, counts, value = one_round(Y, C, engine, method)
        objective.append(value)
        if progress is not None:
            progress(len(objective), value)
        new = sums / np.maximum(counts, 1)[:, None] if lloyd else _unit(sums)
        empty = np.flatnonzero(counts == 0 if lloyd else np.linalg.norm(sums, axis=1) <= least * counts)
        new[empty] = Y[rng.integers(len(Y), size=len(empty))] if lloyd else _unit(_random_rows(Y, len(empty), rng))
        movement = float(((new - C) ** 2).sum())
        C = new
        if movement <= stop:
            converged = True
            break
    if method == "centroids":
        codes = _different(C + origin, X, rng, spread=float(variance.sum()))
    else:
        codes = _different(_unit(C + origin, least), X, rng, two_sided=method == "omp1")
    return Dictionary(codes, objective, len(objective), converged)


def one_round(X: Array, C: Array, engine: Threads, method: Method = "kmeans") -> tuple[Array, Array, float]:
    """Assign every patch to its best code and sum up: one map over shards, one ordered reduction.

    X : (N, d) float32    C : (K, d)
    returns : sums (K, d) float64, counts (K,), and the objective of this assignment
    """
    K, d = C.shape
    C32 = np.ascontiguousarray(C, np.float32)
    norm2 = (C32.astype(np.float64) ** 2).sum(axis=1)
    signed, lloyd = method == "omp1", method in ("kmeans", "centroids")
    half = (norm2 / 2 if lloyd else np.zeros(K)).astype(np.float32)
    codes, lanes = product_tile(d)

    def shard(rows: slice) -> tuple[Array, Array, float]:
        part = X[rows]
        score, label = np.empty(len(part), np.float32), np.empty(len(part), np.int32)
        kernels.assign_shard(part, C32, half, signed, lanes, codes, score, label)
        sums, counts = np.zeros((K, d)), np.zeros(K, np.int64)
        square = kernels.sum_by_label(part, label, C32, signed, sums, counts)
        score = score.astype(np.float64)
        if signed:
            return sums, counts, square - float((score**2).sum())
        value = square - 2 * float(score.sum())
        return sums, counts, value if lloyd else value + float(norm2[label].sum())

    sums, counts, value = np.zeros((K, d)), np.zeros(K, np.int64), 0.0
    for part_sums, part_counts, part_value in engine.map(shard, spans(len(X), _shard_size(len(X)))):
        sums += part_sums
        counts += part_counts
        value += part_value
    return sums, counts, value


def _shard_size(n: int) -> int:
    return max(_LEAST_SHARD, -(-n // _SHARDS))


def _unit(C: Array, least: float = 0.0) -> Array:
    """Rows divided by their norms; rows no longer than `least`, whose direction is rounding, become zero."""
    norm = np.linalg.norm(np.asarray(C, np.float64), axis=1, keepdims=True)
    return np.where(norm > least, C, 0) / np.where(norm > least, norm, 1)


def _random_rows(X: Array, n: int, rng: np.random.Generator) -> Array:
    """n random patches that have a direction, (n, d)."""
    if n == 0:
        return X[:0]
    return X[rng.choice(np.flatnonzero(X.any(axis=1)), size=n)]


def _distinct_patches(X: Array, K: int, rng: np.random.Generator) -> Array:
    """K different random patches, (K, d) float64."""
    found: dict[bytes, int] = {}
    for i in rng.permutation(len(X)):
        found.setdefault((X[i] + np.float32(0)).tobytes(), int(i))  # + 0: -0.0 and 0.0 are one value
        if len(found) == K:
            return X[list(found.values())].astype(np.float64)
    raise _too_few(len(found), K)


def _too_few(found: int, K: int) -> ValueError:
    return ValueError(
        f"{K} codes were asked for, but there are only {found} different patches to learn them from (patches that differ in "
        f"length alone count once, except for centroids). Give more or more varied images, a larger n_patches, or fewer codes."
    )


def _different(C: Array, X: Array, rng: np.random.Generator, *, two_sided: bool = False, spread: float | None = None) -> Array:
    """C as float32 with every code that repeats an earlier one, or is zero, replaced by a random patch that does not.

    Codes are directions, d and -d the same one if `two_sided`; or, with `spread`, points in data of that total variance.
    """
    C = np.ascontiguousarray(C, np.float32)

    def same(row: Array, others: Array) -> Array:
        if spread is not None:
            return ((others - row) ** 2).sum(axis=1) <= _SAME * spread
        cosine = others @ row
        return (np.abs(cosine) if two_sided else cosine) > 1 - _SAME

    def repeats() -> list[int]:
        return [k for k in range(len(C)) if (spread is None and not C[k].any()) or same(C[k], C[:k]).any()]

    spare = iter(rng.permutation(len(X)))
    for k in repeats():
        others = np.delete(C, k, axis=0)
        for i in spare:
            code = X[i] if spread is not None else _unit(X[i : i + 1])[0]
            if (spread is not None or code.any()) and not same(code, others).any():
                C[k] = code
                break
        else:
            raise _too_few(len(C) - len(repeats()), len(C))
    return C
