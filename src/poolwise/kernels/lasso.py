"""The Lasso of many patches with one Gram matrix, by coordinate descent.

Z = P Dᵀ : (n, K) responses of patches to codes    G = D Dᵀ    F : (n, K) activations
"""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array


@compiled(fastmath=REORDER)
def _weight(u: float, penalty: float, positive: bool, inverse: float) -> float:
    """S(u, penalty) / G_kk: what a code's weight becomes, u being its response to what the others leave."""
    if u > penalty:
        return (u - penalty) * inverse
    if u < -penalty and not positive:
        return (u + penalty) * inverse
    return 0.0


@compiled(fastmath=REORDER)
def lasso(Z: Array, G: Array, penalty: float, positive: bool, tolerance: float, rounds: int, F: Array) -> None:
    """argmin ½ ‖p - Σ f_k d_k‖² + penalty Σ |f_k| for every patch; F : (n, K) float32, filled in.

    left = z - G f is kept up to date. A round over all codes finds those that get a weight. Rounds among these follow until
    they rest, on their own rows and columns of G, so a weight that moves costs as much as there are of them. Then comes a
    round over all codes again, and where that moves nothing, the optimum is found.
    """
    n, K = Z.shape
    left, f = np.empty(K, np.float64), np.empty(K, np.float64)
    active, before = np.empty(K, np.int64), np.empty(K, np.float64)
    within, left_within = np.empty((K, K), np.float64), np.empty(K, np.float64)
    inverse, root = np.zeros(K, np.float64), np.zeros(K, np.float64)
    for k in range(K):
        if G[k, k] > 0:
            inverse[k], root[k] = 1 / G[k, k], np.sqrt(G[k, k])
    for i in range(n):
        scale = 0.0
        for k in range(K):
            left[k] = Z[i, k]
            f[k] = 0.0
            scale = max(scale, abs(left[k]))
        rest = tolerance * scale
        done = 0
        while done < rounds:
            done += 1
            moved = 0.0
            for k in range(K):
                if f[k] == 0.0 and (left[k] if positive else abs(left[k])) <= penalty:
                    continue
                new = _weight(left[k] + G[k, k] * f[k], penalty, positive, inverse[k])
                step = new - f[k]
                if step != 0.0:
                    f[k] = new
                    moved = max(moved, abs(step) * root[k])
                    for j in range(K):
                        left[j] -= step * G[k, j]
            if moved <= rest:
                break
            count = 0
            for k in range(K):
                if f[k] != 0.0:
                    active[count], before[count], left_within[count] = k, f[k], left[k]
                    count += 1
            for a in range(count):
                for b in range(count):
                    within[a, b] = G[active[a], active[b]]
            while done < rounds and moved > rest:
                done += 1
                moved = 0.0
                for a in range(count):
                    k = active[a]
                    if f[k] == 0.0 and (left_within[a] if positive else abs(left_within[a])) <= penalty:
                        continue
                    new = _weight(left_within[a] + within[a, a] * f[k], penalty, positive, inverse[k])
                    step = new - f[k]
                    if step != 0.0:
                        f[k] = new
                        moved = max(moved, abs(step) * root[k])
                        for b in range(count):
                            left_within[b] -= step * within[a, b]
            for a in range(count):
                k = active[a]
                step = f[k] - before[a]
                if step != 0.0:
                    for j in range(K):
                        left[j] -= step * G[k, j]
        for k in range(K):
            F[i, k] = f[k]
