"""Mean, scale and covariance of samples that arrive in blocks, in parts, in any order (stage 8 of the method).

Two parts with counts n, n', means x̄, x̄' and scatter matrices Q, Q' (Q = Σ (x - x̄)(x - x̄)ᵀ) merge exactly:

    δ = x̄' - x̄       x̄ ← x̄ + δ n'/(n + n')       Q ← Q + Q' + δ δᵀ n n'/(n + n')

X : (samples, M)    mean : (M,)    Q : (M, M), or its diagonal (M,) where the covariance is not wanted
"""

from typing import Self

import numpy as np

from poolwise.arrays import Array


class Moments:
    """Streaming first and second moments; memory is M² (or M), whatever the number of samples.

    Parameters
    ----------
    n_features : int
        M.
    diagonal : bool
        Keep only the variances.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]])
    >>> moments = Moments(2)
    >>> moments.update(X[:1])
    >>> moments.merge(Moments.of(X[1:]))
    >>> moments.mean
    array([2., 3.])
    >>> np.allclose(moments.covariance(), np.cov(X.T, ddof=0))
    True
    """

    def __init__(self, n_features: int, *, diagonal: bool = False) -> None:
        self.n = 0
        self.diagonal = diagonal
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros(n_features if diagonal else (n_features, n_features))

    @classmethod
    def of(cls, X: Array, *, diagonal: bool = False) -> Self:
        """The moments of one block about its own mean: mean and variances in float64, the full scatter in X's precision."""
        X = np.asarray(X, np.result_type(X, np.float32))
        part = cls(X.shape[1], diagonal=diagonal)
        part.n = len(X)
        if part.n:
            part.mean = X.mean(axis=0, dtype=np.float64)
            centred = X - part.mean.astype(X.dtype)
            if diagonal:
                part.scatter = np.einsum("ij,ij->j", centred, centred, dtype=np.float64)
            else:
                part.scatter = (centred.T @ centred).astype(np.float64)
        return part

    def update(self, X: Array) -> None:
        """Take in a block of samples, (samples, M)."""
        self.merge(type(self).of(X, diagonal=self.diagonal))

    def merge(self, other: "Moments") -> None:
        """Take in what another part has seen."""
        if other.n == 0:
            return
        total = self.n + other.n
        delta = other.mean - self.mean
        share = self.n * other.n / total
        self.scatter += other.scatter
        self.scatter += delta * delta * share if self.diagonal else np.outer(delta * share, delta)
        self.mean += delta * (other.n / total)
        self.n = total

    def variance(self, ddof: int = 0) -> Array:
        """(M,) variances; 0 where there are too few samples to tell."""
        scatter = self.scatter if self.diagonal else np.diagonal(self.scatter)
        return np.maximum(scatter, 0) / max(self.n - ddof, 1)

    def covariance(self, ddof: int = 0) -> Array:
        """(M, M) covariance."""
        if self.diagonal:
            raise ValueError("these moments keep variances only; make them with diagonal=False")
        return self.scatter / max(self.n - ddof, 1)

    def scale(self, offset: float, ddof: int = 0) -> Array:
        """(M,) sqrt(variance + offset), what standardised features are divided by; 1 where that would be 0."""
        scale: Array = np.sqrt(self.variance(ddof) + offset)
        return np.where(scale > 0, scale, 1.0)
