"""Which choices mattered: the difference that a factor's value makes on otherwise equal settings.

Trials of one rung are scores of the same held-out images. For every value of a factor the differences of all pairs of trials
that differ in it alone are averaged image by image; their mean is the effect, and its standard error is over images.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolwise.tuning.result import Trial
from poolwise.tuning.settings import Order
from poolwise.tuning.space import FACTORS
from poolwise.tuning.splits import Rung, compare, standard_error

References = dict[str, dict[Order, Any]]  # of every factor the value that others are compared with, for each order
SMALL = 0.003  # a difference that does not matter: 0.3 points
_USUAL = 0.015  # how large effects are, about
_KNOWN = {("pool", "power"): -0.015}  # the root was better on all six data sets


@dataclass(frozen=True)
class Effect:
    """What a value of a factor gives more than another.

    difference, error : of the score, and its standard error    pairs : of trials    images : that they were tried on
    """

    factor: str
    value: Any
    reference: Any
    difference: float
    error: float
    pairs: int
    images: int

    @property
    def matters(self) -> bool:
        """Whether the difference is above its standard error and above 0.3 points."""
        return abs(self.difference) > max(self.error, SMALL)

    @property
    def gain(self) -> float:
        """The difference, drawn to what it usually is as far as it may be chance: u + (d - u) τ² / (τ² + e²).

        u : 0, or what six data sets showed    τ : as effects usually differ from that
        """
        usual = _KNOWN.get((self.factor, self.value), 0.0)
        return usual + (self.difference - usual) * _USUAL**2 / (_USUAL**2 + self.error**2)


def effects_of(trials: Iterable[Trial], references: References, factors: Sequence[str] = tuple(FACTORS)) -> list[Effect]:
    """The effects of every value that was tried against the reference of its factor; from the rung that knows it best."""
    found: dict[tuple[str, Any], Effect] = {}
    by_rung: dict[str, list[Trial]] = {}
    for trial in trials:
        by_rung.setdefault(trial.rung.key, []).append(trial)
    for alike in by_rung.values():
        for factor in factors:
            for effect in _effects(alike, factor, references):
                place = factor, effect.value
                if place not in found or effect.error < found[place].error:
                    found[place] = effect
    return [found[place] for place in sorted(found, key=lambda place: (list(FACTORS).index(place[0]), str(place[1])))]


def _effects(trials: Sequence[Trial], factor: str, references: References) -> Iterable[Effect]:
    rest: dict[Any, dict[Any, Trial]] = {}
    for trial in trials:
        value = getattr(trial.setting, factor)
        rest.setdefault(trial.setting.but(**{factor: None}), {})[value] = trial
    differences: dict[tuple[Any, Any], list[Any]] = {}
    for values in rest.values():
        for value, trial in values.items():
            reference = references[factor][trial.setting.order]
            if value != reference and reference in values:
                differences.setdefault((value, reference), []).append(trial.each - values[reference].each)
    for (value, reference), pairs in differences.items():
        each = np.asarray(np.mean(pairs, axis=0, dtype=np.float64))
        rung = trials[0].rung
        yield Effect(factor, value, reference, float(each.mean()), standard_error(each), len(pairs), rung.n)


def order_effects(trials: Sequence[Trial]) -> list[Effect]:
    """The best of second order, and the best of both orders, against the best of first order."""
    found = (order_effect(trials, order) for order in ("second", "both"))
    return [effect for effect in found if effect is not None]


def order_effect(trials: Sequence[Trial], order: Order) -> Effect | None:
    """The best of an order against the best of first order, on the largest rung that has both."""
    for rung in sorted({trial.rung for trial in trials}, key=lambda rung: rung.size, reverse=True):
        best = [best_of_order(trials, rung, one) for one in ("first", order)]
        if best[0] is not None and best[1] is not None:
            difference, error = compare(best[1].each, best[0].each)
            return Effect("order", order, "first", difference, error, 1, rung.n)
    return None


def best_of_order(trials: Iterable[Trial], rung: Rung, order: Order) -> Trial | None:
    """Of a rung; the cheapest of equal scores."""
    here = [trial for trial in trials if trial.rung == rung and trial.setting.order == order]
    return max(here, key=lambda trial: (trial.score, -trial.cost), default=None)
