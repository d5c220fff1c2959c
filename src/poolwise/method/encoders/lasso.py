"""Sparse coding: a patch as a sum of codes whose weights cost what they are long.

    f = argmin ½ ‖p - Σ f_k d_k‖² + λ Σ |f_k|          positive: over f ≥ 0

Coordinate descent on z = D p and G = D Dᵀ, one code at a time until none moves:

    f_k ← S(z_k - Σ_{j≠k} G_kj f_j, λ) / G_kk          S(u, λ) = sign(u) max(0, |u| - λ)

d_k : a code    p : a whitened patch    λ : the penalty
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import SignedEncoder
from poolwise.support.lazy import np
from poolwise.support.parameters import Flag, Number, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array

_TOLERANCE = 1e-7  # of the largest move in a round, as a share of the largest response
_MOST_ROUNDS = 10_000


@dataclass(frozen=True, repr=False)
class Lasso(SignedEncoder):
    """Sparse codes by coordinate descent.

    The encoding of the sparse-coding literature, and the slowest here: every patch has an optimisation of its own. With few
    labels it may be worth that; `Threshold` comes close in a small part of the time.

    Parameters
    ----------
    penalty : float
        λ, above 0. A code takes part if more than that is left for it; whitened patches of 6×6 colour pixels have a length
        of about 6.
    positive : bool
        Weights of at least 0.
    two_sided : bool
        Positive and negative weights as two outputs of a code; without effect if all are positive.

    Examples
    --------
    >>> Lasso(0.5, two_sided=False)(np.array([[2.0, -1.0, 0.25]]), np.eye(3))
    array([[ 1.5, -0.5,  0. ]])
    >>> Lasso(0.5, positive=True)(np.array([[2.0, -1.0, 0.25]]), np.eye(3)) + 0
    array([[1.5, 0. , 0. ]])
    """

    words = ("lasso",)
    coupled = True

    penalty: float = parameter(1.0, Number(1e-6), "What a weight costs: more gives fewer of them.")
    positive: bool = parameter(False, Flag("--signed"), "Weights of at least 0.")
    two_sided: bool = parameter(True, Flag("--one-sided"), "Positive and negative weights apart.")

    @property
    def signed(self) -> bool:
        return super().signed and not self.positive

    @property
    def sides(self) -> int:
        return 1 if self.positive else super().sides

    @property
    def side_names(self) -> tuple[str, ...]:
        return ("",) if self.positive else super().side_names

    def __call__(self, P: Array, D: Array) -> Array:
        F = np.zeros((len(P), len(D)), np.result_type(P, D))
        G, Z = D @ D.T, P @ D.T
        alive = np.flatnonzero(np.diag(G) > 0)
        rest, rows = _TOLERANCE * np.abs(Z).max(axis=1, initial=0), np.arange(len(P))
        for _ in range(_MOST_ROUNDS):
            f, moved = F[rows], np.zeros(len(rows))  # of patches that still move
            for k in alive:
                u = Z[rows, k] - f @ G[k] + G[k, k] * f[:, k]
                new = np.sign(u) * np.maximum(0, (u if self.positive else np.abs(u)) - self.penalty) / G[k, k]
                moved = np.maximum(moved, np.abs(new - f[:, k]) * np.sqrt(G[k, k]))
                f[:, k] = new
            F[rows] = f
            rows = rows[moved > rest[rows]]
            if not len(rows):
                break
        return self.split(F)

    def encode(self, P: Array, D: Array) -> Array:
        return self.prepared(D)(P)

    def prepared(self, D: Array) -> Callable[[Array], Array]:
        from poolwise.kernels.lasso import lasso

        exact = np.asarray(D, np.float64)
        G, penalty = exact @ exact.T, float(self.penalty)

        def encode(P: Array) -> Array:
            F = np.empty((len(P), len(D)), np.float32)
            lasso(P @ D.T, G, penalty, bool(self.positive), _TOLERANCE, _MOST_ROUNDS, F)
            return self.split(F)

        return encode
