"""`HeldOut` keeps the margins of the best γ, whichever order γ come in."""

import numpy as np
import pytest

from poolwise.svm import CentredRows, HeldOut, make_space
from poolwise.svm.gamma import best_of, climb, extend, rising_edge


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("calls", [[[1e-3, 0.1, 10.0]], [[10.0], [0.1], [1e-3]], [[0.1], [1e-3, 10.0]]])
def test_the_margins_kept_are_those_of_the_best(rng, engine, classes, calls):
    label = rng.integers(classes, size=90)
    X = rng.normal(size=(classes, 5))[label] + 1.5 * rng.normal(size=(90, 5))
    rows = np.arange(90)
    folds = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    space = make_space(CentredRows(X, np.ones(90), engine))

    def held_out():
        return HeldOut(space, label, np.ones(90), np.ones((3, classes)), folds)

    many = held_out()
    for gammas in calls:
        many.scores_of(np.array(gammas))
    tried = sorted(many.scores)
    best = tried[best_of(np.array([many.scores[gamma] for gamma in tried]))]
    one = held_out()
    one.scores_of(np.array([best]))
    assert one.margins.shape == (90, classes if classes > 2 else 1)
    np.testing.assert_allclose(many.margins, one.margins, atol=1e-3)
    np.testing.assert_array_equal(many.tested, np.concatenate([test for _, test in folds]))


@pytest.mark.parametrize(("gain", "edge"), [(0.0026, 0), (0.0024, None)])
def test_an_edge_rises_by_a_quarter_of_its_error(gain, edge):
    scores = np.array([[0.9 + gain], [0.9], [0.8]])
    assert rising_edge(np.array([0.1, 1.0, 10.0]), scores, lambda gamma: 0.01) == edge


def test_a_search_goes_on_while_steps_gain_and_keeps_the_last():
    accuracy = {0: 0.90, -1: 0.95, -2: 0.98, -3: 0.981, -4: 0.99}  # by steps from γ = 1; the last is not tried

    def scores_of(gammas):
        steps = np.rint(np.log(gammas) / np.log(np.sqrt(10))).astype(int)
        return np.array([[accuracy.get(step, 0.8)] for step in steps])

    gammas, scores = climb(scores_of, 1.0, lambda gamma: 0.01)
    np.testing.assert_allclose(gammas, np.sqrt(10) ** np.arange(-3, 2))
    assert best_of(scores) == 0
    np.testing.assert_array_equal(extend(scores_of, gammas, scores, lambda gamma: 0.01)[0], gammas)
