"""Candidates know how they respond after pooling; choosing among them is one implementation for all who choose."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method.candidates import Candidates, Statistics
from poolwise.method.encoders import Threshold
from poolwise.method.nystrom import nystrom_projection, pca_projection
from poolwise.method.scale import Scale
from poolwise.method.selection import UNSUPERVISED
from poolwise.method.selection.choosing import select
from poolwise.support.parameters import ParameterError
from poolwise.support.progress import Stages
from poolwise.support.randomness import choosing_generator

M = 30


@pytest.fixture(params=[1, 2], ids=["one side", "two sides"])
def candidates(request, rng, make_layer, photos):
    """Thirty random codes, and the covariance of their outputs, standardised, in the cells of the photos."""
    layer = make_layer(rng, M, encoder=Threshold(0.1, two_sided=request.param == 2))
    x = layer.features(photos[::4]).reshape(-1, layer.n_outputs)
    mean, spread = x.mean(axis=0), np.sqrt(x.var(axis=0) + 0.01)
    C = np.cov(((x - mean) / spread).T, ddof=0)
    return Candidates(replace(layer, scale=Scale(mean, spread)), Statistics(C, len(x)), seed=5)


def choose(candidates, K, way="affinity", projection="nystrom", threads=2, stages=None):
    with Threads(threads) as engine:
        return candidates.choose(K, way, projection, engine=engine, stages=stages or Stages())


@pytest.mark.parametrize("way", UNSUPERVISED)
def test_the_codes_chosen_are_those_of_select_with_the_seed_of_the_candidates(candidates, engine, way):
    C = candidates.covariance_of_codes()
    expected = select(C, 7, way, rng=choosing_generator(5), engine=engine)
    layer, found = choose(candidates, 7, way)
    np.testing.assert_array_equal(found.selected, expected.selected)
    np.testing.assert_array_equal(found.label, expected.label)
    assert found.n_candidates == M
    np.testing.assert_array_equal(layer.codes, candidates.codes[found.selected])


def test_nystrom_combines_the_outputs_of_the_codes_chosen(candidates, photos):
    layer, found = choose(candidates, 7, "greedy")
    outputs = candidates.layer.outputs_of(found.selected)
    T = nystrom_projection(candidates.statistics.covariance, outputs).T
    assert layer.projection.kind == "nystrom"
    np.testing.assert_array_equal(layer.projection.T, T)
    x = candidates.layer.features(photos[:5]).reshape(5, 4, -1)[:, :, outputs]
    np.testing.assert_allclose(layer.features(photos[:5]), (x @ T.T).reshape(5, -1), rtol=1e-9, atol=1e-9)


def test_without_projection_outputs_stay_as_they_are(candidates, photos):
    layer, found = choose(candidates, 7, "greedy", None)
    outputs = candidates.layer.outputs_of(found.selected)
    assert layer.projection is None
    x = candidates.layer.features(photos[:5]).reshape(5, 4, -1)[:, :, outputs]
    np.testing.assert_allclose(layer.features(photos[:5]), x.reshape(5, -1), rtol=1e-12)


def test_pca_selects_nothing_and_projects_all_outputs(candidates, photos):
    layer, found = choose(candidates, 7, projection="pca")
    sides = candidates.layer.encoder.sides
    T = pca_projection(candidates.statistics.covariance, 7 * sides).T
    assert found is None
    assert layer.projection.kind == "pca"
    assert layer.projection.T.shape == (7 * sides, M * sides)
    np.testing.assert_array_equal(layer.projection.T, T)
    np.testing.assert_array_equal(layer.codes, candidates.codes)
    x = candidates.layer.features(photos[:5]).reshape(5, 4, -1)
    np.testing.assert_allclose(layer.features(photos[:5]), (x @ T.T).reshape(5, -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", [1, M])
@pytest.mark.parametrize("projection", ["nystrom", "pca", None])
def test_one_or_all_may_be_chosen(candidates, photos, K, projection):
    layer, _ = choose(candidates, K, projection=projection)
    assert layer.features(photos[:2]).shape == (2, 4 * K * candidates.layer.encoder.sides)


def test_choosing_leaves_the_candidates_as_they_were(candidates):
    before = candidates.statistics.covariance.copy(), candidates.codes.copy(), candidates.layer.scale.mean.copy()
    runs = [choose(candidates, 9, way, projection) for way in UNSUPERVISED for projection in ("nystrom", "pca", None)]
    after = candidates.statistics.covariance, candidates.codes, candidates.layer.scale.mean
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    again = [choose(candidates, 9, way, projection) for way in UNSUPERVISED for projection in ("nystrom", "pca", None)]
    for (first, _), (second, _) in zip(runs, again, strict=True):
        np.testing.assert_array_equal(first.codes, second.codes)


@pytest.mark.parametrize("way", UNSUPERVISED)
def test_the_same_layer_on_any_number_of_threads(candidates, way):
    layers = [choose(candidates, 9, way, threads=threads)[0] for threads in (1, 2, 4)]
    assert len({layer.codes.tobytes() for layer in layers}) == 1
    assert len({layer.projection.T.tobytes() for layer in layers}) == 1


def test_another_seed_may_choose_others(candidates):
    found = {choose(replace(candidates, seed=seed), 9, "random")[1].selected.tobytes() for seed in range(5)}
    assert len(found) == 5


def test_the_outputs_of_a_code_count_as_samples_of_it(candidates):
    C = candidates.statistics.covariance
    expected = C if len(C) == M else C[:M, :M] + C[M:, M:]
    np.testing.assert_array_equal(candidates.covariance_of_codes(), expected)


def test_codes_that_respond_to_nothing_are_counted(candidates):
    assert candidates.n_alive == M
    C = candidates.statistics.covariance.copy()
    dead = candidates.layer.outputs_of(np.array([3, 8]))
    C[dead] = C[:, dead] = 0
    assert replace(candidates, statistics=Statistics(C, 640)).n_alive == M - 2


@pytest.mark.parametrize(("projection", "stages"), [("nystrom", ["selection", "projection"]), ("pca", ["projection"])])
def test_stages_are_timed(candidates, projection, stages):
    timed = Stages()
    choose(candidates, 5, projection=projection, stages=timed)
    assert list(timed.seconds) == stages


@pytest.mark.parametrize("K", [0, M + 1])
def test_more_than_there_are_cannot_be_chosen(candidates, K):
    with pytest.raises(ValueError, match=f"{K} codes cannot be selected from {M} candidates"):
        choose(candidates, K)


@pytest.mark.parametrize("word", ["typo", "PCA", "", False])
def test_unknown_words_are_refused(candidates, word):
    with pytest.raises(ParameterError, match="projection must be one of 'nystrom', 'pca', None; got"):
        choose(candidates, 5, projection=word)
    with pytest.raises(ParameterError, match="selection must be one of 'affinity'"):
        choose(candidates, 5, word)
