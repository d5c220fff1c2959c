"""Section 4 of the paper, equation by equation: Nyström, reconstruction, projection, PCA."""

import numpy as np
import pytest
from scipy.linalg import pinvh
from sklearn.decomposition import PCA

from poolwise.engine.threads import Threads
from poolwise.method import nystrom
from poolwise.method.selection import UNSUPERVISED
from poolwise.method.selection.choosing import select


@pytest.fixture(params=[1, 7, 30, 59])
def selected(request):
    return np.sort(np.random.default_rng(request.param).choice(60, request.param, replace=False))


def test_eqs_6_8_the_error_is_the_trace_of_what_the_approximation_leaves(C, selected):
    W, C_SS = C[:, selected], C[np.ix_(selected, selected)]
    left = C - W @ pinvh(C_SS) @ W.T
    assert nystrom.approximation_error(C, selected) == pytest.approx(np.trace(left) / np.trace(C), abs=1e-9)


def test_eq_8_is_exact_when_all_codes_are_kept(C):
    everything = np.arange(60)
    A = nystrom.reconstruction(C, everything)
    np.testing.assert_allclose(A @ C @ A.T, C, atol=1e-8)
    assert nystrom.approximation_error(C, everything) == pytest.approx(0, abs=1e-12)


def test_eq_9_the_selected_outputs_reconstruct_themselves(C, selected):
    A = nystrom.reconstruction(C, selected)
    np.testing.assert_allclose(A[selected], np.eye(len(selected)), atol=1e-7)


def test_eq_9_is_the_linear_regression_of_all_outputs_on_the_selected(responses, C, selected):
    least_squares = np.linalg.lstsq(responses[:, selected], responses - responses.mean(0), rcond=None)[0]
    np.testing.assert_allclose(nystrom.reconstruction(C, selected), least_squares.T, atol=1e-4)


def test_eq_10_u_is_orthonormal_and_t_is_lambda_v_of_the_thin_svd(C, selected):
    A, T = nystrom.reconstruction(C, selected), nystrom.nystrom_projection(C, selected).T
    singular_values = np.linalg.svd(A, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(T, axis=1), singular_values, rtol=1e-7)
    np.testing.assert_allclose(T @ T.T, np.diag(singular_values**2), atol=1e-7)  # V has orthonormal rows
    U = A @ np.linalg.inv(T)
    np.testing.assert_allclose(U.T @ U, np.eye(len(selected)), atol=1e-7)
    np.testing.assert_allclose(U @ T, A, atol=1e-7)


def test_eq_10_distances_are_those_of_the_reconstructed_features(responses, C, selected):
    A, T = nystrom.reconstruction(C, selected), nystrom.nystrom_projection(C, selected).T
    x = responses[:50, selected]
    ours, full = x @ T.T, x @ A.T
    distances = [np.linalg.norm(f[:, None] - f[None], axis=2) for f in (ours, full)]
    np.testing.assert_allclose(*distances, atol=1e-7)


def test_eq_10_keeps_dimension_and_rank(responses, C, selected):
    T = nystrom.nystrom_projection(C, selected).T
    assert T.shape == (len(selected), len(selected))
    assert np.linalg.matrix_rank(responses[:, selected] @ T.T) == len(selected)


def test_eq_11_pca_of_all_outputs(responses, C):
    T = nystrom.pca_projection(C, 7).T
    peer = PCA(7).fit(responses)
    np.testing.assert_allclose(np.abs(T), np.abs(peer.components_), atol=1e-6)
    assert nystrom.pca_error(C, nystrom.pca_projection(C, 7).T) == pytest.approx(
        1 - peer.explained_variance_ratio_.sum(), abs=1e-9
    )


@pytest.mark.parametrize("way", UNSUPERVISED)
@pytest.mark.parametrize("K", [1, 5, 20, 59])
def test_no_selection_explains_more_than_pca(C, way, K):
    with Threads(1) as engine:
        selected = select(C, K, way, rng=np.random.default_rng(0), engine=engine).selected
    assert nystrom.approximation_error(C, selected) >= nystrom.pca_error(C, nystrom.pca_projection(C, K).T) - 1e-12


def test_figure_5d_the_approximation_has_k_eigenvalues_none_above_the_true_one(C):
    with Threads(1) as engine:
        selected = select(C, 20, "affinity", rng=np.random.default_rng(0), engine=engine).selected
    true, approximate = nystrom.spectrum(C), nystrom.approximate_spectrum(C, selected)
    assert true.shape == (60,)
    assert approximate.shape == (20,)
    assert (approximate <= true[:20] + 1e-9).all()
    W = C[:, selected]
    whole = np.linalg.eigvalsh(W @ pinvh(W[selected]) @ W.T)[::-1]
    np.testing.assert_allclose(approximate, whole[:20], atol=1e-9)
    assert approximate[0] > 0.95 * true[0]
