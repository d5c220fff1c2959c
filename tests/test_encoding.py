import numpy as np
import pytest
from sklearn.cluster import KMeans

from poolwise.encoding import encode, fold_dictionary
from poolwise.whitening import Whitening


@pytest.fixture
def P(rng):
    return rng.normal(size=(20, 6))


@pytest.fixture
def D(rng):
    return rng.normal(size=(5, 6))


def test_threshold_against_a_loop(P, D):
    F = encode(P, D, "threshold", alpha=0.3)
    for i, p in enumerate(P):
        for k, d in enumerate(D):
            assert F[i, k] == pytest.approx(max(0, sum(d * p) - 0.3))


def test_two_sided_threshold_is_the_threshold_of_the_codes_and_their_negatives(P, D):
    np.testing.assert_allclose(encode(P, D, "threshold", 0.3, two_sided=True), encode(P, np.vstack([D, -D]), "threshold", 0.3))


def test_triangle_against_a_loop(P, D):
    F = encode(P, D, "triangle")
    for i, p in enumerate(P):
        z = [np.linalg.norm(p - d) for d in D]
        np.testing.assert_allclose(F[i], [max(0, np.mean(z) - distance) for distance in z], atol=1e-12)


def test_vq_is_scikit_learns_nearest_centre(P, D):
    km = KMeans(len(D), init=D, n_init=1, max_iter=1).fit(D)
    km.cluster_centers_ = D
    np.testing.assert_array_equal(encode(P, D, "vq"), np.eye(len(D))[km.predict(P)])


@pytest.mark.parametrize("K", [5, 64, 320, 321, 1000])
@pytest.mark.parametrize("two_sided", [False, True])
def test_folded_tiles_hold_every_code_once(rng, K, two_sided):
    D, white = rng.normal(size=(K, 4)), Whitening(rng.normal(size=4), rng.normal(size=(4, 4)))
    white = Whitening(white.m, white.W + white.W.T)
    folded = fold_dictionary(D, white, "threshold", 0.25, two_sided)
    ends = np.cumsum(folded.widths) * 5
    tiles = [folded.B[end - 5 * q : end].reshape(5, q) for end, q in zip(ends, folded.widths, strict=True)]
    p = rng.normal(size=4)
    Z = np.concatenate([np.append(p - folded.centre, 1) @ tile for tile in tiles]) - folded.theta
    np.testing.assert_allclose(Z, D @ white.W @ (p - white.m) - 0.25, atol=1e-4)
    assert folded.widths.sum() == K
