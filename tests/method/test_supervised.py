"""Selection with labels against ridge regression that is fitted anew for every candidate of every step."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries import KMeans
from poolwise.method.encoders import Threshold, Triangle
from poolwise.method.fitting import learn
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Standardize
from poolwise.method.selection import supervised
from poolwise.method.selection.supervised import (
    IMAGES_FOR_HALF,
    RIDGE,
    Labelled,
    Term,
    choose_codes,
    go_backward,
    go_forward,
    label_share,
)
from poolwise.support.progress import Stages

M, N = 10, 60


class Data:
    """Centred samples, targets, and one part of J: least squares with a ridge, fitted anew whenever it is asked for."""

    def __init__(self, seed, g, weight, targets=3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, g * M)) + 0.7 * rng.normal(size=(N, g * M))
        Y = X[:, rng.choice(g * M, 4)] @ rng.normal(size=(4, targets)) + rng.normal(size=(N, targets))
        self.X, self.Y, self.g, self.weight, self.ridge = X - X.mean(axis=0), Y - Y.mean(axis=0), g, weight, 0.3

    def value(self, codes):
        """How much less ridge regression on these codes' columns leaves than nothing would."""
        before = (self.Y**2).sum() / N
        if not len(codes):
            return 0.0
        X = self.X[:, [cell * M + code for code in codes for cell in range(self.g)]]
        rows = X, np.sqrt(N * self.ridge) * np.eye(X.shape[1])
        w = np.linalg.lstsq(np.vstack(rows), np.vstack([self.Y, np.zeros((X.shape[1], self.Y.shape[1]))]), rcond=None)[0]
        return self.weight * (before - self.loss(X, w))

    def loss(self, X, w):
        return ((self.Y - X @ w) ** 2).sum() / N + self.ridge * (w**2).sum()

    @property
    def term(self):
        A = self.X.T @ self.X / N + self.ridge * np.eye(self.X.shape[1])
        return Term(A, self.X.T @ self.Y / N, M, self.weight)


def parts(seed, case):
    """One part of groups of 1 or 4 columns; or two, of 4 and of 1, as labels and the codes' own covariance are."""
    return {
        "one column": [Data(seed, 1, 1.0)],
        "four columns": [Data(seed, 4, 1.0)],
        "two parts": [Data(seed, 4, 0.6), Data(seed + 100, 1, 0.4, targets=8)],
    }[case]


def test_the_refit_is_scikit_learns_ridge_regression():
    data = Data(0, 1, 1.0)
    w = Ridge(alpha=data.ridge * N, fit_intercept=False).fit(data.X, data.Y).coef_.T
    assert data.value(range(M)) == pytest.approx((data.Y**2).sum() / N - data.loss(data.X, w))


CASES = ["one column", "four columns", "two parts"]


def value(data, codes):
    return sum(one.value(codes) for one in data)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_forward_takes_the_largest_gain_of_a_refit_at_every_step(case, seed):
    data = parts(seed, case)
    taken = go_forward([one.term for one in data], M).tolist()
    assert sorted(taken) == list(range(M))
    for t in range(M):
        gain = {j: value(data, [*taken[:t], j]) for j in range(M) if j not in taken[:t]}
        assert gain[taken[t]] == pytest.approx(max(gain.values()), rel=1e-9)
    assert go_forward([one.term for one in data], 5).tolist() == taken[:5]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_backward_drops_the_least_losses_of_a_refit_in_every_round(case, seed, share, monkeypatch):
    monkeypatch.setattr(supervised, "_SHARE_DROPPED", share)
    data = parts(seed, case)
    terms = [one.term for one in data]
    kept = list(range(M))
    while len(kept) > 2:
        whole = value(data, kept)
        loss = [whole - value(data, [code for code in kept if code != j]) for j in kept]
        gone = np.argsort(loss)[: min(len(kept) - 2, max(1, int(share * len(kept))))]
        left = [code for i, code in enumerate(kept) if i not in gone]
        assert go_backward(terms, np.array(kept), len(left)).tolist() == left
        kept = left
    assert go_backward(terms, np.random.default_rng(seed).permutation(M), 2).tolist() == kept


@pytest.mark.parametrize("case", CASES)
def test_backward_among_some_groups_never_sees_the_others(case):
    data = parts(0, case)
    some = np.array([9, 2, 5, 8, 0])
    (kept,) = go_backward([one.term for one in data], some, 1)
    assert kept in some
    assert value(data, [kept]) > 0
    assert go_backward([one.term for one in data], some, 5).tolist() == sorted(some)


