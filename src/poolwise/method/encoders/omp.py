"""Orthogonal matching pursuit: a patch as a sum of few codes, each taken for what the others have left.

    r = p;   then k times:   j = argmax |d_j·r| / |d_j|,   I ← I ∪ {j},   f_I = argmin ‖p - Σ f_j d_j‖,   r = p - Σ f_j d_j

d_j : a code    p : a whitened patch    I : the codes taken    G = D Dᵀ : with it no residual is ever formed (Rubinstein 2008)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import SignedEncoder
from poolwise.support.lazy import np
from poolwise.support.parameters import Flag, ParameterError, Whole, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array

SAME = 1e-5  # what is left of a code or patch, as a share of its length, and counts as nothing


@dataclass(frozen=True, repr=False)
class OMP(SignedEncoder):
    """The least-squares weights of at most k codes, taken one after the other.

    Sparse codes at a small part of the cost of `Lasso`. A code's weight depends on which others were taken, so choosing codes
    anew needs the images.

    Parameters
    ----------
    nonzeros : int
        k, at most d. A patch that fewer codes make up has fewer.
    two_sided : bool
        Positive and negative weights as two outputs of a code.

    Examples
    --------
    >>> OMP(2, two_sided=False)(np.array([[3.0, -1.0, 0.5]]), np.eye(3))
    array([[ 3., -1.,  0.]])
    >>> OMP(2)(np.array([[3.0, -1.0, 0.5]]), np.eye(3)) + 0
    array([[3., 0., 0., 0., 1., 0.]])
    """

    words = ("omp",)
    coupled = True

    nonzeros: int = parameter(4, Whole(), "Codes that a patch is a sum of.")
    two_sided: bool = parameter(True, Flag("--one-sided"), "Positive and negative weights apart.")

    def check_dimension(self, d: int) -> None:
        if self.nonzeros > d:
            raise ParameterError(
                f"{{OMP.nonzeros}} codes cannot be told apart by patches of {d} numbers; give at most {d}, or larger patches",
                **{"OMP.nonzeros": self.nonzeros},
            )

    def __call__(self, P: Array, D: Array) -> Array:
        F = np.zeros((len(P), len(D)), np.result_type(P, D))
        G, Z = D @ D.T, P @ D.T
        length = np.sqrt(np.diag(G))
        weight = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
        for i, z in enumerate(Z):
            taken, f = list[int](), np.empty(0)
            for _ in range(min(self.nonzeros, *D.shape)):
                left = np.abs(z - f @ G[taken]) * weight  # what is left of p answers each code
                left[taken] = 0
                j = int(left.argmax())
                gram = G[np.ix_(taken, taken)]
                own = G[j, j] - G[j, taken] @ np.linalg.solve(gram, G[taken, j])  # of d_j, outside of those taken
                if left[j] <= SAME * np.linalg.norm(P[i]) or own <= SAME**2 * G[j, j]:
                    break
                taken.append(j)
                f = np.linalg.solve(G[np.ix_(taken, taken)], z[taken])
            F[i, taken] = f
        return self.split(F)

    def encode(self, P: Array, D: Array) -> Array:
        return self.prepared(D)(P)

    def prepared(self, D: Array) -> Callable[[Array], Array]:
        from poolwise.kernels.omp import omp

        exact = np.asarray(D, np.float64)
        G, k = exact @ exact.T, min(int(self.nonzeros), *D.shape)

        def encode(P: Array) -> Array:
            F = np.empty((len(P), len(D)), np.float32)
            omp(P, D, P @ D.T, G, k, SAME, F)
            return self.split(F)

        return encode
