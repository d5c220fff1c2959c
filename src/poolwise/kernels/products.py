"""Products of a large matrix with a few vectors."""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array

FEW = 24  # vectors up to which the loop is faster than BLAS
_COLUMNS_AT_ONCE = 1024


@compiled(fastmath=REORDER)
def times_few(X: Array, V: Array, out: Array) -> None:
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
