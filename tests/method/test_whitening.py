import numpy as np
import pytest
from sklearn.decomposition import PCA

from poolwise.engine.threads import HeldArray, Threads
from poolwise.method.whitening import WHITENINGS, ZCA, Whitening, fit_whitening, identity, whiten
from poolwise.support.parameters import ParameterError


@pytest.fixture
def patches(rng):
    return rng.normal(size=(40_000, 12)) @ rng.normal(size=(12, 12)) + rng.normal(size=12)


def fit(P, zca, n_jobs=1):
    with Threads(n_jobs) as engine:
        return fit_whitening(HeldArray(P, engine), zca)


def test_jia2012_formula(patches):
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=0))
    white = fit(patches, ZCA("std", 0.1))
    np.testing.assert_allclose(white.W, V @ np.diag(1 / (np.sqrt(lam) + 0.1)) @ V.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(white.m, patches.mean(axis=0))


def test_coates2011_formula(patches):
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=1))
    np.testing.assert_allclose(
        fit(patches, ZCA("variance", 0.1)).W, V @ np.diag(1 / np.sqrt(lam + 0.1)) @ V.T, rtol=1e-8, atol=1e-10
    )


def test_without_offset_it_spans_what_scikit_learn_whitens(patches):
    ours = fit(patches, ZCA("variance", 0.0))(patches)
    theirs = PCA(whiten=True).fit_transform(patches)
    np.testing.assert_allclose(ours @ ours[:50].T, theirs @ theirs[:50].T, atol=1e-6)


def test_directions_that_never_vary_do_no_harm(patches):
    P = np.hstack([patches, np.ones((len(patches), 1)), patches[:, :1]])
    assert np.isfinite(fit(P, ZCA("std", 0.0))(P)).all()
    assert np.abs(fit(P, ZCA("std", 0.0)).W).max() < 1e3


def test_folding_equals_whitening_first(patches, rng):
    white, D = fit(patches, ZCA("std", 0.1)), rng.normal(size=(5, 12))
    F, b = white.fold(D)
    assert white.centre.dtype == np.float32
    np.testing.assert_allclose((patches - white.centre) @ F.T + b, white(patches) @ D.T, atol=1e-9)


def test_same_bits_on_any_number_of_threads(patches):
    one, four = fit(patches, ZCA("std", 0.1), 1), fit(patches, ZCA("std", 0.1), 4)
    assert one.W.tobytes() == four.W.tobytes()


def test_in_place_whitening_equals_the_map(patches):
    white, P = fit(patches, ZCA("std", 0.1)), patches.astype(np.float32)
    expected = white(P)
    with Threads(2) as engine:
        whiten(HeldArray(P, engine), white)
    np.testing.assert_array_equal(P, expected)


def test_none_is_the_identity(patches):
    np.testing.assert_array_equal(fit(patches, None)(patches), patches)
    np.testing.assert_array_equal(identity(3).W, np.eye(3))


def test_undoing_gives_back_what_was_whitened(rng):
    A = rng.normal(size=(12, 12))
    lam, V = np.linalg.eigh(A @ A.T)
    white = Whitening(np.zeros(12), (V / np.sqrt(lam)) @ V.T)
    patches = rng.normal(size=(5, 12))
    np.testing.assert_allclose(white.undo(white(patches)), patches, atol=1e-9)


def test_directions_that_whitening_left_out_stay_out(rng):
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    white = Whitening(np.zeros(6), (V * [2, 1, 3, 1, 0, 0]) @ V.T)
    patches = rng.normal(size=(4, 6))
    np.testing.assert_allclose(white.undo(white(patches)), patches @ V[:, :4] @ V[:, :4].T, atol=1e-12)


@pytest.mark.parametrize("word", ["zca", "Std", ""])
def test_an_unknown_form_is_refused(word):
    with pytest.raises(ParameterError, match="whitening must be one of 'std', 'variance', None"):
        WHITENINGS.check("whitening", word)
    with pytest.raises(ParameterError, match="form must be one of 'std', 'variance'; got"):
        WHITENINGS.check("whitening", ZCA(word))


def test_the_room_refuses_an_unknown_form_too(patches):
    with pytest.raises(ParameterError, match="form must be one of 'std', 'variance'; got 'zca'"):
        fit(patches, ZCA("zca"))
