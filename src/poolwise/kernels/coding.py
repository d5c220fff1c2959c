"""Encoders that solve a small problem for every patch.

P : (n, d) whitened patches    D : (K, d) codes    Z : (n, K) responses    F : (n, K) activations
"""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array


@compiled(fastmath=REORDER)
def llc(P: Array, D: Array, Z: Array, neighbours: int, regularizer: float, F: Array) -> None:
    """Locality-constrained linear coding of every patch with its nearest codes; the other activations become 0.

    On entry Z[:, k] is p·d_k - |d_k|²/2, which is largest for the nearest code. F : (n, K) float32, filled in.

    The neighbours' differences from the patch, not Z, give their Gram matrix: Z has lost its digits where a code is close.
    It is positive definite by its regulariser, so Cholesky's factor needs no pivots.
    """
    n, d = P.shape
    k = neighbours
    near, best = np.empty(k, np.int64), np.empty(k, np.float32)
    B, C, w = np.empty((k, d), np.float64), np.empty((k, k), np.float64), np.empty(k, np.float64)
    for i in range(n):
        best[:] = -np.inf
        near[:] = 0
        for j in range(Z.shape[1]):
            v = Z[i, j]
            if v > best[k - 1]:
                at = k - 1
                while at > 0 and v > best[at - 1]:
                    best[at], near[at] = best[at - 1], near[at - 1]
                    at -= 1
                best[at], near[at] = v, j
        trace = 0.0
        for a in range(k):
            for x in range(d):
                B[a, x] = D[near[a], x] - P[i, x]
            for b in range(a + 1):
                total = 0.0
                for x in range(d):
                    total += B[a, x] * B[b, x]
                C[a, b] = total
            trace += C[a, a]
        ridge = regularizer * trace if trace > 0 else 1.0
        for a in range(k):
            C[a, a] += ridge
        for a in range(k):  # C = L Lᵀ in place, and L v = 1 on the way
            for b in range(a):
                total = C[a, b]
                for x in range(b):
                    total -= C[a, x] * C[b, x]
                C[a, b] = total / C[b, b]
            total, right = C[a, a], 1.0
            for x in range(a):
                total -= C[a, x] * C[a, x]
                right -= C[a, x] * w[x]
            C[a, a] = np.sqrt(total)
            w[a] = right / C[a, a]
        whole = 0.0
        for a in range(k - 1, -1, -1):  # Lᵀ w = v
            for x in range(a + 1, k):
                w[a] -= C[x, a] * w[x]
            w[a] /= C[a, a]
            whole += w[a]
        F[i] = 0.0
        for a in range(k):
            F[i, near[a]] = w[a] / whole
