"""`LinearSVMCV`: the curve is that of fits one by one."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from poolwise import LinearSVM, LinearSVMCV
from poolwise.svm import solve

GAMMAS = [1e-3, 1e-1, 10.0]


@pytest.fixture(params=[(6, 4), (400, 3), (6, 2)], ids=["d < N", "d > N", "two classes"])
def data(request, rng):
    d, classes = request.param
    label = rng.integers(classes, size=150)
    return rng.normal(size=(classes, d))[label] + 2 * rng.normal(size=(150, d)), np.array(["a", "b", "c", "d"])[label]


def one_by_one(X, y, folds, weight=None, **settings):
    weight = np.ones(len(X)) if weight is None else weight
    return np.array(
        [
            [
                LinearSVM(gamma, **settings).fit(X[train], y[train], weight[train]).score(X[test], y[test], weight[test])
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


def test_balanced_classes_are_those_of_each_fold(data):
    X, y = data
    X, y = np.r_[X, X[y == "a"]], np.r_[y, y[y == "a"]]
    folds = ShuffleSplit(3, test_size=0.5, random_state=3)
    svm = LinearSVMCV(GAMMAS, cv=folds, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(svm.scores_, one_by_one(X, y, folds, class_weight="balanced"), atol=1e-12)


def test_a_class_that_a_fold_has_not_seen_is_no_guess(rng):
    y = np.r_[np.zeros(30, int), np.ones(30, int), [2] * 5]
    X = rng.normal(size=(65, 4)) + 5 * np.eye(3, 4)[y]
    folds = [(np.arange(60), np.arange(60, 65)), (np.arange(5, 65), np.arange(5))]
    svm = LinearSVMCV([0.01], cv=folds).fit(X, y)
    assert svm.scores_[0, 0] == 0
    assert svm.scores_[0, 1] == LinearSVM(0.01).fit(X[5:], y[5:]).score(X[:5], y[:5])


def test_masks_are_folds_too(data):
    X, y = data
    half = np.arange(len(X)) % 2 == 0
    masks, numbers = [(half, ~half)], [(np.flatnonzero(half), np.flatnonzero(~half))]
    np.testing.assert_array_equal(*(LinearSVMCV(GAMMAS, cv=cv).fit(X, y).scores_ for cv in (masks, numbers)))


def test_folds_that_do_not_converge_are_told(data):
    with pytest.warns(ConvergenceWarning, match="fits on folds did not converge"):
        LinearSVMCV([1e-8, 1e-7], cv=2, max_iter=1).fit(*data)


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


def test_a_number_of_values_lies_between_1e_4_and_1_and_goes_on_where_it_must(data):
    svm = LinearSVMCV(9, cv=2).fit(*data)
    assert set(np.geomspace(1e-4, 1, 9).round(9)) <= set(svm.gammas_.round(9))
    inside = svm.scores_.mean(axis=1)[1:-1].max()
    assert svm.scores_.mean(axis=1).max() == pytest.approx(inside)


def test_the_search_goes_up_and_down_from_the_guess_until_the_best_lies_inside(data):
    X, y = data
    for scale in (1.0, 1e-2):
        svm = LinearSVMCV(cv=StratifiedKFold(3)).fit(X * scale, y)
        np.testing.assert_allclose(svm.gammas_[1:] / svm.gammas_[:-1], np.sqrt(10))
        guess = LinearSVM().fit(X * scale, y).gamma_  # the search begins at most half a step from it
        assert np.abs(np.log(svm.gammas_ / guess)).min() <= np.log(10) / 4 + 1e-9
        mean = svm.scores_.mean(axis=1)
        assert mean[svm.gammas_ == svm.gamma_] == mean.max()
        assert mean.argmax() not in (0, len(mean) - 1) or mean.max() in (mean[1], mean[-2])


@pytest.mark.parametrize(
    ("order", "word"), [(1, "largest of those tried; a larger"), (-1, "smallest of those tried; a smaller")]
)
def test_a_best_gamma_at_the_edge_of_those_given_is_reported(data, monkeypatch, order, word):
    def accuracies(self, F):  # called for the largest gamma first
        return np.full(len(self.folds), 0.5 - 0.05 * order * len(self.scores))

    monkeypatch.setattr("poolwise.svm.HeldOut._accuracies", accuracies)
    with pytest.warns(UserWarning, match=f"the best gamma, .* is the {word} one may be better"):
        LinearSVMCV(GAMMAS, cv=3).fit(*data)


def test_folds_are_solved_once_for_each_gamma(data, monkeypatch):
    solved = []

    def counted(space, problems, gamma, **settings):
        solved.append(gamma)
        return solve(space, problems, gamma, **settings)

    monkeypatch.setattr("poolwise.svm.folds.solve", counted)
    svm = LinearSVMCV(cv=3).fit(*data)
    assert sorted(solved) == svm.gammas_.tolist()


@pytest.mark.parametrize("gammas", ["auto", 3])
def test_a_search_ends_without_a_warning_where_a_step_gains_little(data, monkeypatch, gammas, recwarn):
    def accuracies(self, F):  # 150 samples: a quarter of the error of 0.9 is 0.006, nearly one sample
        return np.full(len(self.folds), 0.9 + 0.005 * len(self.scores))

    monkeypatch.setattr("poolwise.svm.HeldOut._accuracies", accuracies)
    svm = LinearSVMCV(gammas, cv=3).fit(*data)
    assert len(svm.gammas_) == 3
    assert svm.gamma_ == svm.gammas_[0]
    assert not recwarn.list


def test_samples_that_are_tested_twice_count_once_in_the_error(data):
    X, y = data
    once, twice = (
        LinearSVMCV([0.1], cv=folds).fit(X, y) for folds in (StratifiedKFold(3), [*StratifiedKFold(3).split(X, y)] * 2)
    )
    assert twice.held_out_ == pytest.approx(once.held_out_)


def test_the_guess_and_the_search_follow_the_scale_of_the_features(data):
    X, y = data
    for scale in (1e-3, 1e3):
        one, other = LinearSVMCV(cv=3).fit(X, y), LinearSVMCV(cv=3).fit(scale * X, y)
        assert other.gamma_ == pytest.approx(scale**2 * one.gamma_)


def test_the_held_out_accuracy_has_the_error_of_a_share(data):
    X, y = data
    svm = LinearSVMCV(GAMMAS, cv=StratifiedKFold(3)).fit(X, y)
    accuracy, error = svm.held_out_
    assert accuracy == pytest.approx(svm.scores_[svm.gammas_ == svm.gamma_].mean())
    assert error == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / len(X)))


def test_probabilities_are_a_softmax_that_held_out_margins_fit_best(data):
    """Against a scan of slopes, on the margins of models of each fold."""
    X, y = data
    folds, classes = StratifiedKFold(3), np.unique(y)
    svm = LinearSVMCV([0.1], cv=folds).fit(X, y)
    margins, held_out = [], []
    for train, test in folds.split(X, y):
        F = LinearSVM(0.1).fit(X[train], y[train]).decision_function(X[test])
        margins.append(np.c_[-F, F] / 2 if F.ndim == 1 else F)
        held_out.append(test)
    F, label = np.concatenate(margins), np.searchsorted(classes, y[np.concatenate(held_out)])
    slopes = svm.slope_ * np.geomspace(0.5, 2, 41)
    losses = []
    for slope in slopes:
        p = log_softmax(slope * F, axis=1)
        losses.append(-(0.999 * p[np.arange(len(p)), label] + 0.001 * p.mean(axis=1)).sum())
    assert abs(int(np.argmin(losses)) - 20) <= 1
    ours = svm.decision_function(X)
    ours = np.c_[-ours, ours] / 2 if ours.ndim == 1 else ours
    np.testing.assert_allclose(svm.predict_proba(X), softmax(svm.slope_ * ours, axis=1), rtol=1e-9)
    np.testing.assert_array_equal(classes[svm.predict_proba(X).argmax(axis=1)], svm.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gammas": []}, "gammas must be 'auto', a whole number or a sequence of positive numbers"),
        ({"gammas": [0.1, -1]}, "gammas must be a finite number"),
        ({"gammas": 10**9}, "gammas must be at most 1000; got 1000000000"),
        ({"gammas": 0}, "gammas must be a whole number of at least 1"),
        ({"gammas": None}, "gammas must be 'auto', a whole number or a sequence"),
        ({"gammas": iter([0.1])}, "gammas must be 'auto', a whole number or a sequence"),
        ({"cv": []}, "gives no folds"),
        ({"cv": [(np.arange(60), [])]}, "no sample with a weight to test on"),
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
    with pytest.raises(ValueError, match=r"fold 0 of cv=.* no sample with a weight to test on"):
        LinearSVMCV(GAMMAS, cv=KFold(3)).fit(X, y, sample_weight=weight)


def test_a_fold_with_one_class_is_refused():
    with pytest.raises(ValueError, match="fewer than two classes to learn from; give at least two samples"):
        LinearSVMCV(GAMMAS, cv=KFold(2)).fit(np.eye(20), np.repeat([0, 1], 10))
