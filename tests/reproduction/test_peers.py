"""Peers are what they say: each against a plain loop or scikit-learn."""

from itertools import count

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from poolwise.method.band_statistics import statistics_of
from poolwise.reproduction.peers import PEERS, Network

SHAPE = (32, 32, 3)


def test_pixels_are_standardised_by_the_training_images_alone(photos):
    train, test = photos[:40], photos[40:60]
    peer = PEERS["raw pixels"](SHAPE)
    scaler = StandardScaler().fit(train.reshape(40, -1).astype(np.float64))
    for X, images in ((peer.fit_transform(train, None), train), (peer.transform(test), test)):
        assert X.dtype == np.float32
        np.testing.assert_allclose(X, scaler.transform(images.reshape(len(images), -1)), atol=1e-4)


def test_a_number_that_never_changes_is_nothing():
    images = np.full((5, 8, 8, 1), 7, np.uint8)
    peer = PEERS["raw pixels"]((8, 8, 1))
    assert not peer.fit_transform(images, None).any()
    assert not peer.transform(images + np.uint8(3)).any()


def test_bands_are_the_formula_in_21_cells(photos):
    X = PEERS["band statistics"](SHAPE).formula(photos[:3])
    np.testing.assert_allclose(X, statistics_of(photos[:3], [(1, 1), (2, 2), (4, 4)]).reshape(3, -1), rtol=1e-4)


def test_hog_sees_outlines_and_not_brightness(photos):
    peer, images = PEERS["HOG"](SHAPE), photos[:4] // 2
    assert peer.formula(images).shape == (4, 6 * 6 * 36)
    np.testing.assert_allclose(peer.formula(images), peer.formula(images + np.uint8(60)), atol=1e-4)


def test_binary_patterns_are_shares_of_every_region(photos):
    pytest.importorskip("skimage")
    peer = PEERS["LBP"](SHAPE)
    shares = peer.formula(photos[:2]).reshape(2, 3, 16, 59) ** 2
    np.testing.assert_allclose(shares.sum(axis=3), 1, rtol=1e-5)
    flat = peer.formula(np.full((1, *SHAPE), 9, np.uint8)).reshape(3, 16, 59)
    assert np.count_nonzero(flat[:, 5]) == 3, "inside a flat image all patterns are the same"


def test_scattering_has_the_numbers_that_it_says():
    pytest.importorskip("kymatio")
    assert PEERS["scattering"](SHAPE).formula(np.zeros((2, *SHAPE), np.uint8)).shape == (2, 3 * 81 * 8 * 8)


def test_a_network_learns_colours_in_the_time_that_it_has(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("time.process_time", count(step=1.0).__next__)  # a second for every step
    rng = np.random.default_rng(0)
    labels = np.repeat(["green", "red"], 40)
    images = rng.integers(0, 200, (80, 16, 16, 3), dtype=np.uint8)
    images[40:, :, :, 0] += 55
    network = Network(40.0).fit(images, labels)
    assert network.steps_ == 39
    assert np.mean(network.predict(images) == labels) > 0.9
    assert network.n_bytes > 4 * 9 * (3 * 32 + 32 * 32)
