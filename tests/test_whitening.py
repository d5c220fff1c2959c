import numpy as np
import pytest
from sklearn.decomposition import PCA

from poolwise.engine import Threads
from poolwise.whitening import fit_whitening, identity, whiten


@pytest.fixture
def patches(rng):
    return rng.normal(size=(40_000, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=12)


def fit(P, kind, offset, n_jobs=1):
    with Threads(n_jobs) as engine:
        return fit_whitening(P, kind, offset, engine)


def test_jia2012_formula(patches):
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=0))
    white = fit(patches, "std", 0.1)
    np.testing.assert_allclose(white.W, V @ np.diag(1 / (np.sqrt(lam) + 0.1)) @ V.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(white.m, patches.mean(axis=0))


def test_coates2011_formula(patches):
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=1))
    np.testing.assert_allclose(
        fit(patches, "variance", 0.1).W, V @ np.diag(1 / np.sqrt(lam + 0.1)) @ V.T, rtol=1e-8, atol=1e-10
    )


def test_without_offset_it_spans_what_scikit_learn_whitens(patches):
    ours = fit(patches, "variance", 0.0)(patches)
    theirs = PCA(whiten=True).fit_transform(patches)
    np.testing.assert_allclose(ours @ ours[:50].T, theirs @ theirs[:50].T, atol=1e-6)


def test_directions_that_never_vary_do_no_harm(patches):
    P = np.hstack([patches, np.ones((len(patches), 1)), patches[:, :1]])
    assert np.isfinite(fit(P, "std", 0.0)(P)).all()
    assert np.abs(fit(P, "std", 0.0).W).max() < 1e3


def test_folding_equals_whitening_first(patches, rng):
    white, D = fit(patches, "std", 0.1), rng.normal(size=(5, 12))
    F, b = white.fold(D)
    np.testing.assert_allclose(patches @ F.T + b, white(patches) @ D.T, atol=1e-9)


def test_same_bits_on_any_number_of_threads(patches):
    one, four = fit(patches, "std", 0.1, 1), fit(patches, "std", 0.1, 4)
    assert one.W.tobytes() == four.W.tobytes()


def test_in_place_whitening_equals_the_map(patches):
    white, P = fit(patches, "std", 0.1), patches.astype(np.float32)
    expected = white(P)
    with Threads(2) as engine:
        whiten(P, white, engine)
    np.testing.assert_array_equal(P, expected)


def test_none_is_the_identity(patches):
    np.testing.assert_array_equal(fit(patches, None, 0.1)(patches), patches)
    np.testing.assert_array_equal(identity(3).W, np.eye(3))
