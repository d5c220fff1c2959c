"""The triangle of Coates, Ng and Lee (2011): how much closer a code is than codes are on average.

    f_k = max(0, mean_j ‖p - d_j‖ - ‖p - d_k‖)

d_k : a code    p : a whitened patch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import Encoder, Folded
from poolwise.support.lazy import np

if TYPE_CHECKING:
    from poolwise.method.whitening import Whitening
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Triangle(Encoder):
    """max(0, mean distance - distance). Has no threshold to tune; about half of a patch's activations are zero.

    Examples
    --------
    >>> Triangle()(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([[1., 0.]])
    """

    words = ("triangle",)
    coupled = True

    def __call__(self, P: Array, D: Array) -> Array:
        distance = np.sqrt(squared_distances(P, D))
        return np.maximum(0, distance.mean(axis=1, keepdims=True) - distance)

    def fused(self, D: Array, whitening: Whitening) -> Folded:
        """The squared norm of the whitened patch comes from d more columns: the whitening itself."""
        F, b = whitening.fold(D)
        b = b - (np.asarray(D, np.float64) ** 2).sum(axis=1) / 2
        shift = whitening.W @ (whitening.centre - whitening.m)
        return Folded(np.vstack([F, whitening.W]), np.concatenate([b, shift]), "triangle", together=True)


def squared_distances(P: Array, D: Array) -> Array:
    """(n, K) ‖p - d_k‖²."""
    return np.maximum(0, (P**2).sum(axis=1, keepdims=True) - 2 * (P @ D.T) + (D**2).sum(axis=1))
