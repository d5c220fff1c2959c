"""Messages of affinity propagation: one pass over three M×M matrices, each row handled whole while it is in cache."""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array

_LANES = 128  # maxima are kept per lane, which vectorises where a running maximum does not
_NEGLIGIBLE = 1e-30  # availabilities that fade would become subnormal numbers, which CPUs handle ten times slower
_NO_NAN = REORDER | {"nnan"}  # lets maxima be vectorised; the matrices hold finite numbers


@compiled(fastmath=_NO_NAN)
def _top_two(a: Array, s: Array, lanes: Array) -> tuple[int, np.float32, np.float32]:
    """Where a + s is largest, that value, and the largest of the others."""
    M = len(a)
    lanes[:] = -np.inf
    for start in range(0, M, _LANES):
        a_part, s_part = a[start : start + _LANES], s[start : start + _LANES]
        for lane in range(len(a_part)):
            v = a_part[lane] + s_part[lane]
            lanes[lane] = v if v > lanes[lane] else lanes[lane]
    best, second, at = lanes[0], np.float32(-np.inf), 0
    for lane in range(1, min(M, _LANES)):
        v = lanes[lane]
        if v > best:
            best, second, at = v, best, lane
        elif v > second:
            second = v
    where = -1
    for k in range(at, M, _LANES):
        v = a[k] + s[k]
        if where < 0 and v == best:
            where = k
        elif v > second:
            second = v
    return where, best, second


@compiled(fastmath=_NO_NAN)
def _largest_of(s: Array, indices: Array) -> np.float32:
    """The largest s[k] for k in indices; four at a time, since each comparison waits for the one before."""
    K = len(indices)
    a = b = c = d = np.float32(-np.inf)
    for j in range(0, K - 3, 4):
        v, w, x, y = s[indices[j]], s[indices[j + 1]], s[indices[j + 2]], s[indices[j + 3]]
        a, b, c, d = (v if v > a else a), (w if w > b else b), (x if x > c else c), (y if y > d else d)
    for j in range(K - K % 4, K):
        a = max(a, s[indices[j]])
    a, c = max(a, b), max(c, d)
    return max(a, c)


@compiled(fastmath=_NO_NAN)
def pass_messages(
    S: Array,
    A: Array,
    R: Array,
    first: int,
    total: Array,
    own: Array,
    is_exemplar: Array,
    exemplars: Array,
    damping: float,
    new_own: Array,
    positive: Array,
) -> float:
    """Eqs. 3 and 4, then 2, for a shard of rows in one pass, damped and in place; their share of the net similarity before.

    S, A, R : (n, M) rows first..first+n of each; A and R are updated, s(k, k) is the preference
    total, own : (M,) Σ_{i ≠ k} max(0, r(i, k)) and r(k, k) of the R that comes in
    is_exemplar, exemplars : (M,) and (K,), as a mask and as indices, before the pass
    new_own, positive : (n,) and (M,), filled with r(k, k) of these rows and their share of the next `total`
    """
    n, M = S.shape
    old, new, zero = np.float32(damping), np.float32(1 - damping), np.float32(0)
    least = np.float32(-_NEGLIGIBLE)
    base, lanes = total + own, np.empty(_LANES, np.float32)
    positive[:] = zero
    net = 0.0
    for row in range(n):
        i = first + row
        s, a, r = S[row], A[row], R[row]
        self_available = old * a[i] + new * total[i]
        for k in range(M):
            v = base[k] - (r[k] if r[k] > zero else zero)
            v = old * a[k] + new * (v if v < zero else zero)
            a[k] = v if v < least else zero
        a[i] = self_available
        net += s[i] if is_exemplar[i] else _largest_of(s, exemplars)
        at, best, second = _top_two(a, s, lanes)
        r_at, positive_at, positive_i = old * r[at] + new * (s[at] - second), positive[at], positive[i]
        for k in range(M):
            v = old * r[k] + new * (s[k] - best)
            r[k] = v
            positive[k] += v if v > zero else zero
        r[at] = r_at
        positive[at] = positive_at + (r_at if r_at > zero else zero)
        positive[i] = positive_i
        new_own[row] = r[i]
    return net
