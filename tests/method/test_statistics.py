import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance
from sklearn.preprocessing import StandardScaler

from poolwise.engine.threads import Threads
from poolwise.method.statistics import CovarianceStream, Moments


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 60), max_size=6), diagonal=st.booleans())
def test_parts_merge_in_any_order_to_the_whole(seed, cuts, diagonal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) * [1, 10, 0.1, 0] + [0, 100, -3, 7]
    parts = [Moments.of(part, diagonal=diagonal) for part in np.split(X, sorted(cuts))]
    total = Moments(4, diagonal=diagonal)
    for i in rng.permutation(len(parts)):
        total.merge(parts[i])
    assert total.n == 60
    np.testing.assert_allclose(total.mean, X.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(total.variance(), X.var(axis=0), atol=1e-10)
    np.testing.assert_allclose(total.variance(ddof=1), X.var(axis=0, ddof=1), atol=1e-10)
    if not diagonal:
        np.testing.assert_allclose(total.covariance(ddof=1), np.cov(X.T), atol=1e-8)


def test_agrees_with_scikit_learn(rng):
    X = rng.normal(size=(1000, 6)) @ rng.normal(size=(6, 6))
    moments = Moments(6)
    for block in np.array_split(X, 7):
        moments.update(block)
    np.testing.assert_allclose(moments.covariance(), EmpiricalCovariance().fit(X).covariance_, rtol=1e-10)
    np.testing.assert_allclose(moments.scale(0.0), StandardScaler().fit(X).scale_, rtol=1e-10)


def test_float32_blocks_far_from_zero_keep_their_digits(rng):
    X = (1000 + 0.1 * rng.normal(size=(5000, 3))).astype(np.float32)
    moments = Moments(3)
    for block in np.array_split(X, 10):
        moments.update(block)
    np.testing.assert_allclose(moments.covariance(), np.cov(X.astype(np.float64).T, ddof=0), rtol=1e-3, atol=1e-6)


def test_whole_numbers_are_not_truncated():
    assert Moments.of(np.array([[1], [2], [4]], np.uint8)).variance() == pytest.approx(14 / 9, rel=1e-6)


def test_scale_has_the_offset_under_the_root_and_is_never_zero():
    moments = Moments.of(np.array([[1.0, 5.0], [3.0, 5.0]]), diagonal=True)
    np.testing.assert_allclose(moments.scale(0.01), [np.sqrt(1.01), 0.1])
    np.testing.assert_allclose(moments.scale(0.0), [1.0, 1.0])


def test_variances_alone_give_no_covariance():
    with pytest.raises(ValueError, match="diagonal=False"):
        Moments(2, diagonal=True).covariance()


@pytest.mark.parametrize(("n", "M", "chunk"), [(9000, 7, 100), (5000, 330, 61), (4096, 650, 4096), (3, 700, 1), (1, 4, 1)])
def test_a_stream_of_blocks_has_the_moments_of_the_whole(rng, engine, n, M, chunk):
    X = (rng.normal(size=(n, M)) @ np.diag(rng.uniform(0.01, 10, M)) + rng.uniform(-50, 50, M)).astype(np.float32)
    stream = CovarianceStream(M, engine)
    for start in range(0, n, chunk):
        stream.add(X[start : start + chunk])
    moments = stream.moments()
    assert moments.n == n
    np.testing.assert_allclose(moments.mean, X.mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-6)
    covariance = moments.covariance()
    np.testing.assert_allclose(covariance, np.cov(X.T.astype(np.float64), ddof=0), atol=1e-4 * max(1, covariance.max()))
    np.testing.assert_array_equal(covariance, covariance.T)


def test_a_stream_is_the_same_bits_on_any_number_of_threads(rng):
    X = rng.normal(size=(6000, 400)).astype(np.float32)
    results = set()
    for threads in (1, 2, 4):
        with Threads(threads) as engine:
            stream = CovarianceStream(400, engine)
            for part in np.array_split(X, 50):
                stream.add(part)
            results.add(stream.moments().covariance().tobytes())
    assert len(results) == 1


def test_an_empty_stream_has_no_moments(engine):
    moments = CovarianceStream(3, engine).moments()
    assert moments.n == 0
    np.testing.assert_array_equal(moments.covariance(), np.zeros((3, 3)))
