"""Settings that nobody tried yet, made of values that did well: winners of different factors together.

    expected score = score of the best of the same order + Σ over factors (gain of its value - gain of the best one's value)

A gain is an effect on otherwise equal settings, drawn towards 0 as far as it may be chance. Those of patches, whitening,
symmetry and selection are taken from the other order where there are none of the same.
"""

import math
from collections.abc import Sequence
from typing import Any

from poolwise.tuning.effects import effects_of
from poolwise.tuning.result import Trial
from poolwise.tuning.settings import Setting
from poolwise.tuning.space import FACTORS, OF_BANKS, Space

WORTH = 0.002  # a gain that is worth another trial
_OF_TWICE_THE_CODES = 0.02  # usually gained at second order (docs/second_order.md), though hardly with few images
_BESIDE_LEADER = 0.5  # a neighbour of the best whose change was never tried counts as half a standard error better


def combinations(trials: Sequence[Trial], space: Space) -> list[Setting]:
    """Of both orders, the most promising first; those that were tried with the most images so far are not among them."""
    if not trials:
        return []
    largest = max(trial.rung.size for trial in trials)
    tried = {trial.setting for trial in trials if trial.rung.size == largest}
    expected: dict[Setting, float] = {}
    for second in (True, False):
        own = [trial for trial in trials if trial.setting.is_second_order is second]
        if not own:
            continue
        base = space.second_base if second else space.base
        values = space.second if second else space.values
        gains = _gains(own, trials, base)
        top = max(trial.rung.size for trial in own)
        leader = max((trial for trial in own if trial.rung.size == top), key=lambda trial: (trial.score, -trial.cost))
        promising = {name: _promising(name, values[name], gains, leader.setting, base) for name in values}
        for setting in space.all_of(promising):
            gain = sum(_gain(gains, name, setting, base) - _gain(gains, name, leader.setting, base) for name in FACTORS)
            expected[setting.but(directions=leader.setting.directions)] = leader.score + gain
        for setting in _beside(leader.setting, values, gains, space):
            expected.setdefault(setting, leader.score + _BESIDE_LEADER * leader.error)
        for setting in _more_codes(leader.setting, space):
            doublings = math.log2(setting.n_codes / leader.setting.n_codes)
            hoped = leader.score + doublings * max(_BESIDE_LEADER * leader.error, _OF_TWICE_THE_CODES if second else 0.0)
            expected[setting] = max(expected.get(setting, hoped), hoped)
    found = [setting for setting in expected if setting not in tried]
    return sorted(found, key=lambda setting: -expected[setting])


def promising_of(trials: Sequence[Trial], space: Space, leader: Setting) -> Setting:
    """The base of the leader's order with the value of each factor that gained most, where one gained.

    The best of many trials is best by chance in part; what values gain on otherwise equal settings is surer.
    """
    second = leader.is_second_order
    base = space.second_base if second else space.base
    own = [trial for trial in trials if trial.setting.is_second_order is second]
    gains = _gains(own, trials, base)
    chosen = {}
    for name, values in space.values_of(leader).items():
        best = max(values, key=lambda value: gains.get((name, value), 0.0))
        if gains.get((name, best), 0.0) > WORTH:
            chosen[name] = best
    found = base.but(**chosen)
    return found if space.allows(found) else base


def _gains(own: Sequence[Trial], trials: Sequence[Trial], base: Setting) -> dict[tuple[str, Any], float]:
    """The gain of every value against the base's."""
    against = {name: (getattr(base, name), getattr(base, name)) for name in FACTORS}
    others = effects_of(trials, against, OF_BANKS)
    return {(effect.factor, effect.value): effect.gain for effect in (*others, *effects_of(own, against))}


def _gain(gains: dict[tuple[str, Any], float], name: str, setting: Setting, base: Setting) -> float:
    value = getattr(setting, name)
    return 0.0 if value == getattr(base, name) else gains.get((name, value), 0.0)


def _promising(
    name: str, values: tuple[Any, ...], gains: dict[tuple[str, Any], float], leader: Setting, base: Setting
) -> tuple[Any, ...]:
    """The leader's value, and those that gained more than it."""
    own = getattr(leader, name)
    least = _gain(gains, name, leader, base)
    better = [value for value in values if value != own and gains.get((name, value), 0.0) > max(least, 0.0) + WORTH]
    if own != getattr(base, name) and least < -WORTH:
        better.append(getattr(base, name))
    return (own, *better)


def _more_codes(leader: Setting, space: Space) -> list[Setting]:
    """Larger numbers of codes: they pay with more images, so what few images said of them counts little."""
    return [setting for setting in space.beside(leader, "n_codes") if setting.n_codes > leader.n_codes]


def _beside(
    leader: Setting, values: dict[str, tuple[Any, ...]], gains: dict[tuple[str, Any], float], space: Space
) -> list[Setting]:
    """Neighbours of the leader in one factor whose value was never compared."""
    return [setting for name in values for setting in space.beside(leader, name) if (name, getattr(setting, name)) not in gains]
