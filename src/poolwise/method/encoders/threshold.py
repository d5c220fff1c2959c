"""The encoder of the paper: what a code's response exceeds a threshold by.

    f_k = max(0, d_k·p - α)
    two-sided:   f_k = max(0, d_k·p - α),   f_{K+k} = max(0, -d_k·p - α)

d_k : a code    p : a whitened patch    α : the threshold
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import Encoder, Folded
from poolwise.support.lazy import np
from poolwise.support.parameters import Flag, Number, parameter

if TYPE_CHECKING:
    from poolwise.method.whitening import Whitening
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Threshold(Encoder):
    """max(0, d_k·p - α). Each code for itself: the paper's choice, the fastest, and the one that selection can reuse.

    Parameters
    ----------
    alpha : float
        α.
    two_sided : bool
        Also max(0, -d_k·p - α): 2K activations.

    Examples
    --------
    >>> Threshold(two_sided=True)(np.array([[1.0, 0.0]]), np.array([[0.8, 0.6], [-1.0, 0.0]]))
    array([[0.55, 0.  , 0.  , 0.75]])
    """

    words = ("threshold",)
    coupled = False

    alpha: float = parameter(0.25, Number(), "The threshold.")
    two_sided: bool = parameter(False, Flag(off="--one-sided"), "Also activations of a code's negative.")

    @property
    def sides(self) -> int:
        return 2 if self.two_sided else 1

    def __call__(self, P: Array, D: Array) -> Array:
        Z = P @ D.T
        F = np.maximum(0, Z - self.alpha)
        return np.hstack([F, np.maximum(0, -Z - self.alpha)]) if self.two_sided else F

    def fused(self, D: Array, whitening: Whitening) -> Folded:
        F, b = whitening.fold(D)
        if self.two_sided:
            return Folded(F, b, "threshold", theta=float(self.alpha))
        return Folded(F, b - self.alpha, "threshold")
