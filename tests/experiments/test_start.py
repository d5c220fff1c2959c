"""What is cut from a starting dictionary is what PooledFeatures computes from the images."""

import gc
import weakref

import numpy as np
import pytest

from poolwise import PooledFeatures
from poolwise.experiments.cells import Cell
from poolwise.experiments.protocols import Data
from poolwise.experiments.start import Start, cut_features

M, SEED = 24, 3
SETTINGS = {"n_patches": 4_000, "max_iter": 5}


@pytest.fixture(scope="module")
def start(protocol, data):
    return Start(protocol, data, M, SEED)


@pytest.mark.parametrize("transform", ["nystrom", None])
@pytest.mark.parametrize("way", ["affinity", "kmedoids", "greedy", "random", "authors"])
def test_a_cut_has_the_codes_and_features_of_pooled_features(start, data, way, transform):
    model = PooledFeatures.preset(
        "jia2012", n_codes=6, n_candidates=M, selection=way, transform=transform, random_state=SEED, **SETTINGS
    )
    model.fit(data.train)
    train, test, known = start.cut(Cell("photos", 6, M, SEED, way, transform))
    np.testing.assert_array_equal(start.select(6, way)[0].selected, model.selected_)
    np.testing.assert_allclose(train, model.transform(data.train), atol=2e-4)
    np.testing.assert_allclose(test, model.transform(data.test), atol=2e-4)
    assert 0 < known["unexplained"] < 1
    assert set(known["seconds"]) == {"dictionary", "features", "selection"}


def test_pca_is_that_of_pooled_features(start, data):
    model = PooledFeatures.preset("jia2012", n_codes=6, n_candidates=M, transform="pca", random_state=SEED, **SETTINGS)
    train, _, _ = start.cut(Cell("photos", 6, M, SEED, None, "pca"))
    np.testing.assert_allclose(train, model.fit(data.train).transform(data.train), atol=2e-4)


def test_kmeans_is_all_codes(start, data):
    model = PooledFeatures.preset("jia2012", n_codes=M, random_state=SEED, **SETTINGS).fit(data.train)
    train, test, _ = start.cut(Cell("photos", M, M, SEED))
    np.testing.assert_array_equal(train, model.transform(data.train))
    np.testing.assert_array_equal(test, model.transform(data.test))


def test_unlabelled_images_give_dictionary_scale_and_covariance(protocol, data):
    learn = data.train[::2]
    apart = Data(data.train, data.train_labels, data.test, data.test_labels, learn)
    model = PooledFeatures.preset("jia2012", n_codes=6, n_candidates=M, random_state=SEED, **SETTINGS).fit(learn)
    train, _, _ = Start(protocol, apart, M, SEED).cut(Cell("photos", 6, M, SEED, "affinity", "nystrom"))
    np.testing.assert_allclose(train, model.transform(data.train), atol=2e-4)


def test_features_are_cut_cell_by_cell_in_blocks(rng, monkeypatch):
    X = rng.normal(size=(7, 4 * 5)).astype(np.float32)
    T = rng.normal(size=(2, 3)).astype(np.float32)
    codes = np.array([0, 2, 4])
    expected = np.array([[T @ row.reshape(4, 5)[cell, codes] for cell in range(4)] for row in X]).reshape(7, -1)
    monkeypatch.setattr("poolwise.experiments.start._ROWS", 3)
    np.testing.assert_allclose(cut_features(X, 5, codes, np.ascontiguousarray(T.T)), expected, rtol=1e-5, atol=1e-5)


def test_its_features_are_gone_with_it(protocol, data):
    """No cycle keeps gigabytes until the collector comes by."""
    start = Start(protocol, data, M, SEED)
    start.cut(Cell("photos", 6, M, SEED, "greedy", "nystrom"))
    gone = weakref.ref(start.X_train)
    gc.disable()
    try:
        del start
        assert gone() is None
    finally:
        gc.enable()
