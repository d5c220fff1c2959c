"""Scores of held-out images against scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from poolwise import LinearSVM
from poolwise.engine.threads import Threads
from poolwise.svm.gamma import climb
from poolwise.tuning.scoring import _RIDGES, classify, classify_by_ridge, regress


@pytest.fixture
def iris(rng):
    X, y = load_iris(return_X_y=True)
    rows = rng.permutation(len(X))
    return X[rows].astype(np.float32), y[rows]


def test_accuracy_is_that_of_the_best_gamma(iris, engine):
    X, y = iris
    each = classify(X[:100], y[:100], X[100:], y[100:], engine=engine)
    assert set(each.tolist()) <= {0.0, 1.0}
    tried = [LinearSVM(gamma).fit(X[:100], y[:100]).score(X[100:], y[100:]) for gamma in np.geomspace(1e-5, 1, 11)]
    assert each.mean() >= max(tried) - 0.03


def test_the_search_knows_the_error_of_a_score(iris, engine, monkeypatch):
    X, y = iris
    asked = []

    def watched(scores_of, start, error_of):
        gammas, scores = climb(scores_of, start, error_of)
        asked.extend((scores[i].mean(), error_of(gamma)) for i, gamma in enumerate(gammas.tolist()))
        return gammas, scores

    monkeypatch.setattr("poolwise.tuning.scoring.climb", watched)
    classify(X[:100], y[:100], X[100:], y[100:], engine=engine)
    for accuracy, error in asked:
        assert error == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / 50))


def test_two_classes_and_classes_that_were_not_learned(iris, engine):
    X, y = iris
    two = y < 2
    each = classify(X[two][:60], y[two][:60], X[two][60:], y[two][60:], engine=engine)
    assert each.mean() > 0.95
    learned = classify(X[:100][y[:100] < 2], y[:100][y[:100] < 2], X[100:], y[100:], engine=engine)
    np.testing.assert_array_equal(learned[y[100:] == 2], 0)
    assert classify(X[:5], np.zeros(5), X[5:8], np.array([0, 1, 0]), engine=engine).tolist() == [1, 0, 1]


@pytest.mark.parametrize("columns", [4, 300])
def test_regression_is_ridge(rng, columns):
    X = rng.normal(size=(120, columns)).astype(np.float32) + 3
    y = X[:, 0] - 2 * X[:, 1] + rng.normal(size=120)
    variance = float(np.var(y))
    with Threads(1) as engine:
        each = regress(X[:80], y[:80], X[80:], y[80:], variance, engine=engine)
    scores = []
    for alpha in np.geomspace(1e-4, 1e5, 60):
        guess = Ridge(alpha=alpha).fit(X[:80].astype(np.float64), y[:80]).predict(X[80:].astype(np.float64))
        scores.append(1 - ((guess - y[80:]) ** 2).mean() / variance)
    assert max(scores) - 0.02 <= each.mean() <= max(scores) + 1e-3


def test_a_mean_of_scores_is_r2(rng):
    X = rng.normal(size=(100, 3)).astype(np.float32)
    y = X[:, 0] + 0.1 * rng.normal(size=100)
    with Threads(1) as engine:
        each = regress(X[:50], y[:50], X[50:], y[50:], float(np.var(y[50:])), engine=engine)
    assert each.mean() == pytest.approx(r2_score(y[50:], Ridge(1e-6).fit(X[:50], y[:50]).predict(X[50:])), abs=0.02)


@pytest.mark.parametrize("few", [True, False])
def test_ridge_scores_are_those_of_ridge_regression_on_indicators(rng, engine, few):
    """With fewer features than images, and with more: the best of the same ridges by scikit-learn."""
    d = 8 if few else 300
    centres = rng.normal(size=(4, d)) * (1.0 if few else 0.15)
    y = rng.integers(4, size=160)
    X = (centres[y] + rng.normal(size=(160, d))).astype(np.float32)
    (learn, held), (own, others) = (X[:100], X[100:]), (y[:100], y[100:])
    each = classify_by_ridge(learn, own, held, others, engine=engine)
    centred = learn - learn.mean(axis=0)
    unit = float((centred**2).sum()) / 100
    tried = []
    for level in _RIDGES:
        theirs = Ridge(level * unit).fit(learn.astype(float), np.eye(4)[own])
        tried.append((theirs.predict(held).argmax(axis=1) == others).astype(np.float32))
    np.testing.assert_array_equal(each, max(tried, key=np.mean))
    assert 0.4 < each.mean() < 1


def test_ridge_scores_where_features_say_nothing(engine):
    nothing, y = np.zeros((20, 3), np.float32), np.repeat([0, 1], 10)
    each = classify_by_ridge(nothing, y, nothing, y, engine=engine)
    assert each.mean() == 0.5
