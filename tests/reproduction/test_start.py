"""What is cut from a starting dictionary is what PooledFeatures computes from the images."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

from poolwise import Nearest, PooledFeatures, Standardize, Threshold, Triangle
from poolwise.method.nystrom import Projection
from poolwise.method.selection.choosing import select
from poolwise.reproduction.cells import Cell
from poolwise.reproduction.protocols import Data
from poolwise.reproduction.start import Start, cut_features

M, SEED = 24, 3
SETTINGS = {"n_patches": 4_000, "dictionary__max_iter": 5}
TWO_SIDED = {"encoder": Threshold(alpha=0.2, two_sided=True)}


@pytest.fixture(scope="module")
def start(protocol, data):
    return Start(protocol, data, M, seed=SEED)


@pytest.fixture(scope="module")
def two_sided(protocol, data):
    return Start(replace(protocol, changes={**protocol.changes, **TWO_SIDED}), data, M, seed=SEED)


def fitted(images, **more):
    """PooledFeatures with the same seed, from the images."""
    return PooledFeatures.preset("jia2012", n_candidates=M, random_state=SEED, **SETTINGS, **more).fit(images)


def same(found, model, images, atol=2e-4):
    np.testing.assert_allclose(found, model.transform(images), atol=atol)


def same_but_for_a_turn(found, model, images):
    """Rows of the Nyström projection whose singular values are close turn in their plane by what rounding does to C.

    Two sides have twice as many values in the same range, so they do; inner products of features do not know of turns.
    """
    expected = model.transform(images)
    same(found, model, images, atol=5e-3)
    products = [np.float64(X) @ np.float64(X).T for X in (found, expected)]
    np.testing.assert_allclose(*products, atol=1e-4 * np.abs(products[1]).max())


@pytest.mark.parametrize("projection", ["nystrom", None])
@pytest.mark.parametrize("way", ["affinity", "kmedoids", "greedy", "cholesky", "random", "authors"])
def test_a_cell_has_the_codes_and_features_of_pooled_features(start, data, way, projection):
    model = fitted(data.train, n_codes=6, selection=way, projection=projection)
    train, test, known = start.features_of(Cell("photos", 6, M, SEED, way, projection))
    np.testing.assert_array_equal(start.select(6, way)[0].selected, model.selected_)
    same(train, model, data.train)
    same(test, model, data.test)
    assert 0 < known["unexplained"] < 1
    assert set(known["seconds"]) == {"dictionary", "features", "selection"}


@pytest.mark.parametrize("projection", ["nystrom", None])
@pytest.mark.parametrize("way", ["affinity", "greedy", "random", "authors"])
def test_so_it_has_with_two_sides(two_sided, data, way, projection):
    """A code has two outputs, f_k and f_(K+k), and both are kept with it."""
    model = fitted(data.train, n_codes=6, selection=way, projection=projection, **TWO_SIDED)
    train, test, known = two_sided.features_of(Cell("photos", 6, M, SEED, way, projection))
    np.testing.assert_array_equal(two_sided.select(6, way)[0].selected, model.selected_)
    np.testing.assert_array_equal(two_sided.select(6, way)[0].cluster, model.cluster_)
    assert train.shape == (160, 4 * 12)
    check = same if projection is None else same_but_for_a_turn
    check(train, model, data.train)
    check(test, model, data.test)
    outputs = np.concatenate([model.selected_, model.selected_ + M])
    W = model.covariance_[:, outputs]
    near = W @ np.linalg.pinv(W[outputs], rcond=1e-7, hermitian=True) @ W.T
    assert known["unexplained"] == pytest.approx(1 - np.trace(near) / np.trace(model.covariance_), abs=1e-4)


def test_selection_sees_the_two_sides_as_two_samples_of_a_code(two_sided, engine):
    """Their covariances are added, so the choice is that from the sum."""
    C = two_sided.candidates.statistics.covariance
    assert C.shape == (2 * M, 2 * M)
    expected = select(C[:M, :M] + C[M:, M:], 6, "greedy", rng=np.random.default_rng(0), engine=engine).selected
    one_side = select(C[:M, :M], 6, "greedy", rng=np.random.default_rng(0), engine=engine).selected
    assert expected.tolist() != one_side.tolist()
    np.testing.assert_array_equal(two_sided.select(6, "greedy")[0].selected, expected)


def test_pca_is_that_of_pooled_features(start, data):
    model = fitted(data.train, n_codes=6, projection="pca")
    train, _, _ = start.features_of(Cell("photos", 6, M, SEED, None, "pca"))
    same(train, model, data.train)


def test_pca_with_two_sides_has_two_directions_for_each_code(two_sided, data):
    model = fitted(data.train, n_codes=6, projection="pca", **TWO_SIDED)
    train, test, _ = two_sided.features_of(Cell("photos", 6, M, SEED, None, "pca"))
    assert train.shape == (160, 4 * 12)
    same(train, model, data.train)
    same(test, model, data.test)


@pytest.mark.parametrize("scale", [Standardize("cell"), None])
def test_other_scales_give_what_pooled_features_gives(protocol, data, scale):
    changed = replace(protocol, changes={**protocol.changes, "scale": scale, **TWO_SIDED})
    model = fitted(data.train, n_codes=6, scale=scale, **TWO_SIDED)
    start = Start(changed, data, M, seed=SEED)
    np.testing.assert_allclose(start.candidates.statistics.covariance, model.covariance_, atol=1e-5)
    train, test, _ = start.features_of(Cell("photos", 6, M, SEED, "greedy", "nystrom"))
    same_but_for_a_turn(train, model.reselect(selection="greedy"), data.train)
    same_but_for_a_turn(test, model.reselect(selection="greedy"), data.test)


def test_kmeans_is_all_codes(start, two_sided, data):
    for one, more in ((start, {}), (two_sided, TWO_SIDED)):
        model = PooledFeatures.preset("jia2012", n_codes=M, random_state=SEED, **SETTINGS, **more).fit(data.train)
        train, test, _ = one.features_of(Cell("photos", M, M, SEED))
        np.testing.assert_array_equal(train, model.transform(data.train))
        np.testing.assert_array_equal(test, model.transform(data.test))


def test_its_candidates_are_those_of_pooled_features(start, data):
    model = fitted(data.train, n_codes=6)
    np.testing.assert_array_equal(start.candidates.codes, model.candidates_.codes)
    np.testing.assert_allclose(start.candidates.statistics.covariance, model.covariance_, atol=1e-5)
    assert start.candidates.statistics.n == model.candidates_.statistics.n == 4 * len(data.train)
    assert start.candidates.seed == model.candidates_.seed


@pytest.mark.parametrize("more", [{}, TWO_SIDED])
def test_unlabelled_images_give_dictionary_scale_and_covariance(protocol, data, more):
    learn = data.train[::2]
    apart = Data(data.train, data.train_labels, data.test, data.test_labels, learn)
    model = fitted(learn, n_codes=6, **more)
    start = Start(replace(protocol, changes={**protocol.changes, **more}), apart, M, seed=SEED)
    train, _, _ = start.features_of(Cell("photos", 6, M, SEED, "affinity", "nystrom"))
    (same_but_for_a_turn if more else same)(train, model, data.train)


@pytest.mark.parametrize("encoder", [Triangle(), Nearest(), "triangle"])
def test_coupled_encoders_are_refused(protocol, data, encoder):
    """Their activations depend on the other codes, so fewer codes have other features than these."""
    coupled = replace(protocol, changes={**protocol.changes, "encoder": encoder})
    with pytest.raises(ValueError, match=r"(Triangle|Nearest)\(\) has activations that depend on all codes together"):
        Start(coupled, data, M, seed=SEED)


def test_features_are_cut_cell_by_cell_in_blocks(rng, monkeypatch):
    X = rng.normal(size=(7, 4 * 5)).astype(np.float32)
    T = rng.normal(size=(2, 3)).astype(np.float32)
    outputs = np.array([0, 2, 4])
    expected = np.array([[T @ row.reshape(4, 5)[cell, outputs] for cell in range(4)] for row in X]).reshape(7, -1)
    monkeypatch.setattr("poolwise.reproduction.start._ROWS_PER_BLOCK", 3)
    np.testing.assert_allclose(cut_features(X, 5, outputs, Projection("nystrom", T)), expected, rtol=1e-5, atol=1e-5)


def test_its_features_are_gone_with_it(protocol, data):
    """No cycle keeps gigabytes until the collector comes by."""
    start = Start(protocol, data, M, seed=SEED)
    start.features_of(Cell("photos", 6, M, SEED, "greedy", "nystrom"))
    gone = weakref.ref(start.X_train)
    gc.disable()
    try:
        del start
        assert gone() is None
    finally:
        gc.enable()
