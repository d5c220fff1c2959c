"""ZCA whitening, and folding it into a dictionary (stage 3 of the method).

    W = V diag(1 / (sqrt(max(λ, 0)) + ε)) Vᵀ     form="std"       covariance over N        (jia2012, ε = 0.1)
    W = V diag(1 / sqrt(λ + ε)) Vᵀ               form="variance"  covariance over N - 1    (coates2011, ε = 0.1)

With a rank r, W = V_r diag(...) of the r largest eigenvalues alone, and a whitened patch Wᵀ (p - m) has r numbers: their scalar
products are those of full whitening less what the small directions add, and K-means and encoding cost r / d of theirs.

m : (d,) mean of the normalised patches    (λ, V) : eigenpairs of their covariance    whitened patch : W (p - m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolwise.method.statistics import Moments
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Family, Number, Part, Whole, parameter

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

Form = Literal["std", "variance"]

_ROWS_PER_BLOCK = 16384
_RANK_TOLERANCE = 1e-7  # of the largest scale
_VARIANCE_KEPT = 0.99  # by rank="auto"


@dataclass(frozen=True, repr=False)
class ZCA(Part):
    """Whitening by the patches' own covariance.

    Parameters
    ----------
    form : {"std", "variance"}
        1 / (sqrt(λ) + offset), or 1 / sqrt(λ + offset).
    offset : float
    rank : int, "auto" or None
        Directions of the patches that are kept, all for None. Half of them lose next to nothing, and products cost half.
        "auto": as many as hold 99 % of the patches' variance.
    """

    words = ("std", "variance")
    word_field = "form"

    form: Form = parameter("std", Choice(words), "How patches are whitened.", "--whitening")
    offset: float = parameter(
        0.1, Number(), "Added to the roots of eigenvalues, or to these, against noise.", "--whitening-offset"
    )
    rank: int | str | None = parameter(
        None, Whole(1, none=True, word="auto"), "Directions of patches that are kept; none: all."
    )


WHITENINGS: Family[ZCA] = Family("whitening", ZCA, none=True)


@dataclass(frozen=True)
class Whitening:
    """The map p → Wᵀ (p - m).

    m : (d,) float64    W : (d, d) float64, symmetric; or (d, r) for a rank below d
    """

    m: Array
    W: Array

    def __call__(self, patches: Array) -> Array:
        """Whiten the rows of `patches`, (N, d) to (N, r) in the same dtype."""
        return ((patches - self.m) @ self.W).astype(patches.dtype)

    @property
    def centre(self) -> Array:
        """m in float32: patches come less the centre to a product, which keeps the digits of bright ones."""
        return self.m.astype(np.float32)

    @property
    def is_reduced(self) -> bool:
        """Whether whitened patches have fewer numbers than patches."""
        return self.W.shape[1] < self.W.shape[0]

    @property
    def inner(self) -> Whitening:
        """What is left to fold into a dictionary: nothing where patches are reduced by a product of their own, else the map."""
        return identity(self.W.shape[1]) if self.is_reduced else self

    @property
    def reduction(self) -> Array:
        """(r, d + 1) float32: Wᵀ (p - m) is this times [p - centre, 1]; (0, d + 1) where nothing is reduced."""
        right = self.W if self.is_reduced else self.W[:, :0]
        return np.ascontiguousarray(np.vstack([right, (self.centre - self.m) @ right]).T.astype(np.float32))

    def fold(self, D: Array) -> tuple[Array, Array]:
        """Fold a square map into a dictionary: D W (p - m) = F (p - centre) + b.

        D : (K, d) codes of whitened patches    returns : F (K, d), b (K,), float64
        """
        F = np.asarray(D, np.float64) @ self.W
        return F, F @ (self.centre - self.m)

    def undo(self, D: Array) -> Array:
        """W⁺ d of every code, (K, r) to (K, d): the contrasts of pixels that whitening makes into d.

        Directions that it left out stay 0.

        >>> Whitening(np.zeros(2), np.diag([0.5, 0.0])).undo(np.array([[1.0, 1.0]]))
        array([[2., 0.]])
        """
        W, D = np.asarray(self.W, np.float64), np.asarray(D, np.float64)
        pictures: Array = D @ (np.linalg.pinv(W) if self.is_reduced else np.linalg.pinv(W, hermitian=True).T)
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
    r = _rank_of(lam, zca.rank)
    if r < d:
        return Whitening(moments.mean, np.ascontiguousarray((V * gain)[:, -r:]))
    return Whitening(moments.mean, (V * gain) @ V.T)


def _rank_of(lam: Array, rank: int | str | None) -> int:
    """Directions to keep, of ascending eigenvalues."""
    if rank == "auto":
        share = np.cumsum(lam[::-1]) / max(lam.sum(), np.finfo(np.float64).tiny)
        return min(len(lam), int(np.searchsorted(share, _VARIANCE_KEPT)) + 1)
    return len(lam) if rank is None else min(int(rank), len(lam))


def _moments(block: Array) -> Moments:
    return Moments.of(block.astype(np.float64))


def whiten(patches: Held, whitening: Whitening) -> None:
    """Whiten (N, d) patches where they are, block by block; with a rank they become (N, r)."""
    patches.replace(whitening, size=_ROWS_PER_BLOCK)
