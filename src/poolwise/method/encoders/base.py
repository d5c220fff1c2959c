"""What every encoder offers.

P : (n, d) whitened patches    D : (K, d) codes    F : (n, sides · K) activations, side by side
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from poolwise.support.lazy import np
from poolwise.support.parameters import Part

if TYPE_CHECKING:
    from poolwise.method.whitening import Whitening
    from poolwise.support.types import Array


@dataclass(frozen=True)
class Folded:
    """An encoder for the fused pass: Z = [p - centre, 1] [F, b]ᵀ in one product, and the loop that activates Z.

    F, b : (columns, d), (columns,) float64, whitening and threshold folded in; the first K columns are the codes'
    activation : which loop of `kernels.extraction`
    signs, thetas : of each side; output s · K + k is max(0, signs[s] · z_k - thetas[s])
    together : whether the loop needs all responses of a patch at once
    """

    F: Array
    b: Array
    activation: Literal["threshold", "triangle", "nearest"]
    signs: tuple[float, ...] = (1.0,)
    thetas: tuple[float, ...] = (0.0,)
    together: bool = False


class Encoder(Part):
    """Whitened patches to activations.

    coupled : a code's activation depends on the other codes, so choosing again needs the images
    signed : activations may be negative
    """

    coupled: ClassVar[bool]

    @property
    def signed(self) -> bool:
        return False

    def decided(self, *, pairs: bool) -> Self:
        """Itself without "auto"; pairs : whether pooling multiplies outputs with each other, so that few should do"""
        return self

    def check_dimension(self, d: int) -> None:
        """A ParameterError where local vectors of d numbers cannot be encoded so."""

    @property
    def sides(self) -> int:
        """Activations per code: side s of code k is activation s · K + k."""
        return 1

    @property
    def side_names(self) -> tuple[str, ...]:
        """What the features of each side are called, behind the code."""
        return ("",)

    @abstractmethod
    def __call__(self, P: Array, D: Array) -> Array:
        """(n, d) patches to (n, sides · K) activations: the formula."""

    def encode(self, P: Array, D: Array) -> Array:
        """The same in float32, as fast as can be; by default the formula."""
        return self(P, D)

    def prepared(self, D: Array) -> Callable[[Array], Array]:
        """`encode` for many blocks of patches: what depends on the codes alone is computed once."""
        return partial(self.encode, D=D)

    def fused(self, D: Array, whitening: Whitening) -> Folded | None:
        """What the fused pass needs, or None: then the plain pass computes `encode`."""
        return None


class SignedEncoder(Encoder):
    """An encoder whose activations may be negative. They are pooled with their sign or, two-sided, as two outputs of a code:

    f⁺ = max(0, f),   f⁻ = max(0, -f)
    """

    two_sided: bool

    @property
    def signed(self) -> bool:
        return self.sides == 1

    @property
    def sides(self) -> int:
        return 2 if self.two_sided else 1

    @property
    def side_names(self) -> tuple[str, ...]:
        return ("_pos", "_neg") if self.two_sided else ("",)

    def split(self, F: Array) -> Array:
        """(n, K) activations with their sign to (n, sides · K)."""
        return np.hstack([np.maximum(0, F), np.maximum(0, -F)]) if self.sides == 2 else F
