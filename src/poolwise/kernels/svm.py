"""Squared hinge of many one-vs-all problems: its slope along a line, a step, margins, and the columns' first two moments."""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array

_COLUMNS_AT_ONCE = 1024


@compiled(fastmath=REORDER)
def line_slopes(
    F: Array,
    P: Array,
    t: Array,
    label: Array,
    target: Array,
    weight: Array,
    fold: Array,
    up: Array,
    down: Array,
    start: int,
    stop: int,
    out: Array,
) -> None:
    """First and second derivative of Σₙ w max(0, 1 - y (f + t p))² by t, for each problem; n runs from start to stop.

    F, P : (k, N) margins and their change    t : (k,)    label : (N,) classes    target : (k,) the class that is y = +1
    weight : (folds, N) and fold : (k,) which of its rows counts    up, down : (k,) factors for y = +1 and -1
    out : (k, 2) float64, filled in
    """
    for c in range(F.shape[0]):
        first, second = 0.0, 0.0
        row, positive, step, a, b = fold[c], target[c], t[c], up[c], down[c]
        for i in range(start, stop):
            y = 1.0 if label[i] == positive else -1.0
            p = np.float64(P[c, i])
            slack = 1.0 - y * (F[c, i] + step * p)
            w = weight[row, i] * (a if y > 0 else b)
            w = w if slack > 0 else 0.0
            first -= w * slack * y * p
            second += w * p * p
        out[c, 0], out[c, 1] = 2 * first, 2 * second


@compiled(fastmath=REORDER)
def take_step(
    F: Array,
    P: Array,
    t: Array,
    label: Array,
    target: Array,
    weight: Array,
    fold: Array,
    up: Array,
    down: Array,
    start: int,
    stop: int,
    R: Array,
    out: Array,
) -> None:
    """F ← F + t P; R ← the derivative of Σₙ w max(0, 1 - y f)² by f; out ← that sum.

    Shapes as in `line_slopes`; R : (k, N); out : (k,) float64, filled in
    """
    for c in range(F.shape[0]):
        loss = 0.0
        row, positive, step, a, b = fold[c], target[c], t[c], up[c], down[c]
        for i in range(start, stop):
            y = 1.0 if label[i] == positive else -1.0
            f = F[c, i] + step * P[c, i]
            F[c, i] = f
            slack = 1.0 - y * f
            w = weight[row, i] * (a if y > 0 else b)
            w = w if slack > 0 else 0.0
            loss += w * slack * slack
            r = -2.0 * w * slack * y
            R[c, i] = r
        out[c] = loss


@compiled(fastmath=REORDER)
def few_margins(X: Array, V: Array, out: Array) -> None:
    """out ← V Xᵀ for a few rows of V: X is read once, in pieces that stay in cache, where BLAS would copy it first.

    X : (n, d) float32    V : (k, d) float32    out : (k, n) float32, filled in
    """
    n, d = X.shape
    k, zero = len(V), np.float32(0)
    out[:] = 0
    for start in range(0, d, _COLUMNS_AT_ONCE):
        columns = slice(start, min(d, start + _COLUMNS_AT_ONCE))
        i = 0
        while i + 4 <= n:
            x0, x1, x2, x3 = X[i, columns], X[i + 1, columns], X[i + 2, columns], X[i + 3, columns]
            for c in range(0, k - 1, 2):
                v, w = V[c, columns], V[c + 1, columns]
                s0, s1, s2, s3, t0, t1, t2, t3 = zero, zero, zero, zero, zero, zero, zero, zero
                for j in range(len(v)):
                    s0 += x0[j] * v[j]
                    s1 += x1[j] * v[j]
                    s2 += x2[j] * v[j]
                    s3 += x3[j] * v[j]
                    t0 += x0[j] * w[j]
                    t1 += x1[j] * w[j]
                    t2 += x2[j] * w[j]
                    t3 += x3[j] * w[j]
                row, next_row = out[c, i : i + 4], out[c + 1, i : i + 4]
                row[0] += s0
                row[1] += s1
                row[2] += s2
                row[3] += s3
                next_row[0] += t0
                next_row[1] += t1
                next_row[2] += t2
                next_row[3] += t3
            i += 4
        for c in range(k):
            v, done = V[c, columns], i if c < k - k % 2 else 0  # the last of an odd number has nobody to go with
            for rest in range(done, n):
                x, total = X[rest, columns], zero
                for j in range(len(v)):
                    total += x[j] * v[j]
                out[c, rest] += total


@compiled(fastmath=REORDER)
def weighted_sums(X: Array, weight: Array, shift: Array, first: Array, second: Array) -> None:
    """first += Σ w (x - shift), second += Σ w (x - shift)², column by column.

    X : (n, d)    weight : (n,)    shift, first, second : (d,) float64
    """
    n, d = X.shape
    for i in range(n):
        w = weight[i]
        for j in range(d):
            x = np.float64(X[i, j]) - shift[j]
            first[j] += w * x
            second[j] += w * x * x
