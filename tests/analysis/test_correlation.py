"""Correlations of a covariance against np.corrcoef; codes that do not vary have none."""

import numpy as np
import pytest

from poolwise.analysis.correlation import correlation, inverse_std


def test_it_is_corrcoef(rng):
    X = rng.normal(size=(300, 12)) @ rng.normal(size=(12, 12))
    for ddof in (0, 1):
        np.testing.assert_allclose(correlation(np.cov(X.T, ddof=ddof)), np.corrcoef(X.T), rtol=1e-12, atol=1e-14)


def test_it_is_that_of_real_responses(responses, C):
    R = correlation(C)
    np.testing.assert_allclose(R, np.corrcoef(responses.T), atol=1e-12)
    np.testing.assert_allclose(np.diagonal(R), 1, rtol=1e-15)
    np.testing.assert_allclose(R, R.T, rtol=1e-14)


def test_codes_that_do_not_vary_have_no_correlation_and_no_warning(rng):
    X = rng.normal(size=(50, 4))
    X[:, 2] = 7.0
    C = np.cov(X.T)
    C[2, 2] = -1e-18  # what rounding may leave of 0
    with np.errstate(all="raise"):
        R = correlation(C)
    assert not R[2].any()
    assert not R[:, 2].any()
    others = np.array([0, 1, 3])
    np.testing.assert_allclose(R[np.ix_(others, others)], np.corrcoef(X[:, others].T))


def test_any_scale_of_the_codes_gives_the_same(rng):
    C = np.cov(rng.normal(size=(40, 5)).T)
    scale = np.array([1e-9, 1e-3, 1.0, 1e4, 1e8])
    np.testing.assert_allclose(correlation(C * scale[:, None] * scale), correlation(C), rtol=1e-12)


def test_the_covariance_is_left_as_it_was(rng):
    C = np.cov(rng.normal(size=(40, 5)).T)
    before = C.copy()
    correlation(C)
    np.testing.assert_array_equal(C, before)


@pytest.mark.parametrize(
    ("variance", "expected"), [([4.0, 0.25], [0.5, 2.0]), ([0.0, 1.0], [0.0, 1.0]), ([-1e-20, 9.0], [0.0, 1 / 3])]
)
def test_inverse_std(variance, expected):
    with np.errstate(all="raise"):
        assert inverse_std(np.array(variance)).tolist() == expected
