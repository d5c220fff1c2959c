"""Codes that nothing was learned for.

patches     K random patches, unit norm
gaussian    K random directions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolwise.method.dictionaries.base import Dictionary, Learner, different, distinct_patches, unit
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, parameter
from poolwise.support.progress import Update, silent

if TYPE_CHECKING:
    from poolwise.engine import Held


@dataclass(frozen=True, repr=False)
class RandomCodes(Learner):
    """Codes that nothing was learned for: K random patches of unit norm, or K random directions."""

    words = ("patches", "gaussian")
    word_field = "kind"

    kind: Literal["patches", "gaussian"] = parameter("patches", Choice(words), "Which random codes.", "--dictionary")
    max_iter = 0

    def learn(self, X: Held, K: int, *, rng: np.random.Generator, update: Update = silent) -> Dictionary:
        """K different codes."""
        if self.checked().kind == "gaussian":
            return Dictionary(different(unit(rng.standard_normal((K, X.shape[1]))), X, rng=rng))
        return Dictionary(different(unit(distinct_patches(X, K, rng)), X, rng=rng))
