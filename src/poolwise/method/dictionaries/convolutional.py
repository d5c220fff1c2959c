"""Convolutional K-means (Dundar and others 2015): patches are compared at every shift of a small neighbourhood.

    (kᵢ, sᵢ) = argmax over codes and shifts of d_k·p_is,   d_k ← Σ of the patches p_is_i that are k's,   unit norm every round

p_is : the patch of group i at shift s, of s × s neighbouring positions. A pattern and its shifted copies are one code so.

The paper argues that selection after pooling does as much without it: pooling sees shifted copies respond alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.dictionaries.base import SAME_COSINE, Dictionary, Learner, different, distinct_patches, random_rows, unit
from poolwise.support.lazy import np
from poolwise.support.parameters import Number, Whole, parameter
from poolwise.support.progress import Update, silent

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

_ROWS_PER_SHARD = 8192


@dataclass(frozen=True, repr=False)
class ConvolutionalKMeans(Learner):
    """Codes that differ in more than a shift.

    Parameters
    ----------
    shifts : int
        Rows and columns of neighbouring positions that a patch is sought in; 1 is spherical K-means.
    max_iter : int
        Most rounds.
    tol : float
        Rounds stop when the codes' summed squared movement is at most tol × their number.
    """

    words = ("convolutional",)

    shifts: int = parameter(3, Whole(), "Neighbouring positions, each way, at which convolutional K-means seeks a code.")
    max_iter: int = parameter(50, Whole(), "Most rounds of K-means.")
    tol: float = parameter(1e-4, Number(), "Stop when the centres move no more than this.")

    @property
    def group_side(self) -> int:
        return self.shifts

    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        """X : (groups · shifts², d), each group's patches one behind the other."""
        group = self.shifts**2
        C = unit(distinct_patches(X, K, rng))
        size = max(1, _ROWS_PER_SHARD // group) * group
        objective: list[float] = []
        converged = False
        for _ in range(self.max_iter):
            sums, counts, value = np.zeros_like(C), np.zeros(K, np.int64), 0.0
            for part in X.map(_assign, C.astype(np.float32), group, size=size):
                sums, counts, value = sums + part[0], counts + part[1], value + part[2]
            objective.append(-value)
            update(len(objective), f"objective {-value:.6g}")
            new = unit(sums)
            empty = np.flatnonzero(np.linalg.norm(sums, axis=1) <= SAME_COSINE * np.maximum(counts, 1))
            new[empty] = unit(random_rows(X, len(empty), rng))
            movement = float(((new - C) ** 2).sum())
            C = new
            if movement <= self.tol * K:
                converged = True
                break
        return Dictionary(different(C, X, rng=rng), objective, len(objective), converged)


def _assign(X: Array, C: Array, group: int) -> tuple[Array, Array, float]:
    """Of some whole groups: the sums of the patches of every code, how many they are, and their responses' sum."""
    (n, d), K = X.shape, len(C)
    Z = X @ C.T
    code, value = Z.argmax(axis=1), Z.max(axis=1)  # of each patch
    groups = -(-n // group)  # the last may have fewer patches
    padded = np.full(groups * group, -np.inf, np.float32)
    padded[:n] = value
    row = np.arange(groups) * group + padded.reshape(groups, group).argmax(axis=1)
    sums = np.zeros((K, d))
    np.add.at(sums, code[row], X[row])
    return sums, np.bincount(code[row], minlength=K), float(value[row].sum(dtype=np.float64))
