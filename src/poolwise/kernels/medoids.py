"""Exemplars traded one by one: add the best, remove the least missed, swap while it helps.

T : (M, M) similarity, T[j, i] = s(i, j) of code i to exemplar j, 0 on the diagonal and nowhere above it
exemplars : (K,) indices of codes; their positions 0..K-1 are what `near` speaks of
near, sims : (2, M) positions of the two most similar exemplars of each code, and the similarities
"""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array

_NO_EXEMPLAR = -1


@compiled()
def _look_again(T: Array, exemplars: Array, i: int, near: Array, sims: Array) -> None:
    """The two most similar exemplars of code i, the first of equals."""
    first, second = _NO_EXEMPLAR, _NO_EXEMPLAR
    best, next_best = np.float32(-np.inf), np.float32(-np.inf)
    for position in range(len(exemplars)):
        v = T[exemplars[position], i]
        if v > best:
            second, next_best = first, best
            first, best = position, v
        elif v > next_best:
            second, next_best = position, v
    near[0, i], near[1, i] = first, second
    sims[0, i], sims[1, i] = best, next_best


@compiled()
def nearest_two(T: Array, exemplars: Array, near: Array, sims: Array) -> None:
    """Fill in near and sims; -1 and -inf where there is no second exemplar."""
    for i in range(T.shape[0]):
        _look_again(T, exemplars, i, near, sims)


@compiled(fastmath=REORDER)
def gains(T: Array, sims: Array, out: Array) -> None:
    """What each code j would add as one more exemplar: out[j] = Σ_i max(0, s(i, j) - s(i, nearest))."""
    M = T.shape[0]
    best = sims[0]
    for j in range(M):
        row, gain = T[j], np.float32(0)
        for i in range(M):
            v = row[i] - best[i]
            gain += v if v > np.float32(0) else np.float32(0)
        out[j] = gain


@compiled()
def losses(near: Array, sims: Array, out: Array) -> None:
    """What each exemplar is worth: out[position] = Σ over its codes of s(i, nearest) - s(i, second)."""
    out[:] = 0
    for i in range(near.shape[1]):
        out[near[0, i]] += sims[0, i] - sims[1, i]


@compiled()
def remove(T: Array, exemplars: Array, position: int, near: Array, sims: Array) -> None:
    """Take out the exemplar at a position; the last one takes its place. `exemplars` still has its old length."""
    last = len(exemplars) - 1
    exemplars[position] = exemplars[last]
    for i in range(T.shape[0]):
        if near[0, i] == position or near[1, i] == position:
            _look_again(T, exemplars[:last], i, near, sims)
        else:
            for rank in range(2):
                if near[rank, i] == last:
                    near[rank, i] = position


@compiled()
def _exchange(T: Array, exemplars: Array, position: int, j: int, near: Array, sims: Array) -> None:
    """Code j becomes the exemplar at a position."""
    exemplars[position] = j
    for i in range(T.shape[0]):
        v = T[j, i]
        if near[0, i] == position:
            if v >= sims[1, i]:
                sims[0, i] = v
            else:
                _look_again(T, exemplars, i, near, sims)
        elif v > sims[0, i]:
            near[1, i], sims[1, i] = near[0, i], sims[0, i]
            near[0, i], sims[0, i] = position, v
        elif near[1, i] == position:
            if v >= sims[1, i]:
                sims[1, i] = v
            else:
                _look_again(T, exemplars, i, near, sims)
        elif v > sims[1, i]:
            near[1, i], sims[1, i] = position, v


@compiled()
def swap_sweep(T: Array, exemplars: Array, near: Array, sims: Array, least: float, most: int) -> int:
    """For each code once, the best exemplar to trade it for, done at once if it gains more than `least` (FasterPAM).

    Trading exemplar m for code j changes Σ s by the gain of j, less what m is worth, plus what j saves of m's codes.
    Ends after `most` swaps. Gives how many there were.
    """
    M, K = T.shape[0], len(exemplars)
    worth, change = np.zeros(K), np.empty(K)
    losses(near, sims, worth)
    is_exemplar = np.zeros(M, np.bool_)
    for j in exemplars:
        is_exemplar[j] = True
    swaps = 0
    for j in range(M):
        if is_exemplar[j] or swaps == most:
            continue
        row, shared = T[j], 0.0
        for position in range(K):
            change[position] = -worth[position]
        for i in range(M):
            v = row[i]
            if v > sims[1, i]:
                if v > sims[0, i]:
                    shared += v - sims[0, i]
                    change[near[0, i]] += sims[0, i] - sims[1, i]
                else:
                    change[near[0, i]] += v - sims[1, i]
        position = int(np.argmax(change))
        if shared + change[position] > least:
            is_exemplar[exemplars[position]] = False
            is_exemplar[j] = True
            _exchange(T, exemplars, position, j, near, sims)
            losses(near, sims, worth)
            swaps += 1
    return swaps
