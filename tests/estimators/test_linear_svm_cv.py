"""`LinearSVMCV`: the curve is that of fits one by one."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from poolwise import LinearSVM, LinearSVMCV

GAMMAS = [1e-3, 1e-1, 10.0]


@pytest.fixture(params=[(6, 4), (400, 3), (6, 2)], ids=["d < N", "d > N", "two classes"])
def data(request, rng):
    d, classes = request.param
    label = rng.integers(classes, size=150)
    return rng.normal(size=(classes, d))[label] + 2 * rng.normal(size=(150, d)), np.array(["a", "b", "c", "d"])[label]


def one_by_one(X, y, folds, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return np.array(
        [
            [
                LinearSVM(gamma).fit(X[train], y[train], weight[train]).score(X[test], y[test], weight[test])
                for train, test in folds.split(X, y)
            ]
            for gamma in GAMMAS
        ]
    )


@pytest.mark.parametrize("folds", [StratifiedKFold(4), KFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)])
def test_the_curve_is_that_of_fits_one_by_one(data, folds):
    X, y = data
    svm = LinearSVMCV(GAMMAS, cv=folds).fit(X, y)
    np.testing.assert_allclose(svm.scores_, one_by_one(X, y, folds), atol=1e-12)


def test_weights_count_in_learning_and_in_the_score(data, rng):
    X, y = data
    weight = rng.uniform(size=len(X))
    svm = LinearSVMCV(GAMMAS, cv=StratifiedKFold(3)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(svm.scores_, one_by_one(X, y, StratifiedKFold(3), weight), atol=1e-12)


def test_the_best_is_learned_from_all_samples(data):
    X, y = data
    svm = LinearSVMCV(GAMMAS, cv=3).fit(X, y)
    best = svm.scores_.mean(axis=1)
    assert svm.gamma_ in np.array(GAMMAS)[best == best.max()]
    np.testing.assert_allclose(svm.coef_, LinearSVM(svm.gamma_).fit(X, y).coef_, atol=1e-4)
    np.testing.assert_array_equal(svm.gammas_, GAMMAS)


def test_of_equals_the_largest_gamma(rng):
    X = np.r_[rng.normal(size=(30, 3)) - 50, rng.normal(size=(30, 3)) + 50]
    svm = LinearSVMCV([1e-3, 1e-2, 1e-1]).fit(X, np.repeat([0, 1], 30))
    assert (svm.scores_ == 1).all()
    assert svm.gamma_ == 0.1


def test_nine_values_of_gamma_unless_told(data):
    np.testing.assert_allclose(LinearSVMCV(cv=2).fit(*data).gammas_, np.geomspace(1e-4, 1, 9))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gammas": []}, "gammas must be a whole number or a sequence of positive numbers"),
        ({"gammas": [0.1, -1]}, "gammas must be a finite number"),
        ({"gammas": 0}, "gammas must be a whole number of at least 1"),
        ({"gammas": None}, "gammas must be a whole number or a sequence"),
        ({"cv": 1}, "(?i)n_splits"),
        ({"cv": 1000}, "(?i)n_splits=1000"),
    ],
)
def test_bad_parameters_get_a_clear_error(data, settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVMCV(**settings).fit(*data)


def test_a_fold_without_weight_is_refused(data):
    X, y = data
    weight = np.ones(len(X))
    weight[:50] = 0
    with pytest.raises(ValueError, match="fold 0 of cv="):
        LinearSVMCV(GAMMAS, cv=KFold(3)).fit(X, y, sample_weight=weight)
