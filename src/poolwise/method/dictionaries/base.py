"""What every dictionary gives, and what all of them need: K different codes, always.

X : (N, d) float32 whitened patches that an engine holds    D : (K, d) float32 codes
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, ParameterError, Part
from poolwise.support.progress import Update, silent

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

_SHARDS = 32
_LEAST_ROWS_PER_SHARD = 1024
SAME_COSINE = 1e-6  # codes whose cosine is above 1 less this are one code


class Learner(Part):
    """How codes are learned.

    max_iter : most rounds, for progress
    """

    max_iter: int = 0

    @property
    def group_side(self) -> int:
        """Rows and columns of neighbouring positions whose patches it takes together: they come in groups, row by row."""
        return 1

    @abstractmethod
    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        """K codes from patches. Raises TooFewPatchesError if X has fewer than K different ones."""


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


def shard_size(n: int) -> int:
    return max(_LEAST_ROWS_PER_SHARD, -(-n // _SHARDS))


def unit(C: Array, least: float = 0.0) -> Array:
    """Rows divided by their norms; rows no longer than `least`, whose direction is rounding, become zero."""
    norm = np.linalg.norm(np.asarray(C, np.float64), axis=1, keepdims=True)
    return np.where(norm > least, C, 0) / np.where(norm > least, norm, 1)


def random_rows(X: Held, n: int, rng: np.random.Generator) -> Array:
    """n random patches that have a direction, (n, d)."""
    if n == 0:
        return np.empty((0, X.shape[1]), np.float32)
    has_direction = np.concatenate(list(X.map(_has_direction, size=shard_size(X.shape[0]))))
    return X.take(rng.choice(np.flatnonzero(has_direction), size=n))


def _has_direction(block: Array) -> Array:
    return np.asarray(block.any(axis=1))


def one_by_one(X: Held, order: Array, at_once: int) -> Iterator[Array]:
    """The patches in that order; some are fetched ahead."""
    for start in range(0, len(order), at_once):
        yield from X.take(order[start : start + at_once])


def distinct_patches(X: Held, K: int, rng: np.random.Generator) -> Array:
    """K different random patches, (K, d) float64."""
    found: dict[bytes, Array] = {}
    for patch in one_by_one(X, rng.permutation(X.shape[0]), at_once=K):
        found.setdefault((patch + np.float32(0)).tobytes(), patch)  # + 0: -0.0 and 0.0 are one value
        if len(found) == K:
            return np.stack(list(found.values())).astype(np.float64)
    raise too_few(len(found), K)


class TooFewPatchesError(ParameterError):
    """Fewer different patches than codes."""


def too_few(found: int, K: int) -> TooFewPatchesError:
    return TooFewPatchesError(
        f"{K} codes were asked for, but there are only {found} different patches to learn them from (patches that differ in "
        f"length alone count once, except for centroids). Give more or more varied images, a larger {{n_patches}}, or fewer "
        f"codes.",
        n_patches=NAME,
    )


def different(C: Array, X: Held, *, rng: np.random.Generator, two_sided: bool = False, spread: float | None = None) -> Array:
    """C as float32 with every code that repeats an earlier one, or is zero, replaced by a random patch that does not.

    Codes are directions, d and -d the same one if `two_sided`; or, with `spread`, points in data of that total variance.
    """
    C = np.ascontiguousarray(C, np.float32)

    def same(row: Array, others: Array) -> Array:
        if spread is not None:
            return ((others - row) ** 2).sum(axis=1) <= SAME_COSINE * spread
        cosine = others @ row
        return (np.abs(cosine) if two_sided else cosine) > 1 - SAME_COSINE

    def repeats() -> list[int]:
        return [k for k in range(len(C)) if (spread is None and not C[k].any()) or same(C[k], C[:k]).any()]

    spare = one_by_one(X, rng.permutation(X.shape[0]), at_once=64)
    for k in repeats():
        others = np.delete(C, k, axis=0)
        for patch in spare:
            code = patch if spread is not None else unit(patch[None])[0]
            if (spread is not None or code.any()) and not same(code, others).any():
                C[k] = code
                break
        else:
            raise too_few(len(C) - len(repeats()), len(C))
    return C
