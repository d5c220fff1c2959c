"""Which choices mattered, and which settings are kept, combined and chosen."""

import numpy as np
import pytest

from poolwise.tuning.combining import combinations, like_defaults
from poolwise.tuning.effects import effects_of, order_effects
from poolwise.tuning.result import Trial, best_of, frontier_of, keep, latest
from poolwise.tuning.search import references
from poolwise.tuning.settings import Setting
from poolwise.tuning.space import make_space
from poolwise.tuning.splits import Rung, standard_error

SPACE = make_space((32, 32, 3), 40)
FIRST, SECOND = Rung(500, 400), Rung(1500, 400)


def trial(setting, each, rung=FIRST, cost=1.0, milliseconds=1.0):
    each = np.asarray(each, np.float32)
    return Trial(setting, float(each.mean()), standard_error(each), milliseconds, setting.n_features, rung, cost, each)


@pytest.fixture
def scores(rng):
    """A function: 400 scores with a mean of about `p` that agree with those of other p's where they can."""
    level = rng.random(400)
    return lambda p: level < p


def test_an_effect_is_the_mean_over_pairs_image_by_image(scores):
    base = SPACE.base
    pairs = [
        (trial(base.but(pool=pool), scores(0.6)), trial(base.but(pool=pool, grid=(3,)), scores(0.6 + gain)))
        for pool, gain in (("average", 0.1), ("max", 0.2))
    ]
    trials = [one for pair in pairs for one in pair]
    (grid,) = (effect for effect in effects_of(trials, references(SPACE)) if effect.factor == "grid")
    naive = np.mean([b.each - a.each for a, b in pairs], axis=0)
    assert grid.difference == pytest.approx(naive.mean())
    assert grid.error == pytest.approx(naive.std(ddof=1) / 20)
    assert (grid.value, grid.reference, grid.pairs) == ((3,), (2,), 2)
    assert grid.matters
    assert 0 < grid.gain < grid.difference


def test_what_is_within_an_error_or_three_tenths_does_not_matter(scores):
    base = SPACE.base
    one = scores(0.6)
    noise = np.r_[one[:200][::-1], ~one[200:]]  # far from the same images, and little more of them
    noise[np.flatnonzero(noise != one)[: int(noise.sum() - one.sum()) - 4]] ^= True
    found = effects_of([trial(base, one), trial(base.but(two_sided=True), noise)], references(SPACE))
    assert 0.003 < abs(found[0].difference) < found[0].error
    assert not found[0].matters
    same = effects_of([trial(base, scores(0.6)), trial(base.but(two_sided=True), scores(0.601))], references(SPACE))
    assert not same[0].matters


def test_trials_of_different_rungs_are_not_compared(scores):
    base = SPACE.base
    assert effects_of([trial(base, scores(0.6)), trial(base.but(grid=(1,)), scores(0.8), SECOND)], references(SPACE)) == []


def test_orders_are_compared_by_their_best(scores):
    trials = [
        trial(SPACE.base, scores(0.6)),
        trial(SPACE.base_of("second"), scores(0.7)),
        trial(SPACE.base.but(grid=(1,)), scores(0.65)),
    ]
    (effect,) = order_effects(trials)
    assert (effect.value, effect.reference) == ("second", "first")
    assert effect.difference == pytest.approx(trials[1].score - trials[2].score)
    assert order_effects(trials[:1]) == []
    both = trial(SPACE.base_of("both"), scores(0.68))
    assert [one.value for one in order_effects([*trials, both])] == ["second", "both"]


def test_winners_of_different_factors_are_combined(scores):
    base = SPACE.base
    trials = [
        trial(base, scores(0.5)),
        trial(base.but(grid=(3,)), scores(0.6)),
        trial(base.but(symmetry="mirror"), scores(0.58)),
        trial(base.but(patch_size=8), scores(0.4)),
    ]
    assert combinations(trials, SPACE)[0] == base.but(grid=(3,), symmetry="mirror")
    assert combinations([], SPACE) == []


def test_the_gains_of_banks_count_for_the_other_order(scores):
    base, second = SPACE.base, SPACE.base_of("second")
    trials = [
        trial(base, scores(0.5)),
        trial(base.but(symmetry="dihedral"), scores(0.6)),
        trial(second, scores(0.7)),
        trial(second.but(grid=(1,)), scores(0.75)),
    ]
    assert combinations(trials, SPACE)[0] == second.but(grid=(1,), symmetry="dihedral")


