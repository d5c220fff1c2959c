"""The encoder of the paper: what a code's response exceeds a threshold by.

    f_k = max(0, d_k·p - α)
    two-sided:   f_k = max(0, d_k·p - α),   f_{K+k} = max(0, -d_k·p - α)

Several thresholds give as many outputs a code from the same product: α₁ with its sides, then α₂ with its own.

d_k : a code    p : a whitened patch    α : the threshold
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from poolwise.method.encoders.base import Encoder, Folded
from poolwise.support.lazy import np
from poolwise.support.parameters import AUTO, Flag, Numbers, parameter

if TYPE_CHECKING:
    from poolwise.method.whitening import Whitening
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Threshold(Encoder):
    """max(0, d_k·p - α). Each code for itself: the paper's choice, the fastest, and the one that selection can reuse.

    Parameters
    ----------
    alpha : float, tuple of float or "auto"
        α. Several share the product, so they cost next to nothing, and give as many times the features. "auto": 0.25 and 1,
        or with second-order pooling, whose features grow with the square of outputs, 0.25.
    two_sided : bool or "auto"
        Also max(0, -d_k·p - α): 2K activations. "auto": unless pooling is of second order.

    Examples
    --------
    >>> Threshold(two_sided=True)(np.array([[1.0, 0.0]]), np.array([[0.8, 0.6], [-1.0, 0.0]]))
    array([[0.55, 0.  , 0.  , 0.75]])
    >>> Threshold(alpha=(0.25, 0.75))(np.array([[1.0, 0.0]]), np.array([[0.8, 0.6], [-1.0, 0.0]])).round(2)
    array([[0.55, 0.  , 0.05, 0.  ]])
    """

    words = (AUTO, "threshold")
    coupled = False

    alpha: float | tuple[float, ...] | str = parameter(0.25, Numbers(word=AUTO), "The threshold, or several: 0.25,1.")
    two_sided: bool | str = parameter(False, Flag("--one-sided", AUTO), "Also activations of a code's negative.")

    @classmethod
    def of_word(cls, word: str) -> Self:
        return cls(AUTO, AUTO) if word == AUTO else cls()

    @property
    def word(self) -> str:
        return AUTO if self.alpha == self.two_sided == AUTO else "threshold"

    def decided(self, *, pairs: bool) -> Self:
        """
        >>> Threshold("auto", "auto").decided(pairs=False), Threshold("auto", "auto").decided(pairs=True)
        (Threshold(alpha=(0.25, 1.0), two_sided=True), Threshold())
        """
        alpha = (0.25 if pairs else (0.25, 1.0)) if self.alpha == AUTO else self.alpha
        return self.but(alpha=alpha, two_sided=not pairs if self.two_sided == AUTO else self.two_sided)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Ascending."""
        found = Numbers().check("Threshold.alpha", self.alpha)
        return found if isinstance(found, tuple) else (found,)

    @property
    def sides(self) -> int:
        return len(self.thresholds) * (2 if self.two_sided else 1)

    @property
    def side_names(self) -> tuple[str, ...]:
        above = [f"_above{alpha:g}" for alpha in self.thresholds] if len(self.thresholds) > 1 else [""]
        return tuple(f"{sign}{level}" for level in above for sign in (("_pos", "_neg") if self.two_sided else ("",)))

    def __call__(self, P: Array, D: Array) -> Array:
        Z = P @ D.T
        signs = (1, -1) if self.two_sided else (1,)
        return np.hstack([np.maximum(0, sign * Z - alpha) for alpha in self.thresholds for sign in signs])

    def fused(self, D: Array, whitening: Whitening) -> Folded:
        F, b = whitening.fold(D)
        if self.sides == 1:
            return Folded(F, b - self.thresholds[0], "threshold")
        signs = (1.0, -1.0) if self.two_sided else (1.0,)
        thetas = tuple(alpha for alpha in self.thresholds for _ in signs)
        return Folded(F, b, "threshold", signs=signs * len(self.thresholds), thetas=thetas)
