"""The Lasso of many patches with one Gram matrix, by coordinate descent.

Z = P Dᵀ : (n, K) responses of patches to codes    G = D Dᵀ    F : (n, K) activations
"""

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array


@compiled(fastmath=REORDER)
def lasso(Z: Array, G: Array, penalty: float, positive: bool, tolerance: float, rounds: int, F: Array) -> None:
    """argmin ½ ‖p - Σ f_k d_k‖² + penalty Σ |f_k| for every patch; F : (n, K) float32, filled in.

    left = z - G f is kept up to date, which costs K for every weight that moves. Rounds go over the codes with a weight until
    these rest, then over all codes once; where that moves nothing, the optimum is found.
    """
    n, K = Z.shape
    left, f = np.empty(K, np.float64), np.empty(K, np.float64)
    active = np.empty(K, np.int64)
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
        count, everyone = 0, True
        for _ in range(rounds):
            moved = 0.0
            among = K if everyone else count
            for place in range(among):
                k = place if everyone else active[place]
                old = f[k]
                if old == 0.0 and (left[k] if positive else abs(left[k])) <= penalty:
                    continue
                u = left[k] + G[k, k] * old
                new = 0.0
                if u > penalty:
                    new = (u - penalty) * inverse[k]
                elif u < -penalty and not positive:
                    new = (u + penalty) * inverse[k]
                step = new - old
                if step != 0.0:
                    f[k] = new
                    moved = max(moved, abs(step) * root[k])
                    for j in range(K):
                        left[j] -= step * G[k, j]
            if moved <= rest:
                if everyone:
                    break
                everyone = True
            else:
                count = 0
                for k in range(K):
                    if f[k] != 0.0:
                        active[count] = k
                        count += 1
                everyone = False
        for k in range(K):
            F[i, k] = f[k]
