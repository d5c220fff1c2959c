"""Exemplars under the net similarity alone, K given: the best to add, to remove, to swap (K-medoids).

For exactly K exemplars 𝒮, affinity propagation and K-medoids have the same objective,

    maximise  Σ_i max_{k ∈ 𝒮} s(i, k)          with s(k, k) = 0

Given : T (M, M) float32, T[k, i] = s(i, k) ≤ 0 with 0 on the diagonal; a symmetric S is its own T. It is only read.
Stops : `improve` when no single swap gains more than 1e-6 of the whole, after at most `most` swaps.
Written : `Exemplars.chosen`, in place.

Swaps are those of FasterPAM (Schubert and Rousseeuw 2021): all K exemplars that a code could replace, in one pass over its row.
"""

from typing import Any, Self

import numpy as np

from poolwise.kernels import medoids as loops
from poolwise.method.selection.choosing import Selection, similarity
from poolwise.support.types import Array

_LEAST_GAIN = 1e-6  # of the whole


def kmedoids(C: Array, K: int, *, rng: np.random.Generator, **unused: Any) -> Selection:
    """Random codes, swapped while that gains: the objective of `affinity`, without messages."""
    exemplars = Exemplars(similarity(C), rng.choice(len(C), K, replace=False))
    exemplars.bring_to(K).improve()
    return Selection(np.sort(exemplars.chosen), len(C), exemplars.labels())


class Exemplars:
    """A set of exemplars, with each code's two nearest.

    Parameters
    ----------
    T : (M, M) float32
    chosen : (K,), K ≥ 1, indices of codes, each different

    Examples
    --------
    >>> x = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    >>> T = -np.square(x[:, None] - x).astype(np.float32)
    >>> exemplars = Exemplars(T, [0, 1])
    >>> exemplars.bring_to(3).improve()
    >>> sorted(exemplars.chosen.tolist()), exemplars.labels().tolist()
    ([1, 3, 4], [0, 0, 1, 1, 2])
    """

    def __init__(self, T: Array, chosen: Array) -> None:
        self.T = T
        self.chosen = np.array(chosen, np.int64)
        self.swaps = self.merges = self.splits = 0
        self._look()

    def _look(self) -> None:
        M = len(self.T)
        self._near, self._sims = np.empty((2, M), np.int64), np.empty((2, M), np.float32)
        loops.nearest_two(self.T, self.chosen, self._near, self._sims)

    @property
    def similarity(self) -> float:
        """Σ_i max_{k ∈ 𝒮} s(i, k)."""
        return float(self._sims[0].sum(dtype=np.float64))

    def labels(self) -> Array:
        """(M,) for each code the rank of its exemplar among the ascending ones; an exemplar represents itself."""
        order = np.argsort(self.chosen)
        rank = np.argsort(order)
        label = rank[self._near[0]]
        label[self.chosen] = rank
        return label

    def bring_to(self, K: int) -> Self:
        """Merge the cluster least missed or split off the code that gains most until there are K; for K = 1 take the best."""
        if K == 1:
            self.chosen = np.array([self.T.sum(axis=1, dtype=np.float64).argmax()])
            self._look()
        while len(self.chosen) > K:
            worth = np.empty(len(self.chosen))
            loops.losses(self._near, self._sims, worth)
            loops.remove(self.T, self.chosen, int(worth.argmin()), self._near, self._sims)
            self.chosen = self.chosen[:-1]
            self.merges += 1
        gain = np.empty(len(self.T), np.float32)
        while len(self.chosen) < K:
            loops.gains(self.T, self._sims, gain)
            gain[self.chosen] = -1.0
            self.chosen = np.append(self.chosen, gain.argmax())
            self.splits += 1
            self._look()
        return self

    def improve(self, most: int | None = None) -> None:
        """Swap an exemplar for another code as long as that gains, at most `most` times."""
        if len(self.chosen) in (1, len(self.T)):
            return  # 1 is already the best one, and M are all
        least, left = _LEAST_GAIN * abs(self.similarity), len(self.T) ** 2 if most is None else most
        while left > 0:
            swaps = loops.swap_sweep(self.T, self.chosen, self._near, self._sims, least, left)
            self.swaps += swaps
            left -= swaps
            if swaps == 0:
                return
