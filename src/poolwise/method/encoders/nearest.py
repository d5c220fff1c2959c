"""Hard vector quantisation: the nearest code alone.

    f_k = 1 if d_k is nearest to p (the first of equals), else 0

d_k : a code    p : a whitened patch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import Encoder, Folded
from poolwise.method.encoders.triangle import squared_distances
from poolwise.support.lazy import np

if TYPE_CHECKING:
    from poolwise.method.whitening import Whitening
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Nearest(Encoder):
    """1 for the nearest code, 0 for the others: a bag of visual words once pooled.

    Examples
    --------
    >>> Nearest()(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([[1., 0.]])
    """

    words = ("nearest",)
    coupled = True

    def __call__(self, P: Array, D: Array) -> Array:
        nearest = squared_distances(P, D).argmin(axis=1)
        return (nearest[:, None] == np.arange(len(D))).astype(np.result_type(P, D))

    def fused(self, D: Array, whitening: Whitening) -> Folded:
        F, b = whitening.fold(D)
        return Folded(F, b - (np.asarray(D, np.float64) ** 2).sum(axis=1) / 2, "nearest", together=True)
