"""Square roots of symmetric positive definite matrices by products alone: Newton's iteration of Schulz, scaled."""

import numpy as np

from poolwise.kernels.compiling import compiled
from poolwise.support.types import Array

_MOST_ROUNDS = 40
_CLOSE = 1e-6  # how far from 1 the singular values may stay: what float32 products leave of them anyway


@compiled()
def square_roots(S: Array, least: Array, out: Array) -> None:
    """out[i] ← S[i]^½.

    From Y = S / |S| and Z = I, a round multiplies both by T = μ (3 I - μ² Z Y) / 2: Y goes to (S / |S|)^½, Z to its inverse.
    The values of (ZY)^½ lie in [a, 1]; μ² = 3 / (1 + a + a²) raises the lowest the most, so that seven rounds are enough where
    a plain iteration needs twelve.

    S : (n, K, K) float32    least : (n,) a bound below the eigenvalues of each, above 0 unless S is 0    out : (n, K, K)
    """
    n, K, _ = S.shape
    Y, Z, T = np.empty((K, K), np.float32), np.empty((K, K), np.float32), np.empty((K, K), np.float32)
    spare = np.empty((K, K), np.float32)
    for i in range(n):
        square = 0.0
        for r in range(K):
            for c in range(K):
                square += np.float64(S[i, r, c]) * S[i, r, c]
        norm = np.sqrt(square)
        if norm == 0.0:
            out[i] = 0.0
            continue
        scale = 1.0 / norm  # float64: of a tiny matrix it is beyond float32
        for r in range(K):
            for c in range(K):
                Y[r, c] = S[i, r, c] * scale
        a = np.sqrt(least[i] / norm)
        for rounds in range(_MOST_ROUNDS):
            mu = np.sqrt(3.0 / (1.0 + a + a * a))
            first, second = np.float32(1.5 * mu), np.float32(-0.5 * mu * mu * mu)
            if rounds == 0:
                T[:] = Y
            else:
                np.dot(Z, Y, T)
            for r in range(K):
                for c in range(K):
                    T[r, c] *= second
                T[r, r] += first
            np.dot(Y, T, spare)
            Y, spare = spare, Y
            a = mu * a * (3.0 - mu * mu * a * a) / 2.0
            if 1.0 - a < _CLOSE:
                break  # nobody asks for Z any more
            if rounds == 0:
                Z[:] = T
            else:
                np.dot(T, Z, spare)
                Z, spare = spare, Z
        root = np.float32(np.sqrt(norm))
        for r in range(K):
            for c in range(K):
                out[i, r, c] = Y[r, c] * root
