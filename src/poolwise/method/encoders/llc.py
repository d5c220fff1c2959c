"""Locality-constrained linear coding of Wang and others (2010): a patch as a sum of its nearest codes.

    minimise ‖p - Σ_k f_k d_k‖² + β tr(C) ‖f‖²    over the codes nearest to p, with Σ_k f_k = 1

    B = d_k - p of the nearest,   C = B Bᵀ,   (C + β tr(C) I) w = 1,   f = w / Σ w

d_k : a code    p : a whitened patch    β : the regulariser
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import SignedEncoder
from poolwise.method.encoders.triangle import squared_distances
from poolwise.support.lazy import np
from poolwise.support.parameters import Flag, Number, Whole, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class LLC(SignedEncoder):
    """Weights of the nearest codes whose sum comes closest to the patch; the weights sum to 1 and may be negative.

    Keeps more of a patch than `Nearest` and suits max pooling on fine grids; slower, since every patch has a system of its own.

    Parameters
    ----------
    neighbours : int
        Codes per patch; all of them if there are fewer.
    regularizer : float
        β, above 0.
    two_sided : bool
        Positive and negative weights as two outputs of a code.

    Examples
    --------
    >>> LLC(neighbours=2)(np.array([[0.25, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]])).round(3)
    array([[0.75, 0.25, 0.  ]])
    """

    words = ("llc",)
    coupled = True

    neighbours: int = parameter(5, Whole(), "Nearest codes that a patch is made of.")
    regularizer: float = parameter(1e-4, Number(1e-12), "Keeps their weights small, as a share of the trace.")
    two_sided: bool = parameter(False, Flag("--one-sided"), "Positive and negative weights apart.")

    def __call__(self, P: Array, D: Array) -> Array:
        near = np.argsort(squared_distances(P, D), axis=1, kind="stable")[:, : self.neighbours]
        F = np.zeros((len(P), len(D)), np.result_type(P, D))
        for i, nearest in enumerate(near):
            B = D[nearest] - P[i]
            C = B @ B.T
            trace = np.trace(C)
            w = np.linalg.solve(C + (self.regularizer * trace if trace > 0 else 1.0) * np.eye(len(C)), np.ones(len(C)))
            F[i, nearest] = w / w.sum()
        return self.split(F)

    def encode(self, P: Array, D: Array) -> Array:
        from poolwise.kernels.coding import llc

        Z, F = P @ D.T, np.empty((len(P), len(D)), np.float32)
        Z -= (D**2).sum(axis=1) / 2
        llc(P, D, Z, min(int(self.neighbours), len(D)), float(self.regularizer), F)
        return self.split(F)
