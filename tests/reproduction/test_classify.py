"""The SVMs of the ablations: stopped early it is the same objective, and cells say which one is used."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from poolwise import LinearSVM
from poolwise.estimators.linear_svm import GammaWarning
from poolwise.reproduction.cells import Cell, kmeans
from poolwise.reproduction.classify import StoppedSVM, classify


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = ((X - X.mean(axis=0)) / (X.std(axis=0) + 1)).astype(np.float32)
    return X[::3], y[::3], X[1::3], y[1::3]


def objective(X, y, gamma, coef, intercept):
    """As the recipe has it, in a plain loop over classes."""
    total = gamma * float(np.sum(coef.astype(np.float64) ** 2))
    for c, w, b in zip(np.unique(y), coef, intercept, strict=True):
        margin = np.where(y == c, 1.0, -1.0) * (X.astype(np.float64) @ w + b)
        total += float(np.mean(np.maximum(0, 1 - margin) ** 2))
    return total


def test_with_rounds_enough_it_reaches_linear_svms_objective(digits):
    X, y, *_ = digits
    slow, fast = StoppedSVM(0.005, 3000).fit(X, y), LinearSVM(0.005, tol=1e-8).fit(X, y)
    least = objective(X, y, 0.005, fast.coef_, fast.intercept_)
    assert objective(X, y, 0.005, slow.coef_, slow.intercept_) == pytest.approx(least, rel=1e-4)
    assert slow.objective_ == pytest.approx(least, rel=1e-4)


def test_stopped_it_is_above_the_minimum_and_has_that_many_rounds(digits):
    X, y, *_ = digits
    stopped, fast = StoppedSVM(0.005, 5).fit(X, y), LinearSVM(0.005).fit(X, y)
    assert stopped.n_iter_ == 5
    assert stopped.objective_ > 1.05 * objective(X, y, 0.005, fast.coef_, fast.intercept_)


def test_its_gradient_is_that_of_the_objective(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)).astype(np.float32), np.arange(12) % 3
    seen = {}

    def spy(function, start, **more):
        seen["function"] = function
        return minimize(function, start, **more)

    monkeypatch.setattr("poolwise.reproduction.classify.scipy.optimize.minimize", spy)
    StoppedSVM(0.1, 3).fit(X, y)
    point = rng.normal(size=12)
    error = check_grad(lambda w: seen["function"](w)[0], lambda w: seen["function"](w)[1], point, epsilon=1e-3)
    assert error < 1e-2


def test_folds_train_on_their_own_images_and_give_the_mean(data, rng):
    X, X_test = rng.normal(size=(160, 8)).astype(np.float32), rng.normal(size=(80, 8)).astype(np.float32)
    X += data.train_labels[:, None] * np.float32(0.3)
    X_test += data.test_labels[:, None] * np.float32(0.3)
    found = classify(Cell("photos", 2, 2, 0, labels="folds"), X, X_test, data, 0.005, 1)
    expected = [LinearSVM(0.005).fit(X[f], data.train_labels[f]).score(X_test, data.test_labels) for f in data.folds]
    assert found["accuracies"] == pytest.approx(expected)
    assert found["accuracy"] == pytest.approx(np.mean(expected))


def test_each_svm_is_the_one_that_the_cell_names(data, rng):
    X = rng.normal(size=(160, 6)).astype(np.float32) + data.train_labels[:, None] * np.float32(0.5)
    X_test = rng.normal(size=(80, 6)).astype(np.float32) + data.test_labels[:, None] * np.float32(0.5)
    converged = classify(kmeans("photos", 2), X, X_test, data, 0.005, 1)
    assert converged["accuracy"] == pytest.approx(LinearSVM(0.005).fit(X, data.train_labels).score(X_test, data.test_labels))
    assert classify(kmeans("photos", 2, svm="100 rounds"), X, X_test, data, 0.005, 1)["rounds"] == 100
    assert classify(kmeans("photos", 2, svm="searched"), X, X_test, data, 0.005, 1)["gamma"] in [
        0.005 * 4.0**p for p in range(-3, 4)
    ]


def test_a_larger_gamma_is_so_many_times_the_protocols(data, rng):
    X = rng.normal(size=(160, 60)).astype(np.float32) + data.train_labels[:, None] * np.float32(0.2)
    X_test = rng.normal(size=(80, 60)).astype(np.float32) + data.test_labels[:, None] * np.float32(0.2)
    found = [
        classify(kmeans("photos", 2, svm=svm), X, X_test, data, 0.1, 1)["accuracy"] for svm in ("converged", "16 γ", "64 γ")
    ]
    assert len(set(found)) == 3
    assert found == [LinearSVM(g).fit(X, data.train_labels).score(X_test, data.test_labels) for g in (0.1, 1.6, 6.4)]


def test_the_published_gamma_is_not_warned_of(rng, recwarn):
    X = rng.normal(size=(20, 400)).astype(np.float32)
    data = SimpleNamespace(train_labels=np.arange(20) % 4, test_labels=np.arange(20) % 4, folds=())
    classify(kmeans("photos", 2), X, X, data, 0.005, 1)
    assert [str(one.message) for one in recwarn] == []
    with pytest.warns(GammaWarning):
        LinearSVM(0.005).fit(X, data.train_labels)
