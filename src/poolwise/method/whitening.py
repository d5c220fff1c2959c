"""ZCA whitening, and folding it into a dictionary (stage 3 of the method).

    W = V diag(1 / (sqrt(max(λ, 0)) + ε)) Vᵀ     form="std"       covariance over N        (jia2012, ε = 0.1)
    W = V diag(1 / sqrt(λ + ε)) Vᵀ               form="variance"  covariance over N - 1    (coates2011, ε = 0.1)

m : (d,) mean of the normalised patches    (λ, V) : eigenpairs of their covariance    whitened patch : W (p - m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolwise.method.statistics import Moments
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Family, Number, Part, parameter

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

Form = Literal["std", "variance"]

_ROWS_PER_BLOCK = 16384
_RANK_TOLERANCE = 1e-7  # of the largest scale


@dataclass(frozen=True, repr=False)
class ZCA(Part):
    """Whitening by the patches' own covariance.

    Parameters
    ----------
    form : {"std", "variance"}
        1 / (sqrt(λ) + offset), or 1 / sqrt(λ + offset).
    offset : float
    """

    words = ("std", "variance")
    word_field = "form"

    form: Form = parameter("std", Choice(words), "How patches are whitened.", "--whitening")
    offset: float = parameter(
        0.1, Number(), "Added to the roots of eigenvalues, or to these, against noise.", "--whitening-offset"
    )


WHITENINGS: Family[ZCA] = Family("whitening", ZCA, none=True)


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

    @property
    def centre(self) -> Array:
        """m in float32: patches come less the centre to a product, which keeps the digits of bright ones."""
        return self.m.astype(np.float32)

    def fold(self, D: Array) -> tuple[Array, Array]:
        """Fold the map into a dictionary: D W (p - m) = F (p - centre) + b.

        D : (K, d) codes of whitened patches    returns : F (K, d), b (K,), float64
        """
        F = np.asarray(D, np.float64) @ self.W
        return F, F @ (self.centre - self.m)

    def undo(self, D: Array) -> Array:
        """W⁺ d of every code, (K, d): the contrasts of pixels that whitening makes into d; directions it left out stay 0.

        >>> Whitening(np.zeros(2), np.diag([0.5, 0.0])).undo(np.array([[1.0, 1.0]]))
        array([[2., 0.]])
        """
        pictures: Array = np.asarray(D, np.float64) @ np.linalg.pinv(np.asarray(self.W, np.float64), hermitian=True).T
        return pictures


def identity(d: int) -> Whitening:
    """No whitening, as the same kind of map."""
    return Whitening(np.zeros(d), np.eye(d))


def fit_whitening(patches: Held, zca: ZCA | None) -> Whitening:
    """Learn the map of contrast-normalised patches (N, d), in float64 over fixed blocks of rows.

    >>> from poolwise.engine.threads import HeldArray, Threads
    >>> P = np.random.default_rng(0).normal(size=(1000, 2)) @ [[3.0, 0.0], [1.0, 1.0]]
    >>> with Threads(1) as engine:
    ...     white = fit_whitening(HeldArray(P, engine), ZCA("std", 0.0))
    >>> np.allclose(np.cov(white(P).T, ddof=0), np.eye(2))
    True
    """
    import scipy.linalg

    d = patches.shape[1]
    if zca is None:
        return identity(d)
    zca.checked()
    moments = Moments(d)
    for part in patches.map(_moments, size=_ROWS_PER_BLOCK):
        moments.merge(part)
    lam, V = scipy.linalg.eigh(moments.covariance(ddof=0 if zca.form == "std" else 1))
    lam = np.maximum(lam, 0)
    scale = np.sqrt(lam) + zca.offset if zca.form == "std" else np.sqrt(lam + zca.offset)
    seen = scale > _RANK_TOLERANCE * scale.max()  # without an offset, directions that never vary are left out
    gain = np.divide(1, scale, where=seen, out=np.zeros_like(scale))
    return Whitening(moments.mean, (V * gain) @ V.T)


def _moments(block: Array) -> Moments:
    return Moments.of(block.astype(np.float64))


def whiten(patches: Held, whitening: Whitening) -> None:
    """Whiten (N, d) patches where they are, block by block."""
    patches.replace(whitening, size=_ROWS_PER_BLOCK)