def test_an_order_that_few_images_left_behind_is_tried_with_more_once_what_others_showed_raises_it(scores):
    """Scores of two rungs are made comparable by the settings that both have."""
    second, both = SPACE.base_of("second"), SPACE.base_of("both")
    trials = [
        trial(second, scores(0.50)),
        trial(second.but(symmetry="mirror"), scores(0.56)),
        trial(both, scores(0.54)),
        trial(second.but(symmetry="mirror"), scores(0.66), SECOND),
        trial(second, scores(0.60), SECOND),
    ]
    wanted = combinations(trials, SPACE)
    assert wanted.index(both.but(symmetry="mirror")) < wanted.index(second.but(symmetry="dihedral"))
    assert next(one for one in wanted if one.order == "both").symmetry == "mirror"


def test_what_the_defaults_may_decide_has_the_best_pooling_of_each_kind(scores):
    base, both = SPACE.base, SPACE.base_of("both")
    trials = [
        trial(base.but(grid=(3,), patch_size=8), scores(0.6)),
        trial(base.but(pool="max", grid=(4,)), scores(0.5)),
        trial(base.but(pool="both"), scores(0.7)),
        trial(both.but(grid=(1,), symmetry="dihedral"), scores(0.8)),
        trial(SPACE.base_of("second"), scores(0.75)),
    ]
    found = like_defaults(trials, SPACE)
    assert [(one.order, one.grid, one.pool, one.symmetry) for one in found] == [
        ("both", (1,), "average", "mirror"),
        ("first", (3,), "average", "mirror"),
        ("both", (1,), "average", "dihedral"),
        ("first", (3,), "average", "dihedral"),
    ]
    assert {(one.patch_size, one.alpha, one.selection) for one in found} == {(6, (0.25, 1.0), "supervised")}
    assert like_defaults([], SPACE) == []


def test_the_best_third_is_kept_and_the_cheapest_equal(scores, rng):
    settings = [Setting(8, patch_size=size) for size in range(3, 12)]
    trials = [trial(setting, scores(0.5 + 0.03 * i), cost=5.0) for i, setting in enumerate(settings)]
    assert keep(trials) == trials[:-4:-1]
    shuffled = scores(0.74)
    shuffled[:40] = rng.permutation(shuffled[:40])
    cheap = trial(Setting(8, patch_size=20), shuffled, cost=1.0)
    assert keep([*trials, cheap], 0.1)[-1] == cheap


def test_more_codes_are_preferred_among_near_equals_only_if_a_fit_has_far_more_images(scores, rng):
    few, many, worse = (Setting(n) for n in (8, 16, 32))
    best = trial(few, scores(0.75), SECOND)
    nearly = best.each.copy()
    nearly[[np.flatnonzero(nearly == 1)[0], np.flatnonzero(nearly == 0)[0]]] = [0, 1]
    nearly[np.flatnonzero(nearly == 1)[-1]] = 0
    trials = [best, trial(many, nearly, SECOND, cost=9.0), trial(worse, scores(0.5), SECOND)]
    assert best_of(trials, 2 * SECOND.n - 1) == best
    assert best_of(trials, 2 * SECOND.n).setting == many
    assert best_of(trials).setting == few
    labels = trial(few.but(selection="supervised"), nearly, SECOND, cost=9.0)
    products = trial(few.but(pairs=4), nearly, SECOND, cost=9.0)
    assert best_of([*trials, labels], 2 * SECOND.n) == labels  # which gain more with more images than codes do
    assert best_of([*trials, labels, products], 2 * SECOND.n) == products


def test_the_chosen_one_is_of_the_largest_rung_and_the_cheapest_of_equals(scores):
    a, b, c = (Setting(8, patch_size=size) for size in (3, 4, 6))
    best = trial(a, scores(0.9), FIRST)
    large = [trial(b, scores(0.7), SECOND, cost=3.0), trial(c, scores(0.7), SECOND, cost=2.0)]
    assert best_of([best, *large]).setting == c
    better = trial(a, scores(0.75), SECOND, cost=9.0)
    assert best_of([best, *large, better]) == better
    assert {one.setting: one.rung for one in latest([best, *large, better])}[a] == SECOND


def test_nothing_on_the_frontier_is_worse_and_dearer(scores):
    given = [(0.5, 1.0), (0.6, 2.0), (0.55, 3.0), (0.7, 4.0), (0.7, 5.0)]
    trials = [trial(Setting(8, patch_size=i + 1), scores(p), milliseconds=ms) for i, (p, ms) in enumerate(given)]
    assert frontier_of(trials) == [trials[0], trials[1], trials[3]]
