"""ZCA whitening, and folding it into a dictionary (stage 3 of the method).

    W = V diag(1 / (sqrt(max(λ, 0)) + ε)) Vᵀ     whitening="std"       covariance over N        (jia2012, ε = 0.1)
    W = V diag(1 / sqrt(λ + ε)) Vᵀ               whitening="variance"  covariance over N - 1    (coates2011, ε = 0.1)

m : (d,) mean of the normalised patches    (λ, V) : eigenpairs of their covariance    whitened patch : W (p - m)
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.statistics import Moments

Kind = Literal["std", "variance"] | None

_BLOCK = 16384
_RANK_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Whitening:
    """The map p → W (p - m).

    m : (d,) float64    W : (d, d) float64, symmetric
    """

    m: Array
    W: Array

    def __call__(self, patches: Array) -> Array:
        """Whiten the rows of `patches`, (N, d) to (N, d) in the same dtype."""
        return ((patches - self.m) @ self.W).astype(patches.dtype)

    def fold(self, D: Array) -> tuple[Array, Array]:
        """Fold the map into a dictionary: D W (p - m) = F p + b.

        D : (K, d) codes of whitened patches    returns : F (K, d), b (K,), float64
        """
        F = np.asarray(D, np.float64) @ self.W
        return F, -F @ self.m


def identity(d: int) -> Whitening:
    """No whitening, as the same kind of map."""
    return Whitening(np.zeros(d), np.eye(d))


def fit_whitening(patches: Array, kind: Kind, offset: float, engine: Threads) -> Whitening:
    """Learn the ZCA map of contrast-normalised patches (N, d), in float64 over fixed blocks of rows.

    >>> rng = np.random.default_rng(0)
    >>> P = rng.normal(size=(1000, 2)) @ [[3.0, 0.0], [1.0, 1.0]]
    >>> with Threads(1) as engine:
    ...     white = fit_whitening(P, "std", 0.0, engine)
    >>> np.allclose(np.cov(white(P).T, ddof=0), np.eye(2))
    True
    """
    d = patches.shape[1]
    if kind is None:
        return identity(d)
    moments = Moments(d)
    blocks = spans(len(patches), _BLOCK)
    for part in engine.map(lambda rows: Moments.of(patches[rows].astype(np.float64)), blocks):
        moments.merge(part)
    lam, V = scipy.linalg.eigh(moments.covariance(ddof=0 if kind == "std" else 1))
    lam = np.maximum(lam, 0)
    scale = np.sqrt(lam) + offset if kind == "std" else np.sqrt(lam + offset)
    seen = scale > _RANK_TOLERANCE * scale.max()  # without an offset, directions that never vary are left out
    gain = np.divide(1, scale, where=seen, out=np.zeros_like(scale))
    return Whitening(moments.mean, (V * gain) @ V.T)


def whiten(patches: Array, whitening: Whitening, engine: Threads) -> None:
    """Whiten (N, d) patches in place, block by block."""

    def one(rows: slice) -> None:
        patches[rows] = whitening(patches[rows])

    engine.each(one, len(patches))
