"""K-means: the best code of every patch, and the sums of the patches of every code."""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled, evenly
from poolwise.support.types import Array


@compiled()
def scan_codes(Z: Array, first: int, half: Array, signed: bool, score: Array, label: Array) -> None:
    """Running argmax over codes, one lane per patch: score = max_k (Z[k] - half[k]), or of |Z[k]| if `signed`.

    Z : (q, n) responses of codes first..first+q    half : (q,)    score, label : (n,), updated; ties keep the lower k
    """
    q, n = Z.shape
    if signed:
        for k in range(q):
            for i in range(n):
                v = abs(Z[k, i])
                better = v > score[i]
                score[i] = v if better else score[i]
                label[i] = first + k if better else label[i]
        return
    k = 0
    while k + 4 <= q:
        b0, b1, b2, b3 = half[k], half[k + 1], half[k + 2], half[k + 3]
        l0 = np.int32(first + k)
        for i in range(n):
            s, j = score[i], label[i]
            v = Z[k, i] - b0
            j = l0 if v > s else j
            s = v if v > s else s
            v = Z[k + 1, i] - b1
            j = l0 + np.int32(1) if v > s else j
            s = v if v > s else s
            v = Z[k + 2, i] - b2
            j = l0 + np.int32(2) if v > s else j
            s = v if v > s else s
            v = Z[k + 3, i] - b3
            j = l0 + np.int32(3) if v > s else j
            s = v if v > s else s
            score[i], label[i] = s, j
        k += 4
    while k < q:
        for i in range(n):
            v = Z[k, i] - half[k]
            better = v > score[i]
            score[i] = v if better else score[i]
            label[i] = first + k if better else label[i]
        k += 1


@compiled()
def assign_shard(X: Array, C: Array, half: Array, signed: bool, rows: int, codes: int, score: Array, label: Array) -> None:
    """The best code of every row of X, by tiles of `rows` × `codes` that stay in cache.

    X : (n, d)    C : (K, d)    half : (K,)    score : (n,) float32 and label : (n,) int32, filled in
    """
    (n, d), K = X.shape, C.shape[0]
    codes = evenly(K, codes)
    buffer, transposed = np.empty(rows * codes, np.float32), np.empty(d * rows, np.float32)
    for i in range(0, n, rows):
        i1 = min(n, i + rows)
        XT = transposed[: d * (i1 - i)].reshape(d, i1 - i)
        XT[:] = X[i:i1].T
        score[i:i1] = -np.inf
        label[i:i1] = 0
        for k in range(0, K, codes):
            k1 = min(K, k + codes)
            Z = buffer[: (k1 - k) * (i1 - i)].reshape(k1 - k, i1 - i)
            np.dot(C[k:k1], XT, Z)
            scan_codes(Z, k, half[k:k1], signed, score[i:i1], label[i:i1])


@compiled(fastmath=REORDER)
def sum_by_label(X: Array, label: Array, C: Array, signed: bool, sums: Array, counts: Array) -> float:
    """sums[k] += X[i] for k = label[i], or (c_k·X[i]) X[i] if `signed`; counts[k] += 1. Gives Σ |X[i]|².

    X : (n, d)    C : (K, d)    sums : (K, d) float64 and counts : (K,) int64, updated in the order of the rows
    """
    d = X.shape[1]
    square = 0.0
    for i in range(X.shape[0]):
        k = label[i]
        counts[k] += 1
        weight = 1.0
        if signed:
            weight = 0.0
            for j in range(d):
                weight += C[k, j] * X[i, j]
        norm = 0.0
        for j in range(d):
            x = np.float64(X[i, j])
            norm += x * x
            sums[k, j] += weight * x
        square += norm
    return square
