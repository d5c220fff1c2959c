"""Settings that nobody tried yet, made of values that did well: winners of different factors together.

    expected score = score of the best of the same order + Σ over factors (gain of its value - gain of the best one's value)

A gain is an effect on otherwise equal settings, drawn towards 0 as far as it may be chance. Those of patches, whitening,
symmetry and selection are taken from the other orders where there are none of the same.
"""

import math
from collections.abc import Sequence
from typing import Any

from poolwise.tuning.effects import effects_of
from poolwise.tuning.result import Trial
from poolwise.tuning.settings import ORDERS, Order, Setting
from poolwise.tuning.space import FACTORS, OF_BANKS, OF_DEFAULTS, Space

WORTH = 0.002  # a gain that is worth another trial
_OF_TWICE_THE_CODES = 0.02  # usually gained at second order (docs/second_order.md), though hardly with few images
_BESIDE_LEADER = 0.5  # a neighbour of the best whose change was never tried counts as half a standard error better


def combinations(trials: Sequence[Trial], space: Space) -> list[Setting]:
    """Of all orders, the most promising first; those that were tried with the most images so far are not among them."""
    if not trials:
        return []
    largest = max(trial.rung.size for trial in trials)
    tried = {trial.setting for trial in trials if trial.rung.size == largest}
    expected: dict[Setting, float] = {}
    for order in ORDERS:
        own = [trial for trial in trials if trial.setting.order == order]
        if not own:
            continue
        base, values = space.base_of(order), space.values[order]
        gains = _gains(own, trials, base)
        top = max(trial.rung.size for trial in own)
        leader = max((trial for trial in own if trial.rung.size == top), key=lambda trial: (trial.score, -trial.cost))
        score = leader.score + _rise(trials, top, largest)
        promising = {name: _promising(name, values[name], gains, leader.setting, base) for name in values}
        for setting in space.all_of(promising):
            gain = sum(_gain(gains, name, setting, base) - _gain(gains, name, leader.setting, base) for name in FACTORS)
            expected[setting.but(directions=leader.setting.directions)] = score + gain
        for setting in _beside(leader.setting, values, gains, space):
            expected.setdefault(setting, score + _BESIDE_LEADER * leader.error)
        for setting, times in _more(leader.setting, space):
            usual = _OF_TWICE_THE_CODES if order == "second" and times > 1 else 0.0
            hoped = score + max(_BESIDE_LEADER * leader.error, math.log2(times) * max(_BESIDE_LEADER * leader.error, usual))
            expected[setting] = max(expected.get(setting, hoped), hoped)
    found = [setting for setting in expected if setting not in tried]
    return sorted(found, key=lambda setting: -expected[setting])


def _rise(trials: Sequence[Trial], low: tuple[int, int, bool], high: tuple[int, int, bool]) -> float:
    """What more images gave the settings that were tried with both, so that scores of two rungs can be compared."""
    before = {trial.setting: trial.score for trial in trials if trial.rung.size == low}
    rises = [t.score - before[t.setting] for t in trials if t.rung.size == high and t.setting in before]
    return sum(rises) / len(rises) if rises else 0.0


def promising_of(trials: Sequence[Trial], space: Space, leader: Setting) -> Setting:
    """The base of the leader's order with the value of each factor that gained most, where one gained.

    The best of many trials is best by chance in part; what values gain on otherwise equal settings is surer.
    """
    base = space.base_of(leader.order)
    own = [trial for trial in trials if trial.setting.order == leader.order]
    gains = _gains(own, trials, base)
    chosen = {}
    for name, values in space.values[leader.order].items():
        best = max(values, key=lambda value: gains.get((name, value), 0.0))
        if gains.get((name, best), 0.0) > WORTH:
            chosen[name] = best
    found = base.but(**chosen)
    return found if space.allows(found) else base


def like_defaults(trials: Sequence[Trial], space: Space) -> list[Setting]:
    """What `PooledFeatures()` may decide for these images, with products and without: a search should not end below it.

    trials : of one rung
    """
    best: dict[Order, Setting] = {}
    ranked = sorted(trials, key=lambda trial: -trial.score)
    for trial in ranked:
        if trial.setting.pool in ("average", "max"):
            best.setdefault(trial.setting.order, trial.setting)
    selection = space.values["first"]["selection"][-1]
    usual = space.base.but(alpha=OF_DEFAULTS, two_sided=True, selection=selection)
    found = [usual.but(grid=one.grid, pool=one.pool, pairs=one.pairs) for one in best.values()]
    symmetries = dict.fromkeys(("mirror", *(trial.setting.symmetry for trial in ranked[:1])))
    return [one.but(symmetry=symmetry) for symmetry in symmetries for one in found]


def _gains(own: Sequence[Trial], trials: Sequence[Trial], base: Setting) -> dict[tuple[str, Any], float]:
    """The gain of every value against the base's."""
    against = {name: dict.fromkeys(ORDERS, getattr(base, name)) for name in FACTORS}
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


def _more(leader: Setting, space: Space) -> list[tuple[Setting, float]]:
    """What pays with more images, so that few say little of it: more codes, or codes that are multiplied, with how many times
    as many; and codes that are chosen with labels."""
    beside = [*space.beside(leader, "n_codes"), *space.beside(leader, "pairs")]
    pairs = leader.pairs or 1
    found = [(one, max(one.n_codes / leader.n_codes, (one.pairs or 1) / pairs)) for one in beside]
    chosen = [(one, 1.0) for one in space.beside(leader, "selection") if one.n_candidates is not None]
    return [*((one, times) for one, times in found if times > 1), *chosen]


def _beside(
    leader: Setting, values: dict[str, tuple[Any, ...]], gains: dict[tuple[str, Any], float], space: Space
) -> list[Setting]:
    """Neighbours of the leader in one factor whose value was never compared."""
    return [setting for name in values for setting in space.beside(leader, name) if (name, getattr(setting, name)) not in gains]
