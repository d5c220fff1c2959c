"""Responses before and after pooling, against plain loops over patches and images."""

import json

import numpy as np
import pytest

from poolwise import PooledFeatures
from poolwise.reproduction import anatomy
from poolwise.reproduction.protocols import Settings
from poolwise.reproduction.store import Store


@pytest.fixture(scope="module")
def model(data):
    settings = {"n_patches": 8_000, "dictionary__max_iter": 10, "random_state": 0}
    return PooledFeatures.preset("jia2012", n_codes=8, n_candidates=48, **settings).fit(data.train)


@pytest.fixture(scope="module")
def taken_apart(model, data):
    return anatomy.take_apart(model, data.train, 0, Settings(n_jobs=1))


def test_correlation_before_pooling_is_that_of_patches_encoded_one_by_one(model, data, monkeypatch):
    monkeypatch.setattr(anatomy, "_PATCHES", 500)
    found, first = anatomy.responses_before(model, data.train, np.random.default_rng(1), 1)
    rng, h = np.random.default_rng(1), 27
    image, y, x = rng.integers(160, size=500), rng.integers(h, size=500), rng.integers(h, size=500)
    f = []
    for n, row, column in zip(image, y, x, strict=True):
        p = data.train[n, row : row + 6, column : column + 6].astype(np.float64).ravel()
        p = (p - p.mean()) / (p.std() + 10)
        p = model.whitening_matrix_ @ (p - model.whitening_mean_)
        f.append(np.maximum(0, model.candidates_.codes @ p - 0.25))
    np.testing.assert_allclose(first, f, atol=1e-4)
    varies = np.std(f, axis=0) > 0
    np.testing.assert_allclose(found[np.ix_(varies, varies)], np.corrcoef(np.array(f).T[varies]), atol=1e-3)


def test_rho_is_the_mean_over_all_pairs_of_a_cluster(model, taken_apart):
    C, pairs = model.covariance_, []
    after = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    for i in range(48):
        pairs += [after[i, j] for j in range(i) if model.cluster_[i] == model.cluster_[j]]
    assert taken_apart["rho"]["after"] == pytest.approx(np.mean(pairs))


def test_pooling_raises_correlation_in_clusters_and_exemplars_have_less(taken_apart):
    rho = taken_apart["rho"]
    assert rho["before"] < rho["after"]
    assert rho["exemplars"] < rho["after"]


def test_points_are_responses_of_the_pair(rng):
    responses = rng.normal(size=(50, 3)) * [1, 2, 3]
    points = np.array(anatomy._points(responses, np.array([[0, 2]]), rng))
    unit = responses / responses.std(axis=0)
    assert all(np.isclose(unit[:, [0, 2]], point, atol=1e-3).all(axis=1).any() for point in points[:20])


def test_what_is_stored_is_json_and_the_codes_come_back(model, taken_apart):
    again = json.loads(json.dumps(taken_apart))
    codes = anatomy.unpack_codes(again["codes"], again["patch"])
    assert codes.shape == (8, 108)
    unit = model.codes_ / np.abs(model.codes_).max(axis=1, keepdims=True)
    assert all(np.abs(unit - code / 127).max(axis=1).min() < 0.005 for code in codes)
    assert len(again["approximation"]) == 8
    assert len(again["spectrum"]) == 48


def test_a_moved_code_and_a_recoloured_one_are_told_apart(rng):
    p = np.zeros((6, 6, 3))
    p[:, 2] = [1.0, 1.0, 1.0]
    p[:, 3] = [-1.0, -1.0, -1.0]
    moved = np.roll(p, 1, axis=1)
    coloured = p * [1.0, -0.6, 0.2]
    colour = anatomy.likeness(np.stack([p, moved, coloured]))
    grey = anatomy.likeness(np.stack([p, moved, coloured]).mean(axis=3, keepdims=True))
    assert colour[0, 1] > 0.99
    assert colour[0, 2] < 0.5
    assert grey[0, 2] > 0.99
    np.testing.assert_allclose(colour, colour.T)


def test_likeness_is_the_best_cosine_that_a_loop_over_shifts_finds(rng):
    tiles = rng.normal(size=(3, 5, 6, 2))
    found = anatomy.likeness(tiles, most=2)
    for i in range(3):
        for j in range(3):
            best = -1.0
            for dy in range(-2, 3):
                for dx in range(-2, 3):
                    pairs = [
                        (tiles[i, y, x], tiles[j, y - dy, x - dx])
                        for y in range(5)
                        for x in range(6)
                        if 0 <= y - dy < 5 and 0 <= x - dx < 6
                    ]
                    a, b = (np.concatenate(side) for side in zip(*pairs, strict=True))
                    inside = all(2 * np.linalg.norm(c) > np.linalg.norm(tiles[k]) for c, k in ((a, i), (b, j)))
                    if 2 * len(pairs) >= 30 and inside:
                        best = max(best, a @ b / np.linalg.norm(a) / np.linalg.norm(b))
            assert found[i, j] == pytest.approx(max(best, 0.0) if best < 0 else best)


def test_pairs_are_low_before_and_the_highest_after(model, taken_apart):
    for pair in taken_apart["pairs"]:
        assert pair["before"] < 0.1
        assert pair["after"] > pair["before"]


def test_variants_are_the_models_that_they_name(data, tmp_path, monkeypatch):
    """A quick anatomy of each variant: an eighth of the codes, from the store when it is asked for again."""
    settings, store = Settings(n_jobs=1), Store(tmp_path)
    monkeypatch.setattr(Settings, "data", lambda self, dataset, quick: data)
    monkeypatch.setattr(anatomy, "_PATCHES", 4_000)
    monkeypatch.setattr(anatomy, "M", 320)
    monkeypatch.setattr(anatomy, "K", 64)
    for variant, patch in (("6×6 average", [6, 6, 3]), ("8×8 max", [8, 8, 3])):
        found = anatomy.taken_apart(store, settings, variant, 0, True)
        assert (found["patch"], found["K"], found["M"]) == (patch, 8, 40)
        assert found == Store(tmp_path).finding(anatomy.anatomy_name(variant, 0, True))
    monkeypatch.setattr(anatomy, "take_apart", None)  # nothing is measured again
    assert anatomy.taken_apart(store, settings, "8×8 max", 0, True) == found
    recipe = PooledFeatures.preset("jia2012", **anatomy.VARIANTS["8×8 max"]).recipe
    assert (recipe.descriptor.patch_size, recipe.pooling.how, recipe.pooling.grids) == ((8, 8), "max", ((2, 2),))
