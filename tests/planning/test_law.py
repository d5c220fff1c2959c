"""a + b K^(-1/4): the paper's own figures, least squares by another way, and intervals that hold as often as they say."""

import math

import numpy as np
import pytest
from scipy.stats import t

from poolwise.planning.law import fit_law

K = np.array([100, 200, 400, 800, 1600, 3200, 6400])
PAPER = np.array([65.19, 69.02, 72.21, 75.26, 77.96, 79.91, 81.37])  # table 1, the diagonal: K-means on CIFAR-10


def test_the_papers_diagonal_follows_the_law():
    law = fit_law(K, PAPER)
    assert law.a == pytest.approx(90.5, abs=0.1)
    assert law.b == pytest.approx(-80.5, abs=0.1)
    assert np.abs(law.at(K) - PAPER).max() < 0.3


def test_small_dictionaries_predict_the_papers_large_ones():
    law = fit_law(K[:5], PAPER[:5])
    low, high = law.interval(K[5:])
    assert np.abs(law.at(K[5:]) - PAPER[5:]).max() < 0.2
    assert (low < PAPER[5:]).all()
    assert (high > PAPER[5:]).all()
    assert (high - low).max() < 2.2  # or it would say nothing


def test_least_squares_by_another_way(rng):
    sizes = np.repeat([20, 50, 70, 300], 3)
    accuracy = rng.normal(size=12)
    law = fit_law(sizes, accuracy)
    A = np.stack([np.ones(12), sizes**-0.25], axis=1)
    coefficients, left, *_ = np.linalg.lstsq(A, accuracy)
    np.testing.assert_allclose([law.a, law.b], coefficients, rtol=1e-10)
    assert law.error == pytest.approx(math.sqrt(left[0] / 10))
    row = np.array([1.0, 1000**-0.25])
    width = t.ppf(0.95, 10) * law.error * math.sqrt(1 + row @ np.linalg.inv(A.T @ A) @ row)
    assert law.interval(1000, level=0.9) == pytest.approx((row @ coefficients - width, row @ coefficients + width))


def test_intervals_hold_as_often_as_they_say_and_a_straight_law_seldom_seems_bent(rng):
    sizes, trials = np.repeat([25, 50, 100, 200], 2), 2000
    true = 0.9 - 0.8 * np.append(sizes, 3200) ** -0.25
    inside = bent = 0
    for _ in range(trials):
        runs = rng.normal(true, 0.01)
        law = fit_law(sizes, runs[:-1])
        low, high = law.interval(3200)
        inside += low <= runs[-1] <= high
        bent += law.bend < 0.05
    assert abs(inside / trials - 0.95) < 0.02  # four standard errors
    assert abs(bent / trials - 0.05) < 0.02


def test_a_curve_that_ends_early_is_seen_to_bend():
    sizes = np.repeat([25, 50, 100, 200], 2)
    noise = np.tile([0.003, -0.003], 4)
    law = fit_law(sizes, np.repeat([0.70, 0.78, 0.805, 0.805], 2) + noise)
    assert law.bend < 0.01
    assert law.curvature < 0
    law = fit_law(sizes, np.repeat([0.70, 0.71, 0.74, 0.80], 2) + noise)
    assert law.bend < 0.01
    assert law.curvature > 0


def test_exact_points_give_an_exact_law_that_does_not_bend():
    law = fit_law([16, 81, 256, 625], 0.5 - 0.25 / np.array([2, 3, 4, 5]))
    assert (law.a, law.b, law.error) == pytest.approx((0.5, -0.25, 0.0))
    assert law.bend == 1.0
    assert law.at(10_000) == pytest.approx(0.475)
    assert law.interval(10_000) == pytest.approx((0.475, 0.475))


def test_three_runs_cannot_show_a_bend():
    law = fit_law(K[:3], PAPER[:3])
    assert math.isnan(law.bend)
    assert math.isnan(law.curvature)


def test_the_unit_is_the_callers():
    per_cent, fraction = fit_law(K, PAPER), fit_law(K, PAPER / 100)
    assert (fraction.a, fraction.b, fraction.error) == pytest.approx((per_cent.a / 100, per_cent.b / 100, per_cent.error / 100))
    assert fraction.bend == pytest.approx(per_cent.bend)


def test_codes_for_is_the_inverse():
    law = fit_law(K, PAPER)
    assert law.codes_for(law.at(1234)) == pytest.approx(1234)
    assert law.codes_for(law.a) == math.inf
    assert law.codes_for(99.0) == math.inf
    assert fit_law(K, PAPER[::-1]).codes_for(50.0) == math.inf  # accuracy that falls


def test_predictions_are_not_clipped():
    assert fit_law([16, 81, 256], [0.5, 0.9, 1.1]).at(10_000) > 1


@pytest.mark.parametrize(
    ("codes", "accuracy", "message"),
    [
        ([100, 200], [0.6, 0.7], "at least 3 different numbers of codes; got 2"),
        ([100, 100, 200, 200], [0.6, 0.6, 0.7, 0.7], "got 2"),
        ([100, 200, 400], [0.6, 0.7], r"got shapes \(3,\) and \(2,\)"),
        ([[100, 200, 400]], [[0.6, 0.7, 0.8]], "lists of the same length"),
        ([0, 200, 400], [0.6, 0.7, 0.8], "above 0"),
        ([100, 200, 400], [0.6, math.nan, 0.8], "finite"),
    ],
)
def test_refusals(codes, accuracy, message):
    with pytest.raises(ValueError, match=message):
        fit_law(codes, accuracy)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit_law(K, PAPER).interval(100, level)
