"""Squared hinge of many one-vs-all problems: its slope along a line, a step, and the columns' first two moments."""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array


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
