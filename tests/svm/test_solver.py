"""The minimum itself: certified by the dual problem, by liblinear and by a plain optimiser."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from poolwise import KMeans
from poolwise.datasets import load_photos
from poolwise.engine.threads import Threads
from poolwise.svm import CentredRows, FeatureSpace, SampleSpace, make_space, one_vs_all, solve

from settings import paper_features

GAMMA = 0.005


def objectives(X, label, W, b, gamma, weight=None):
    """(classes,) the sum as it is written, in float64."""
    weight = np.ones(len(X)) if weight is None else weight
    F = X.astype(np.float64) @ W.T + b
    targets = [1] if len(W) == 1 else range(len(W))
    Y = np.where(label[:, None] == np.array(targets), 1, -1)
    return (weight[:, None] * np.maximum(0, 1 - Y * F) ** 2).sum(0) / weight.sum() + gamma * (W**2).sum(1)


def fit(X, label, gamma=GAMMA, weight=None, tol=1e-5, space=None, **options):
    weight = np.ones(len(X)) if weight is None else weight
    factors = np.ones(label.max() + 1)
    with Threads(2) as engine:
        rows = CentredRows(X, weight, engine)
        space = make_space(rows) if space is None else space(rows)
        return solve(space, one_vs_all(label, factors, weight[None]), gamma, tol=tol, **options)


def duality_gap(X, label, found, gamma, weight=None):
    """How far at most the objective is above its minimum, relative: each problem's value less that of a point of its dual.

    max over a ≥ 0, Σ a y = 0 of  Σ a - (S/4) Σ a²/s - |Σ a y x|² / (4γ)
    """
    weight = np.ones(len(X)) if weight is None else weight
    S, X = weight.sum(), X.astype(np.float64)
    values = objectives(X, label, found.W, found.b, gamma, weight)
    gaps = []
    for c, value in enumerate(values):
        if value == 0:  # nothing is below it
            gaps.append(0.0)
            continue
        y = np.where(label == (c if len(values) > 1 else 1), 1.0, -1.0)
        a = 2 * weight * np.maximum(0, 1 - y * (X @ found.W[c] + found.b[c])) / S
        up, down = a[y > 0].sum(), a[y < 0].sum()
        a[y > 0] *= min(1, down / up)
        a[y < 0] *= min(1, up / down)
        square = np.divide(a**2, weight, out=np.zeros(len(a)), where=weight > 0)
        gaps.append((value - (a.sum() - S / 4 * square.sum() - ((a * y) @ X @ ((a * y) @ X)) / (4 * gamma))) / value)
    return max(gaps)


@pytest.fixture(scope="module")
def real_features():
    """Pooled features of photographs, (800, 64) and the same with more features than samples, (150, 256); and labels."""
    train = load_photos(subset="train")
    rows = np.random.default_rng(0).permutation(len(train.images))[:800]
    model = paper_features(64, n_patches=20_000, dictionary=KMeans(max_iter=10), random_state=0).fit(train.images[rows])
    X = model.transform(train.images[rows])
    return X, train.target[rows]


def problem(name, real_features):
    if name == "photos":
        return real_features
    if name == "photos, d > N":
        return real_features[0][:150], real_features[1][:150]
    if name == "digits":
        return load_digits(return_X_y=True)[0].astype(np.float32) / 16, load_digits(return_X_y=True)[1]
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X), y
    X, y = make_classification(90, 400, n_informative=40, n_classes=4, random_state=0)
    return X, y


PROBLEMS = ["photos", "photos, d > N", "digits", "cancer", "generated, d > N"]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("gamma", [0.1, GAMMA, 1e-4])
def test_the_dual_problem_certifies_the_minimum(real_features, name, gamma):
    X, label = problem(name, real_features)
    found = fit(X, label, gamma)
    assert found.converged
    assert -1e-9 < duality_gap(X, label, found, gamma) < 1.1e-5
    np.testing.assert_allclose(found.gap.max(), duality_gap(X, label, found, gamma), atol=1e-6)
    exact = fit(X.astype(np.float64), label, gamma, tol=1e-9)
    assert duality_gap(X, label, exact, gamma) < 1e-8


@pytest.mark.parametrize("name", PROBLEMS)
def test_never_above_liblinear_at_its_tightest(real_features, name):
    X, label = problem(name, real_features)
    found = fit(X, label)
    # a large scale leaves liblinear's bias nearly free; its objective is taken without the bias's part
    peer = LinearSVC(C=1 / (2 * GAMMA * len(X)), dual=False, tol=1e-10, intercept_scaling=30, max_iter=100_000)
    peer.fit(X.astype(np.float64), label)
    ours, theirs = (objectives(X, label, W, b, GAMMA).sum() for W, b in ((found.W, found.b), (peer.coef_, peer.intercept_)))
    assert ours <= theirs * (1 + 1e-5)
    np.testing.assert_allclose(found.objective.sum(), ours, rtol=1e-5)
    np.testing.assert_allclose(found.W, peer.coef_, atol=0.03 * np.abs(peer.coef_).max())  # its bias is not quite free


@pytest.mark.parametrize("space", [FeatureSpace, SampleSpace])
def test_both_spaces_find_the_same_weights_as_a_plain_optimiser(rng, space):
    X, label = rng.normal(size=(40, 12)) * rng.uniform(0.1, 3, size=12) + 1, rng.integers(3, size=40)
    weight = rng.uniform(0, 2, size=40) * (rng.uniform(size=40) > 0.2)
    found = fit(X, label, 0.03, weight, tol=1e-9, space=space)
    for c in range(3):
        y = np.where(label == c, 1, -1)

        def value(v, y=y):
            slack = np.maximum(0, 1 - y * (X @ v[:-1] + v[-1]))
            r = -2 * weight * y * slack / weight.sum()
            gradient = np.append(r @ X + 2 * 0.03 * v[:-1], r.sum())
            return (weight * slack**2).sum() / weight.sum() + 0.03 * (v[:-1] ** 2).sum(), gradient

        plain = scipy.optimize.minimize(value, np.zeros(13), jac=True, method="BFGS", options={"gtol": 1e-9})
        np.testing.assert_allclose(np.append(found.W[c], found.b[c]), plain.x, atol=1e-6)
        np.testing.assert_allclose(found.objective[c], plain.fun, rtol=1e-9)


@pytest.mark.parametrize("name", ["photos", "photos, d > N"])
def test_the_objective_falls_with_every_round(real_features, name):
    X, label = problem(name, real_features)
    values = [fit(X, label, max_iter=n).objective for n in range(1, 15)]
    assert (np.diff(values, axis=0) <= 0).all()


def test_another_gamma_can_start_from_the_last_one(real_features):
    X, label = real_features
    with Threads(2) as engine:
        space = make_space(CentredRows(X, np.ones(len(X)), engine))
        problems = one_vs_all(label, np.ones(label.max() + 1), np.ones((1, len(X))))
        large = solve(space, problems, 0.006, tol=1e-6)
        warm, cold = (solve(space, problems, GAMMA, tol=1e-6, start=start) for start in (large.vector, None))
    assert warm.rounds < cold.rounds
    np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 5, 30])
def test_fewer_dimensions_than_samples_and_features(rng, rank):
    X = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, 200))
    label = rng.integers(3, size=60)
    found = fit(X, label, 1e-3, tol=1e-8)
    assert found.converged
    assert duality_gap(X, label, found, 1e-3) < 1e-7


def test_what_was_not_reached_is_reported(real_features):
    found = fit(*real_features, max_iter=2)
    assert not found.converged
    assert found.rounds == 2
    assert found.gradient.max() > 1e-3


def test_progress_shows_every_round(real_features):
    shown = []
    found = fit(*real_features, update=lambda *what: shown.append(what))
    assert [done for done, _ in shown] == list(range(1, found.rounds + 1))
    assert all(note.startswith("gradient ") for _, note in shown)


@pytest.mark.parametrize("seed", range(60))
def test_random_problems_are_at_their_minimum(seed):
    """Of any proportions, with copies, zeros, whole numbers, few dimensions and weights."""
    rng = np.random.default_rng(seed)
    N, d, classes = int(rng.choice([5, 30, 100, 300])), int(rng.choice([1, 3, 30, 200])), int(rng.integers(2, 6))
    label = rng.permutation(np.arange(N) % classes)
    X = rng.normal(size=(N, d)) + rng.choice([0, 1, 5]) * rng.normal(size=(classes, d))[label]
    kind = rng.integers(5)
    if kind == 0:
        X = X[rng.integers(max(1, N // 4), size=N)]
    elif kind == 1:
        X = np.rint(X)
    elif kind == 2:
        X = X[:, :1] @ rng.normal(size=(1, d))
    elif kind == 3:
        X[:, rng.random(d) < 0.5] = 100
    weight = rng.integers(0, 3, size=N) + (np.arange(N) < classes) if rng.random() < 0.5 else np.ones(N)
    gamma = 10 ** rng.uniform(-5, 1)
    found = fit(X, label, gamma, weight.astype(np.float64))
    assert found.converged
    assert duality_gap(X, label, found, gamma, weight.astype(np.float64)) < 2e-5
