"""Online dictionary learning for sparse codes (Mairal and others 2009), by scikit-learn.

    minimise over D, f   Σ ½ ‖p - Σ f_k d_k‖² + λ Σ |f_k|,   |d_k| ≤ 1

a batch of random patches at a time: sparse codes of the batch, then a step of every code.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.dictionaries.base import Dictionary, Learner, different, distinct_patches, unit
from poolwise.method.encoders import Lasso
from poolwise.support.blocks import spans
from poolwise.support.lazy import np
from poolwise.support.parameters import Number, Whole, parameter
from poolwise.support.progress import Update, silent

if TYPE_CHECKING:
    from poolwise.engine import Held
    from poolwise.support.types import Array

_STEPS_PER_ROUND = 30


@dataclass(frozen=True, repr=False)
class OnlineDictionary(Learner):
    """Codes whose sparse sums come closest to patches: for the encoders `Lasso` and `OMP`.

    Far slower than `KMeans`, whose codes serve these encoders nearly as well.

    Parameters
    ----------
    sparsity : float
        λ, what a weight costs, above 0.
    batch : int
        Patches of a step.
    max_iter : int
        Steps; the objective is that of a batch after every thirty.

    Examples
    --------
    >>> from poolwise.engine.threads import HeldArray, Threads
    >>> X = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    >>> with Threads(1) as engine:
    ...     found = OnlineDictionary(max_iter=5).learn(HeldArray(X, engine), 10, rng=np.random.default_rng(0))
    >>> found.codes.shape, len(found.objective)
    ((10, 8), 1)
    """

    words = ("online",)

    sparsity: float = parameter(1.0, Number(1e-6), "What a weight costs while codes are learned for sparse coding.")
    batch: int = parameter(256, Whole(), "Patches of a step of online learning.")
    max_iter: int = parameter(300, Whole(), "Most steps of online learning.")

    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        from sklearn.decomposition import MiniBatchDictionaryLearning
        from sklearn.exceptions import ConvergenceWarning

        start = unit(distinct_patches(X, K, rng))
        learner = MiniBatchDictionaryLearning(
            K, alpha=self.sparsity, fit_algorithm="cd", dict_init=start, random_state=int(rng.integers(2**31)), shuffle=False
        )
        seen, objective = X.take(rng.integers(X.shape[0], size=self.batch)).astype(np.float64), list[float]()
        for steps in spans(self.max_iter, _STEPS_PER_ROUND):
            for step in range(steps.start, steps.stop):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # of one patch of one step: the next step goes on
                    learner.partial_fit(X.take(rng.integers(X.shape[0], size=self.batch)).astype(np.float64))
                update(step + 1)
            objective.append(self._objective(seen, unit(learner.components_)))
        codes = different(unit(learner.components_), X, rng=rng, two_sided=True)
        return Dictionary(codes, objective, len(objective), True)

    def _objective(self, P: Array, D: Array) -> float:
        """Mean of ½ ‖p - Σ f_k d_k‖² + λ Σ |f_k|."""
        F = Lasso(self.sparsity, two_sided=False).encode(P.astype(np.float32), D.astype(np.float32))
        return float((0.5 * ((P - F @ D) ** 2).sum(axis=1) + self.sparsity * np.abs(F).sum(axis=1)).mean())
