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


@pytest.mark.parametrize("form", ["std", "variance"])
@pytest.mark.parametrize("rank", [1, 5, 11])
def test_a_rank_keeps_the_largest_directions(patches, form, rank):
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=form == "variance"))
    scale = np.sqrt(lam) + 0.1 if form == "std" else np.sqrt(lam + 0.1)
    white = fit(patches, ZCA(form, 0.1, rank))
    assert (white.W.shape, white.is_reduced) == ((12, rank), True)
    P = white(patches[:50])
    projected = (patches[:50] - patches.mean(axis=0)) @ V[:, -rank:] / scale[-rank:]
    np.testing.assert_allclose(np.abs(P), np.abs(projected), atol=1e-8)  # an eigenvector has two signs
    np.testing.assert_allclose(P @ P.T, projected @ projected.T, atol=1e-8)


@pytest.mark.parametrize("rank", [12, 13, 1000])
def test_all_directions_are_full_whitening(patches, rank):
    np.testing.assert_array_equal(fit(patches, ZCA(rank=rank)).W, fit(patches, ZCA()).W)
    assert not fit(patches, ZCA(rank=rank)).is_reduced


def test_scalar_products_of_all_directions_but_one_lack_that_one(patches):
    white, reduced = fit(patches, ZCA())(patches[:40]), fit(patches, ZCA(rank=11))(patches[:40])
    lam, V = np.linalg.eigh(np.cov(patches.T, ddof=0))
    least = (patches[:40] - patches.mean(axis=0)) @ V[:, 0] / (np.sqrt(lam[0]) + 0.1)
    np.testing.assert_allclose(reduced @ reduced.T, white @ white.T - np.outer(least, least), atol=1e-7)


@pytest.mark.parametrize(
    ("variances", "rank"),
    [([1.0, 1.0, 1.0, 1.0], 4), ([97.0, 2.5, 0.4, 0.1], 2), ([98.0, 0.9, 0.9, 0.2], 3), ([100.0, 0.1, 0.1, 0.1], 1)],
)
def test_auto_keeps_99_percent_of_the_variance(rng, variances, rank):
    X = rng.normal(size=(500, 4))
    X = np.linalg.qr(X - X.mean(axis=0))[0]  # exactly white
    P = X * np.sqrt(variances) @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert fit(P, ZCA(rank="auto")).W.shape == (4, rank)


def test_auto_of_patches_that_never_vary_keeps_all():
    assert fit(np.ones((50, 3)), ZCA(rank="auto")).W.shape == (3, 3)


def test_reduction_and_what_is_left_to_fold_are_the_map(patches, rng):
    for rank in (None, 5):
        white = fit(patches, ZCA(rank=rank))
        P, centred = white(patches[:30]), np.hstack([patches[:30] - white.centre, np.ones((30, 1))])
        D = rng.normal(size=(6, P.shape[1]))
        few = centred @ white.reduction.T if white.is_reduced else centred[:, :-1]
        assert white.reduction.shape == ((5, 13) if rank else (0, 13))
        F, b = white.inner.fold(D)
        np.testing.assert_allclose(few @ F.T + b, P @ D.T, atol=1e-5)


def test_codes_of_few_directions_are_drawn_with_the_others_at_zero(patches):
    white = fit(patches, ZCA(offset=0.1, rank=5))
    V = np.linalg.eigh(np.cov(patches.T, ddof=0))[1][:, -5:]
    P = patches[:20] - white.m
    np.testing.assert_allclose(white.undo(white(patches[:20])), P @ V @ V.T, atol=1e-9)


def test_whitened_patches_of_a_rank_are_shorter_and_do_not_depend_on_threads(patches):
    white, found = fit(patches, ZCA(rank=5)), set()
    for n_jobs in (1, 2, 4):
        with Threads(n_jobs) as engine:
            held = HeldArray(patches.astype(np.float32), engine)
            whiten(held, white)
            found.add(held.array.tobytes())
            assert (held.shape, held.array.dtype) == ((40_000, 5), np.float32)
    assert len(found) == 1


@pytest.mark.parametrize("rank", [0, -3, 2.0, True, "all", "Auto", ""])
def test_a_senseless_rank_is_refused(patches, rank):
    with pytest.raises(ParameterError, match="rank must be a whole number of at least 1, or 'auto'; got"):
        WHITENINGS.check("whitening", ZCA(rank=rank))
    with pytest.raises(ParameterError, match="rank must be a whole number of at least 1, or 'auto'; got"):
        fit(patches, ZCA(rank=rank))


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
