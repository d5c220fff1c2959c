import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from poolwise.method.scale import SCALES, Scale, Standardize
from poolwise.method.statistics import Moments
from poolwise.support.parameters import ParameterError


@pytest.fixture
def pooled(rng):
    """(images, cells, outputs), the outputs of different mean and spread in each cell."""
    return rng.normal(size=(50, 4, 3)) * rng.uniform(0.1, 5, size=(4, 3)) + rng.normal(size=(4, 3))


def test_shared_has_one_mean_and_spread_for_all_cells_as_in_jia2012(pooled):
    samples = pooled.reshape(-1, 3)
    scale = Standardize("shared", offset=0.01).learned(Moments.of(samples, diagonal=True), 3)
    np.testing.assert_allclose(scale.mean, samples.mean(axis=0))
    np.testing.assert_allclose(scale.spread, np.sqrt(samples.var(axis=0) + 0.01))
    assert not scale.is_per_cell


def test_cell_has_one_for_each_with_n_less_1_as_in_coates2011(pooled):
    scale = Standardize("cell", offset=0.01).learned(Moments.of(pooled.reshape(50, -1), diagonal=True), 3)
    np.testing.assert_allclose(scale.mean, pooled.mean(axis=0))
    np.testing.assert_allclose(scale.spread, np.sqrt(pooled.var(axis=0, ddof=1) + 0.01))
    assert scale.is_per_cell


def test_without_offset_it_is_scikit_learns(pooled):
    samples = pooled.reshape(-1, 3)
    scale = Standardize(offset=0.0).learned(Moments.of(samples, diagonal=True), 3)
    np.testing.assert_allclose(scale(pooled).reshape(-1, 3), StandardScaler().fit_transform(samples), atol=1e-5)


def test_an_output_that_never_varies_is_only_centred():
    scale = Standardize(offset=0.0).learned(Moments.of(np.full((9, 2), 7.0), diagonal=True), 2)
    np.testing.assert_array_equal(scale(np.full((1, 1, 2), 7.0, np.float32)), np.zeros((1, 1, 2)))


def test_float32_stays_float32_and_none_changes_nothing(pooled):
    X = pooled.astype(np.float32)
    same = Scale.none(4, 3)(X)
    assert same.dtype == np.float32
    np.testing.assert_array_equal(same, X)


@pytest.mark.parametrize("shape", [(3,), (4, 3)])
def test_some_outputs_keep_their_own_numbers(rng, pooled, shape):
    scale, some = Scale(rng.normal(size=shape), rng.uniform(1, 2, size=shape)), np.array([0, 2])
    np.testing.assert_allclose(scale.keep(some)(pooled[:, :, some]), scale(pooled)[:, :, some])


def test_an_unknown_form_is_refused():
    with pytest.raises(ParameterError, match="form must be one of 'shared', 'cell'; got 'each'"):
        SCALES.check("scale", Standardize("each"))


def test_the_room_refuses_an_unknown_form_too(pooled):
    with pytest.raises(ParameterError, match="form must be one of 'shared', 'cell'; got 'each'"):
        Standardize("each").learned(Moments.of(pooled.reshape(50, -1), diagonal=True), 3)


def test_scale_may_be_none():
    assert SCALES.check("scale", None) is None
    assert SCALES.check("scale", "cell") == Standardize("cell")
