"""Orthogonal matching pursuit of many patches with one Gram matrix.

P : (n, d) whitened patches    D : (K, d) codes    Z = P Dᵀ    G = D Dᵀ    F : (n, K) activations
"""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array


@compiled(fastmath=REORDER)
def omp(P: Array, D: Array, Z: Array, G: Array, nonzeros: int, same: float, F: Array) -> None:
    """At most `nonzeros` weights of every patch, those of least squares; F : (n, K) float32, filled in.

    What the codes taken leave of a patch answers code j with Z[i, j] - Σ f_a G[a, j], so no residual is formed. Least squares
    by Cholesky's factor L of G restricted to the codes taken, a row longer in each step; what is taken is multiplied with the
    patch once more in float64.
    """
    n, d = P.shape
    K = len(D)
    k = nonzeros
    taken, left = np.empty(k, np.int64), np.empty(K, np.float64)
    L, y, f = np.zeros((k, k), np.float64), np.empty(k, np.float64), np.empty(k, np.float64)
    weight = np.zeros(K, np.float64)
    for j in range(K):
        if G[j, j] > 0:
            weight[j] = 1 / np.sqrt(G[j, j])
    for i in range(n):
        square = 0.0
        for x in range(d):
            square += P[i, x] * P[i, x]
        least = same * np.sqrt(square)
        for j in range(K):
            left[j] = Z[i, j]
        count = 0
        for step in range(k):
            best, at = -1.0, 0
            for j in range(K):
                value = abs(left[j]) * weight[j]
                if value > best:
                    best, at = value, j
            if best <= least:
                break
            rest = G[at, at]
            for a in range(step):  # L w = G[taken, at], w becomes the next row
                total = G[taken[a], at]
                for x in range(a):
                    total -= L[a, x] * L[step, x]
                L[step, a] = total / L[a, a]
                rest -= L[step, a] * L[step, a]
            if rest <= same * same * G[at, at]:
                break
            L[step, step] = np.sqrt(rest)
            right = 0.0
            for x in range(d):
                right += np.float64(P[i, x]) * D[at, x]
            for a in range(step):
                right -= L[step, a] * y[a]
            y[step] = right / L[step, step]
            taken[step] = at
            count = step + 1
            for a in range(step, -1, -1):  # Lᵀ f = y
                f[a] = y[a]
                for x in range(a + 1, count):
                    f[a] -= L[x, a] * f[x]
                f[a] /= L[a, a]
            if count < k:
                for j in range(K):
                    left[j] = Z[i, j]
                for a in range(count):
                    for j in range(K):
                        left[j] -= f[a] * G[taken[a], j]
                for a in range(count):
                    left[taken[a]] = 0.0
        for j in range(K):
            F[i, j] = 0.0
        for a in range(count):
            F[i, taken[a]] = f[a]
