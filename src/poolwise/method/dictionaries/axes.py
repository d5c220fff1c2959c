"""Directions in place of learned codes: the local vectors themselves, turned, and cut to K numbers.

D = U_Kᵀ,   U_K : the K eigenvectors of the patches' covariance with the largest eigenvalues
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.dictionaries.base import Dictionary, Learner, TooFewPatchesError, shard_size
from poolwise.method.statistics import Moments
from poolwise.support.lazy import np
from poolwise.support.progress import Update, silent

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Axes(Learner):
    """The K directions of largest variance, at most as many as a local vector has numbers: no codes at all.

    For second-order pooling of the vectors themselves, with `encoder="linear"`.
    """

    words = ("axes",)

    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        N, d = X.shape
        if K > d:
            raise TooFewPatchesError(f"{{n_codes}} axes of vectors of {d} numbers; give at most {d}", n_codes=K)
        moments = Moments(d)
        for part in X.map(_moments, size=shard_size(N)):
            moments.merge(part)
        _, U = np.linalg.eigh(moments.scatter / moments.n)
        axes = U[:, ::-1][:, :K].T
        signs = np.sign(axes[np.arange(K), np.abs(axes).argmax(axis=1)])
        return Dictionary(np.ascontiguousarray(axes * signs[:, None], np.float32))


def _moments(block: Array) -> Moments:
    return Moments.of(block)
