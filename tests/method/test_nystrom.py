import numpy as np
import pytest

from poolwise.method import nystrom


def test_codes_that_pool_exactly_alike_do_no_harm(rng):
    X = rng.normal(size=(100, 8))
    C = np.cov(np.hstack([X, X]).T)
    selected = np.array([0, 1, 2, 8, 9])  # 0 and 8, 1 and 9 are the same code: C_SS is singular
    assert nystrom.approximation_error(C, selected) == pytest.approx(nystrom.approximation_error(C, selected[:3]), abs=1e-9)
    A, T = nystrom.reconstruction(C, selected), nystrom.nystrom_projection(C, selected).T
    assert np.abs(A).max() < 2
    assert np.isfinite(T).all()
    x = np.hstack([X, X])[:20, selected]
    np.testing.assert_allclose(np.linalg.norm(x @ T.T, axis=1), np.linalg.norm(x @ A.T, axis=1), rtol=1e-6)


def test_selected_codes_without_variance_do_no_harm():
    C = np.diag([1.0, 0.0, 2.0, 0.0])
    assert nystrom.approximation_error(C, np.array([1, 2])) == pytest.approx(1 / 3)
    np.testing.assert_allclose(nystrom.nystrom_projection(C, np.array([1, 2])).T, [[0, 1], [0, 0]], atol=1e-12)
    zero = np.zeros((3, 3))
    assert nystrom.approximation_error(zero, np.array([0])) == nystrom.pca_error(zero, nystrom.pca_projection(zero, 1).T) == 0
    assert np.isfinite(nystrom.nystrom_projection(zero, np.array([0, 1])).T).all()


def test_near_singular_covariances_stay_within_rounding(rng):
    X = rng.normal(size=(500, 20))
    X = np.hstack([X, X + 1e-2 * rng.normal(size=X.shape)])
    C = np.cov(X.T)
    everything = np.arange(40)
    A = nystrom.reconstruction(C, everything)
    np.testing.assert_allclose(A, np.eye(40), atol=1e-5)
    assert nystrom.approximation_error(C, everything) == pytest.approx(0, abs=1e-10)


def test_projections_have_one_sign_and_a_kind(C):
    kinds = []
    for projection in (nystrom.nystrom_projection(C, np.arange(9)), nystrom.pca_projection(C, 9)):
        T = projection.T
        kinds.append(projection.kind)
        assert (T[np.arange(9), np.abs(T).argmax(axis=1)] > 0).all()
    assert kinds == ["nystrom", "pca"]


def test_pca_of_everything_is_a_rotation(C):
    T = nystrom.pca_projection(C, 60).T
    np.testing.assert_allclose(T @ T.T, np.eye(60), atol=1e-9)
    assert nystrom.pca_error(C, nystrom.pca_projection(C, 60).T) == pytest.approx(0, abs=1e-12)


def test_the_spectrum_sums_to_the_trace(C):
    assert nystrom.spectrum(C).sum() == pytest.approx(np.trace(C))
    assert (np.diff(nystrom.spectrum(C)) <= 0).all()


@pytest.mark.parametrize(("M", "K"), [(5, 3), (200, 200), (300, 40)])
@pytest.mark.parametrize("split", [1, 7, 16, 64, 100])
def test_projection_however_rows_are_split(rng, M, K, split):
    """To the bit in whole panels of 16 rows; else a row's place in its panel may change its rounding, on some CPUs."""
    X, right = rng.normal(size=(150, M)).astype(np.float32), rng.normal(size=(M, K)).astype(np.float32)
    project = nystrom.Projection("nystrom", right.T.astype(np.float64))
    whole = project(X)
    assert whole.dtype == np.float32
    np.testing.assert_allclose(whole, X.astype(np.float64) @ right, atol=1e-3)
    parts = np.concatenate([project(X[i : i + split]) for i in range(0, 150, split)])
    np.testing.assert_allclose(parts, whole, rtol=0, atol=2e-6 * np.abs(whole).max())
    assert split % 16 or parts.tobytes() == whole.tobytes()
    assert project(X[:0]).shape == (0, K)


def test_the_leading_spectrum_is_that_of_eigvalsh(C, rng, engine):
    exact = np.linalg.eigvalsh(C)[::-1]
    every = nystrom.leading_spectrum(C, 60, rng=rng, engine=engine)
    np.testing.assert_allclose(every, exact, rtol=1e-3, atol=1e-5 * exact[0])
    np.testing.assert_allclose(nystrom.leading_spectrum(C, 8, rng=rng, engine=engine), exact[:8], rtol=1e-3)
    U = np.linalg.qr(rng.normal(size=(700, 700)))[0]
    slow = (U * np.arange(1, 701) ** -1.2) @ U.T  # decays as slowly as those of real codes; more rows than a block
    np.testing.assert_allclose(
        nystrom.leading_spectrum(slow, 100, rng=rng, engine=engine), np.arange(1, 101) ** -1.2, rtol=0.05
    )


def test_the_leading_spectrum_of_nothing_is_zeros(rng, engine):
    assert nystrom.leading_spectrum(np.zeros((5, 5)), 9, rng=rng, engine=engine).tolist() == [0] * 5
