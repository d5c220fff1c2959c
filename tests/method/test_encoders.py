import numpy as np
import pytest
from sklearn.cluster import KMeans

from poolwise.method.descriptors import Patches
from poolwise.method.encoders import ENCODERS, Nearest, Threshold, Triangle
from poolwise.method.extraction.fused import fold_dictionary
from poolwise.method.whitening import Whitening
from poolwise.support.parameters import ParameterError


@pytest.fixture
def P(rng):
    return rng.normal(size=(20, 6))


@pytest.fixture
def D(rng):
    return rng.normal(size=(5, 6))


def test_threshold_against_a_loop(P, D):
    F = Threshold(alpha=0.3, two_sided=False)(P, D)
    for i, p in enumerate(P):
        for k, d in enumerate(D):
            assert F[i, k] == pytest.approx(max(0, sum(d * p) - 0.3))


def test_two_sided_threshold_is_the_threshold_of_the_codes_and_their_negatives(P, D):
    np.testing.assert_allclose(Threshold(0.3, two_sided=True)(P, D), Threshold(0.3, two_sided=False)(P, np.vstack([D, -D])))


@pytest.mark.parametrize("two_sided", [False, True])
def test_several_thresholds_against_a_loop(P, D, two_sided):
    F = Threshold(alpha=(1.0, 0.0, 0.25), two_sided=two_sided)(P, D)
    for i, p in enumerate(P):
        expected = []
        for alpha in (0.0, 0.25, 1.0):  # ascending, each with its sides
            expected += [max(0, d @ p - alpha) for d in D]
            expected += [max(0, -d @ p - alpha) for d in D] * two_sided
        np.testing.assert_allclose(F[i], expected, atol=1e-12)


def test_one_threshold_in_a_tuple_is_that_threshold(P, D):
    assert (Threshold((0.5,), two_sided=False).sides, Threshold((0.5,), two_sided=False).side_names) == (1, ("",))
    np.testing.assert_array_equal(Threshold((0.5,), two_sided=False)(P, D), Threshold(0.5, two_sided=False)(P, D))
    np.testing.assert_array_equal(Threshold([2, 1], two_sided=False)(P, D), Threshold((1.0, 2.0), two_sided=False)(P, D))


def test_the_sides_of_several_thresholds_have_names():
    assert Threshold((0.25, 1.0), two_sided=False).side_names == ("_above0.25", "_above1")
    assert Threshold((1, 0.25), True).side_names == ("_pos_above0.25", "_neg_above0.25", "_pos_above1", "_neg_above1")
    assert Threshold((1, 0.25), True).sides == 4


@pytest.mark.parametrize(
    "alpha", [(), (0.1, 0.1), (0.1, -1), (0.1, np.nan), (0.1, "1"), ((0.1,),), tuple(range(17)), "0.1,1", None, -0.1, True]
)
def test_senseless_thresholds_are_refused(alpha):
    with pytest.raises(ParameterError, match="alpha must be a"):
        ENCODERS.check("encoder", Threshold(alpha, two_sided=False))


def test_triangle_against_a_loop(P, D):
    F = Triangle()(P, D)
    for i, p in enumerate(P):
        z = [np.linalg.norm(p - d) for d in D]
        np.testing.assert_allclose(F[i], [max(0, np.mean(z) - distance) for distance in z], atol=1e-12)


def test_nearest_is_scikit_learns_nearest_centre(P, D):
    km = KMeans(len(D), init=D, n_init=1, max_iter=1).fit(D)
    km.cluster_centers_ = D
    np.testing.assert_array_equal(Nearest()(P, D), np.eye(len(D))[km.predict(P)])


def test_nearest_takes_the_first_of_equals(D):
    np.testing.assert_array_equal(Nearest()(D[:1], D[[0, 0, 1]]), [[1, 0, 0]])


def test_activations_come_side_by_side(P, D, encoder):
    assert encoder(P, D).shape == (20, encoder.sides * 5)


def test_the_float32_form_is_the_formula(P, D, encoder):
    F = encoder.encode(P.astype(np.float32), D.astype(np.float32))
    assert F.dtype == np.float32
    np.testing.assert_allclose(F, encoder(P, D), atol=1e-5)


def test_each_patch_is_encoded_for_itself(P, D, encoder):
    np.testing.assert_allclose(np.vstack([encoder(p[None], D) for p in P]), encoder(P, D), atol=1e-12)


def test_only_a_coupled_encoder_notices_which_other_codes_there_are(P, D, encoder):
    whole = encoder(P, D).reshape(20, encoder.sides, 5)
    alone = encoder(P, D[:2]).reshape(20, encoder.sides, 2)
    assert np.allclose(whole[:, :, :2], alone) != encoder.coupled


def test_only_a_signed_encoder_is_negative(P, D, encoder):
    assert (encoder(P, D) < 0).any() == encoder.signed


@pytest.mark.parametrize("K", [5, 64, 320, 321, 1000])
@pytest.mark.parametrize(
    "encoder",
    [Threshold(0.25, two_sided=False), Threshold(0.25, two_sided=True), Threshold((0.1, 0.7), two_sided=True)],
    ids=repr,
)
def test_folded_tiles_hold_every_code_once(rng, make_layer, K, encoder):
    layer = make_layer(rng, K, shape=(2, 2, 1), descriptor=Patches(2), encoder=encoder)
    folded, _ = fold_dictionary(layer, layer.encoder.fused(layer.codes, layer.whitening))
    d, white = layer.codes.shape[1], layer.whitening
    ends = np.cumsum(folded.widths) * (d + 1)
    tiles = [folded.B[end - (d + 1) * q : end].reshape(d + 1, q) for end, q in zip(ends, folded.widths, strict=True)]
    p = rng.normal(size=d)
    Z = np.concatenate([np.append(p - folded.centre, 1) @ tile for tile in tiles])
    F = np.maximum(0, folded.signs[:, None] * Z - folded.thetas[:, None]).ravel()
    np.testing.assert_allclose(F, encoder(white(p[None]), layer.codes)[0], atol=1e-4)
    assert folded.widths.sum() == K


def test_the_fused_form_of_a_code_is_one_product(rng, P, D, encoder):
    white = Whitening(rng.normal(size=6), np.diag(rng.uniform(0.5, 2, size=6)))
    folded = encoder.fused(D, white)
    if folded is None:  # the plain pass computes it
        return
    Z = (P - white.centre) @ folded.F.T + folded.b
    W = white(P)
    if folded.activation == "threshold":
        sides = [np.maximum(0, s * Z - theta) for s, theta in zip(folded.signs, folded.thetas, strict=True)]
        np.testing.assert_allclose(np.hstack(sides), encoder(W, D), atol=1e-12)
        return
    assert folded.together
    np.testing.assert_allclose(-2 * Z[:, :5] + (W**2).sum(axis=1)[:, None], ((W[:, None] - D) ** 2).sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(Z[:, 5:], W[:, : Z.shape[1] - 5], atol=1e-12)  # triangle: the whitened patch itself


@pytest.mark.parametrize("word", ["vq", "typo", "", None, 3, Threshold])
def test_an_unknown_encoder_is_refused(word):
    with pytest.raises(ParameterError, match="encoder must be one of 'auto', 'threshold', 'triangle', 'nearest'"):
        ENCODERS.check("encoder", word)
