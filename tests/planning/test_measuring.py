"""Held-out images, cost, and doubts about predictions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from poolwise import ZCA, KMeans, LinearSVM, Pool, PooledFeatures, SecondOrder, Threshold
from poolwise.analysis.cost import nominal_milliseconds
from poolwise.estimators.linear_svm import GammaWarning
from poolwise.planning.measuring import Curve, Task, doubts, fit_cost, hold_out, measure
from poolwise.support.rows import RowsOf

from settings import paper_features

SIZES = np.array([25, 50, 100, 200])


def curve(means, *, spread=0.001, features_per_code=4):
    runs = np.stack([np.asarray(means) - spread, np.asarray(means) + spread], axis=1)
    return Curve("K-means", SIZES, runs, 0.1 + 0.01 * SIZES, lambda K: features_per_code * K)


def lawful(a=0.9, b=-0.8, **more):
    return curve(a + b * SIZES**-0.25, **more)


def test_every_class_gives_its_share_and_none_gives_all(rng):
    labels = rng.permutation(np.repeat(list("abcd"), [40, 8, 2, 1]))
    learn, test = hold_out(labels, 0.25, np.random.default_rng(3))
    assert sorted([*learn, *test]) == list(range(51))
    assert (np.diff(learn) > 0).all()
    assert (np.diff(test) > 0).all()
    assert dict(zip(*np.unique(labels[test], return_counts=True), strict=True)) == {"a": 10, "b": 2, "c": 1}
    assert set(labels[learn]) == set("abcd")
    assert hold_out(labels, 0.25, np.random.default_rng(3))[1].tolist() == test.tolist()
    assert hold_out(labels, 0.25, np.random.default_rng(4))[1].tolist() != test.tolist()
    most = hold_out(labels, 0.99, np.random.default_rng(3))[0]
    assert set(labels[most]) == set("abcd")


def test_cost_is_a_line_that_is_never_below_zero(rng):
    milliseconds = 0.3 + 0.02 * SIZES + rng.normal(0, 0.01, 4)
    slope, start = np.polyfit(SIZES, milliseconds, 1)
    assert fit_cost(SIZES, milliseconds).at(3200) == pytest.approx(start + 3200 * slope)
    assert fit_cost(SIZES, [0.01, 0.5, 1.5, 3.5]).fixed == 0  # the line of least squares starts below
    assert fit_cost(SIZES, [4, 3, 2, 1]).ratio == 0


def test_cost_grows_as_the_work_does():
    def work(K):
        return K + 1e-4 * K**3

    cost = fit_cost(SIZES, [0.3 + 0.02 * work(K) for K in SIZES.tolist()], work)
    assert (cost.fixed, cost.ratio) == pytest.approx((0.3, 0.02))
    assert cost.at(3200) == pytest.approx(0.3 + 0.02 * work(3200))
    np.testing.assert_allclose(cost.at(np.array([25, 100])), [0.3 + 0.02 * work(K) for K in (25, 100)])
    assert cost.at(25.5) == pytest.approx((cost.at(25) + cost.at(26)) / 2)  # a curve that is drawn


def test_measure_is_fit_and_score_of_every_size_and_seed(photos):
    labels = np.repeat(np.arange(16), 10)
    rows = np.arange(160)
    learn, test = rows[rows % 5 > 0], rows[rows % 5 == 0]
    settings = {"n_patches": 3000, "dictionary": KMeans(max_iter=5)}
    features, svm = paper_features(**settings, n_jobs=1), LinearSVM(n_jobs=1)
    seen = []
    task = Task(RowsOf(photos, learn), labels[learn], RowsOf(photos, test), labels[test])
    curves = measure(
        task, features, svm, (4, 8), (5, 6), candidates=True, update=lambda done, note="": seen.append((done, note))
    )
    assert [one.name for one in curves] == ["K-means", "PDL"]
    for one, factor in zip(curves, (None, 4), strict=True):
        for i, K in enumerate((4, 8)):
            for j, seed in enumerate((5, 6)):
                model = paper_features(K, factor and factor * K, **settings, random_state=seed)
                X = model.fit(photos[learn]).transform(photos[learn])
                score = LinearSVM().fit(X, labels[learn]).score(model.transform(photos[test]), labels[test])
                assert one.accuracy[i, j] == score
        assert one.features_at(100) == 400
        assert (one.milliseconds > 0).all()
    assert [done for done, _ in seen] == list(range(9))
    assert seen[5] == (5, "PDL, 4 codes, seed 6")
    assert not hasattr(features, "layer_")


def test_no_doubt_where_the_law_holds():
    assert doubts([lawful()], [3200], 50_000, 10_000) == []


@pytest.mark.parametrize(
    ("one", "images", "message"),
    [
        (curve([0.7, 0.69, 0.68, 0.66]), (50_000, 10_000), "does not rise with the codes"),
        (curve([0.70, 0.78, 0.805, 0.805]), (50_000, 10_000), "rises less than the law says: take predictions as upper bounds"),
        (curve([0.70, 0.71, 0.74, 0.80]), (50_000, 10_000), "rises more than the law says: take predictions as lower bounds"),
        (lawful(a=1.3, b=-1.6), (50_000, 10_000), "the law rises to 130%"),
        (lawful(spread=0.03), (50_000, 10_000), "is likely; give more --runs"),
        (lawful(), (50_000, 500), "500 images to test on give an accuracy to ± 4.4% only"),
        (lawful(features_per_code=8), (25_599, 10_000), "25,600 features, but there are 25,599 images"),
    ],
)
def test_doubts_are_put_into_words(one, images, message):
    found = doubts([one], [400, 3200], *images)
    assert any(message in text for text in found), found


def test_times_of_a_busy_machine_are_doubted():
    one = lawful()
    busy = Curve(one.name, SIZES, one.accuracy, np.array([0.06, 0.06, 1.0, 1.9]), one.features_at)
    (found,) = doubts([one, busy], [3200], 50_000, 10_000)
    assert "the times do not grow as the work does" in found


def test_times_that_hardly_grow_and_a_small_gamma_are_doubted():
    one = lawful()
    flat = Curve(one.name, SIZES, one.accuracy, 0.1 + 1e-4 * SIZES, one.features_at, small_gamma_at=(100, 200))
    slow, gamma = doubts([flat], [3200], 50_000, 10_000)
    assert "hardly grow up to 200 codes" in slow
    assert "from 100 codes on, gamma is far too small for 50,000 images" in gamma
    assert "give --gamma auto" in gamma


def test_a_small_gamma_is_noted_and_other_warnings_stay(photos):
    few = photos[::8], np.arange(20) % 4
    task, features = Task(*few, *few), paper_features(n_patches=2000, dictionary=KMeans(max_iter=2), n_jobs=1)
    with pytest.warns(ConvergenceWarning) as caught:
        (one,) = measure(task, features, LinearSVM(1e-5, max_iter=1), (4, 32, 40), (0,), candidates=False)
    assert one.small_gamma_at == (32, 40)  # 128 and 160 features of 20 images
    assert not any(issubclass(warning.category, GammaWarning) for warning in caught)


PAST_THE_PAPER = {
    "symmetry": {"symmetry": "mirror"},
    "thresholds, two sides": {"encoder": Threshold((0.25, 1.0), two_sided=True)},
    "both": {"pooling": Pool("both", grid=[1, 2])},
    "rank": {"whitening": ZCA(rank=20)},
    "second order": {"pooling": SecondOrder(2), "symmetry": "dihedral"},
    "directions": {"pooling": SecondOrder(1, directions=30), "symmetry": None},
    "directions by labels": {"pooling": SecondOrder(1, "power", directions=30, directions_by="labels"), "symmetry": None},
    "supervised": {"selection": "supervised"},
    "pca": {"projection": "pca"},
}


@pytest.mark.parametrize("settings", PAST_THE_PAPER.values(), ids=PAST_THE_PAPER)
def test_features_and_work_of_a_size_are_those_of_its_model(photos, settings):
    """Predicted from 4 and 6 codes, which have fewer products than directions; compared with 12 that are fitted."""
    few = photos[::8], np.arange(20) % 4
    features = PooledFeatures(n_patches=2000, dictionary=KMeans(max_iter=2), n_jobs=1, **settings)
    for one, factor in zip(
        measure(Task(*few, *few), features, LinearSVM(), (4, 6), (0,), candidates="directions" not in str(settings)),
        (None, 4),
        strict=False,
    ):
        layer = clone(features).set_params(n_codes=12, n_candidates=factor and 12 * factor, random_state=0).fit(*few).layer_
        assert one.features_at(12) == layer.n_features
        assert one.work_at(12) == pytest.approx(nominal_milliseconds(layer))


def test_one_run_has_no_spread():
    one = Curve("K-means", SIZES, np.array([[0.5], [0.6], [0.7], [0.75]]), 0.1 * SIZES, lambda K: 4 * K)
    assert one.std.tolist() == [0, 0, 0, 0]
    assert one.mean.tolist() == [0.5, 0.6, 0.7, 0.75]
    assert one.law.runs == 4