def labelled_of(rng, n, *, g=4, codes=20, targets=3):
    """Outputs that some samples have, and what they say of targets."""
    X = rng.normal(size=(300, 8)) @ rng.normal(size=(8, g * codes)) + rng.normal(size=(300, g * codes))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = X[:, :targets] + rng.normal(size=(300, targets))
    Y -= Y.mean(axis=0)
    G = X.T @ X / 300
    C = np.mean([G[a : a + codes, a : a + codes] for a in range(0, g * codes, codes)], axis=0)
    return Labelled(G, X.T @ Y / 300, float((Y**2).sum() / 300), n), C


def J(labelled, C, codes):
    """As the docstring words it, with C times the same random signs."""
    g, M = len(labelled.gram) // len(C), len(C)
    columns = np.array([cell * M + code for code in codes for cell in range(g)])
    theta = labelled.n / (labelled.n + 500)
    G, B = labelled.gram[np.ix_(columns, columns)], labelled.products[columns]
    explained = np.trace(B.T @ np.linalg.inv(G + RIDGE * np.trace(labelled.gram) / (g * M) * np.eye(len(G))) @ B)
    if 1 - theta <= 0.02:
        return theta * explained / labelled.variance
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (M, 64))
    own = C[np.ix_(codes, codes)] + RIDGE * np.trace(C) / M * np.eye(len(codes))
    B = (C @ signs)[codes]
    covered = np.trace(B.T @ np.linalg.inv(own) @ B) / 64
    return theta * explained / labelled.variance + (1 - theta) * covered / np.trace(C)


def naive_choice(labelled, C, K):
    M, taken = len(C), []
    while len(taken) < min(M, int(np.ceil(2.5 * K))):
        free = [j for j in range(M) if j not in taken]
        taken.append(free[int(np.argmax([J(labelled, C, [*taken, j]) for j in free]))])
    taken.sort()
    while len(taken) > K:
        loss = [-J(labelled, C, [code for code in taken if code != j]) for j in taken]
        gone = np.argsort(loss, kind="stable")[: min(len(taken) - K, max(1, int(0.1 * len(taken))))]
        taken = [code for i, code in enumerate(taken) if i not in gone]
    return taken


@pytest.mark.parametrize("n", [30, 500, 100_000])
@pytest.mark.parametrize("g", [1, 4])
@pytest.mark.parametrize("K", [2, 5])
def test_the_codes_chosen_are_those_of_the_formula(rng, n, g, K):
    labelled, C = labelled_of(rng, n, g=g)
    assert choose_codes(labelled, C, K).tolist() == naive_choice(labelled, C, K)


@pytest.mark.parametrize("K", [1, 7, 19, 20])
def test_exactly_k_ascending_and_the_same_again(rng, K):
    labelled, C = labelled_of(rng, 400)
    before = labelled.gram.copy(), C.copy()
    chosen = choose_codes(labelled, C, K)
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert len(chosen) == K
    np.testing.assert_array_equal(choose_codes(labelled, C, K), chosen)
    np.testing.assert_array_equal(labelled.gram, before[0])
    np.testing.assert_array_equal(C, before[1])


def test_codes_that_predict_the_targets_are_found(rng):
    X = rng.normal(size=(2000, 30))
    Y = X[:, [4, 17, 23]] + 0.1 * rng.normal(size=(2000, 3))
    labelled = Labelled(X.T @ X / 2000, X.T @ Y / 2000, float((Y**2).sum() / 2000), 50_000)
    assert choose_codes(labelled, labelled.gram, 3).tolist() == [4, 17, 23]


@pytest.mark.parametrize("variance", [0.0, 1.0])
def test_targets_that_nothing_predicts_do_no_harm(rng, variance):
    labelled, C = labelled_of(rng, 400)
    nothing = replace(labelled, products=np.zeros_like(labelled.products), variance=variance)
    assert len(choose_codes(nothing, C, 6)) == 6
    assert len(choose_codes(replace(nothing, n=10**6), C, 6)) == 6


def test_labels_count_for_more_with_more_images():
    assert label_share(IMAGES_FOR_HALF) == 0.5
    assert 0 < label_share(10) < label_share(1000) < label_share(10**7) < 1


def test_keeping_some_codes_keeps_their_columns(rng):
    labelled, _ = labelled_of(rng, 400, codes=6)
    kept = labelled.keep(np.array([1, 4]), 6)
    columns = [1, 4, 7, 10, 13, 16, 19, 22]
    np.testing.assert_array_equal(kept.gram, labelled.gram[np.ix_(columns, columns)])
    np.testing.assert_array_equal(kept.products, labelled.products[columns])
    assert (kept.variance, kept.n) == (labelled.variance, 400)


def test_progress_is_shown(rng):
    labelled, C = labelled_of(rng, 400)
    shown = []
    choose_codes(labelled, C, 4, lambda *what: shown.append(what))
    assert [number for number, note in shown if note == "forward"] == list(range(1, 11))
    backward = [number for number, note in shown if note == "backward"]
    assert backward == [9, 8, 7, 6, 5, 4]


RECIPE = Recipe(
    n_codes=5,
    n_candidates=12,
    descriptor=Patches(4, stride=2),
    dictionary=KMeans(max_iter=5),
    encoder=Threshold(0.25, two_sided=False),
    pooling=Pool("average", grid=2),
    selection="supervised",
    symmetry=None,
    n_patches=2000,
)


@pytest.fixture(scope="module")
def images(photos):
    return photos[::4, :16, :20]


@pytest.fixture(scope="module")
def targets(images):
    return np.random.default_rng(3).normal(size=(len(images), 3)) + np.arange(len(images))[:, None] % 4


def run(recipe, images, targets, threads=2):
    recipe = recipe.checked().fitted_to(images.shape[1:])
    with Threads(threads) as engine:
        return learn(recipe, images, seed=0, keep_features=True, targets=targets, engine=engine, stages=Stages())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pooling": Pool("max", [1, 2, 3]), "encoder": Threshold((0.1, 0.5), True)},
        {"pooling": Pool("rms", 3), "scale": Standardize("cell", 0.05)},
        {"pooling": Pool("average", grid=1), "scale": None, "symmetry": "mirror"},
        {"pooling": SecondOrder(1), "encoder": Threshold(0.1, True)},
        {"encoder": Triangle()},
    ],
    ids=["plain", "several outputs", "cell", "no scale, symmetry", "second order", "coupled"],
)
def test_what_images_and_targets_say_together(images, targets, changes):
    learned = run(replace(RECIPE, **changes), images, targets)
    candidates = learned.candidates
    labelled, layer, n = candidates.statistics.labelled, candidates.layer, len(images)
    first = layer.encoder.but(alpha=0.1, two_sided=False) if layer.encoder.sides > 1 else layer.encoder
    seen = replace(layer, encoder=first, pooling=layer.pooling.but(grid=2))
    x = seen.pooling.normalized(np.mean([seen._statistics(v) for v in views(images, layer.symmetry)], axis=0)).reshape(n, 48)
    offset = {"cell": 0.05}.get(
        getattr(changes.get("scale", 0), "form", None), 0.0 if changes.get("scale", 1) is None else 0.01
    )
    spread = np.sqrt(x.var(axis=0) + offset)
    x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    y = targets - targets.mean(axis=0)
    G = x.T @ x / n
    np.testing.assert_allclose(labelled.gram, G, atol=2e-3)
    np.testing.assert_allclose(labelled.products, x.T @ y / n, atol=2e-3)
    assert labelled.variance == pytest.approx((y**2).sum() / n, rel=1e-5)
    assert labelled.n == n == candidates.statistics.n
    C = np.mean([G[a : a + 12, a : a + 12] for a in range(0, 48, 12)], axis=0)
    np.testing.assert_allclose(candidates.statistics.covariance, C, atol=2e-3)
    np.testing.assert_array_equal(learned.selection.selected, choose_codes(labelled, candidates.statistics.covariance, 5))
    np.testing.assert_allclose(learned.features, learned.layer.features(images), atol=3e-3)


def views(images, symmetry):
    images = images.astype(np.float64)
    return [images] if symmetry is None else [images, images[:, :, ::-1]]


@pytest.mark.parametrize("scale", ["shared", "cell", None])
def test_the_scale_is_that_of_a_fit_without_labels(images, targets, scale):
    recipe = replace(RECIPE, pooling=Pool("average", grid=[1, 3]), encoder=Threshold((0.1, 0.5), two_sided=False), scale=scale)
    ours = run(recipe, images, targets).candidates.layer.scale
    theirs = run(replace(recipe, selection="greedy"), images, None).candidates.layer.scale
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.spread, theirs.spread, rtol=1e-5)


def test_the_same_bits_on_any_number_of_threads(images, targets):
    runs = [run(RECIPE, images, targets, threads) for threads in (1, 2, 4)]
    assert len({one.features.tobytes() for one in runs}) == 1
    assert len({one.candidates.statistics.labelled.gram.tobytes() for one in runs}) == 1


def test_outputs_stay_as_they_are(images, targets):
    assert run(RECIPE, images, targets).layer.projection is None
    assert run(replace(RECIPE, encoder=Threshold((0.1, 0.5), two_sided=False)), images, targets).layer.projection is None
    assert run(replace(RECIPE, projection=None), images, targets).layer.projection is None
