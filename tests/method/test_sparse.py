"""OMP and the Lasso against scikit-learn's sparse_encode, and all that follows from a file and a name each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import Lasso as TheirLasso
from sklearn.linear_model import orthogonal_mp_gram

from poolwise import Pool, load, save
from poolwise.method.encoders import LLC, OMP, Lasso
from poolwise.method.extraction import PlainPass, prepare

from settings import paper_features


@pytest.fixture
def P(rng):
    return 2 * rng.normal(size=(60, 12))


@pytest.fixture
def D(rng):
    D = rng.normal(size=(30, 12))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def single(*arrays):
    return [array.astype(np.float32) for array in arrays]


@pytest.mark.parametrize("nonzeros", [1, 2, 5, 12])
def test_omp_against_scikit_learn(P, D, nonzeros):
    expected = sparse_encode(P, D, algorithm="omp", n_nonzero_coefs=nonzeros)
    np.testing.assert_allclose(OMP(nonzeros, two_sided=False)(P, D), expected, atol=1e-9)
    P, D = single(P, D)
    expected = sparse_encode(P.astype(float), D.astype(float), algorithm="omp", n_nonzero_coefs=nonzeros)
    found = OMP(nonzeros, two_sided=False).encode(P, D)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("penalty", [1.0, 3.0])
@pytest.mark.parametrize("positive", [False, True])
def test_lasso_against_scikit_learn(rng, penalty, positive):
    D = rng.normal(size=(60, 40))
    P, D = single(2 * rng.normal(size=(50, 40)), D / np.linalg.norm(D, axis=1, keepdims=True))
    exact = P.astype(float), D.astype(float)
    theirs = TheirLasso(penalty / 40, fit_intercept=False, positive=positive, tol=1e-12, max_iter=1_000_000)  # per number
    expected = theirs.fit(exact[1].T, exact[0].T).coef_
    about = sparse_encode(*exact, algorithm="lasso_cd", alpha=penalty, positive=positive, max_iter=20_000)
    encoder, scale = Lasso(penalty, positive, two_sided=False), np.abs(expected).max()
    np.testing.assert_allclose(encoder(*exact), expected, atol=1e-5 * scale)
    np.testing.assert_allclose(encoder.encode(P, D), expected, atol=1e-5 * scale)
    np.testing.assert_allclose(about, expected, atol=0.02 * scale)  # it stops at a gap of 1e-4


@pytest.mark.parametrize("positive", [False, True])
def test_lasso_meets_the_conditions_of_its_optimum(P, D, positive):
    """d_k·(p - D f) = λ sign(f_k) where a code has a weight, and is no more than λ elsewhere."""
    P, D = single(P, D)
    F = Lasso(0.5, positive, two_sided=False).encode(P, D).astype(float)
    left = (P - F @ D) @ D.T.astype(float)
    np.testing.assert_allclose(left[F != 0], 0.5 * np.sign(F[F != 0]), atol=1e-4)
    rest = left[F == 0] if positive else np.abs(left[F == 0])
    assert rest.max() <= 0.5 + 1e-4
    assert 0 < (F != 0).mean() < 0.5


@given(seed=st.integers(0, 2**16), nonzeros=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_what_omp_leaves_is_orthogonal_to_the_codes_taken(seed, nonzeros):
    rng = np.random.default_rng(seed)
    P, D = single(rng.normal(size=(10, 6)), rng.normal(size=(15, 6)))  # lengths of all kinds
    F = OMP(nonzeros, two_sided=False).encode(P, D).astype(float)
    left = P - F @ D
    cosines = (left @ D.T) / np.linalg.norm(D, axis=1)
    assert np.abs(cosines[F != 0]).max() < 1e-4
    assert ((F != 0).sum(axis=1) <= nonzeros).all()


def test_omp_takes_codes_by_their_direction_not_their_length(rng):
    D = np.eye(3) * [1.0, 100.0, 0.01]
    F = OMP(1, two_sided=False).encode(*single(np.array([[0.0, 1.0, 2.0]]), D))
    np.testing.assert_allclose(F, [[0, 0, 200]], rtol=1e-5)


def test_omp_ends_early_where_fewer_codes_make_up_the_patch(D):
    patch = 2 * D[:1] - 3 * D[4:5]
    D = np.vstack([D, D[4:5]])  # one code twice
    for F in (OMP(6, two_sided=False)(patch, D), OMP(6, two_sided=False).encode(*single(patch, D))):
        np.testing.assert_allclose(F @ D, patch, atol=1e-5)
        assert np.isfinite(F).all()
    assert orthogonal_mp_gram(D[:30] @ D[:30].T, D[:30] @ patch[0], n_nonzero_coefs=2) == pytest.approx(
        OMP(2, two_sided=False)(patch, D[:30])[0]
    )


@pytest.mark.parametrize("encoder", [OMP(3), Lasso(0.5), LLC(3, two_sided=True), Lasso(0.5, positive=True)])
def test_sides_are_the_positive_and_the_negative_part(P, D, encoder):
    P, D = single(P, D)
    both, signed = encoder.encode(P, D), encoder.but(two_sided=False).encode(P, D)
    if encoder.sides == 1:
        np.testing.assert_array_equal(both, signed)
        return
    assert (both >= 0).all()
    np.testing.assert_array_equal(both[:, :30] - both[:, 30:], signed)
    assert encoder.side_names == ("_pos", "_neg")


@pytest.mark.parametrize("encoder", [OMP(3, two_sided=False), Lasso(0.5, two_sided=False)])
def test_nothing_gives_nothing(D, encoder):
    nothing = np.zeros((2, 12))
    dead = np.vstack([D, np.zeros((1, 12))])  # a code without a direction
    for F in (encoder(nothing, dead), encoder.encode(*single(nothing, dead))):
        np.testing.assert_array_equal(F, 0)
    F = encoder.encode(*single(np.ones((1, 12)), dead))
    assert np.isfinite(F).all()
    assert F[0, -1] == 0


@pytest.mark.parametrize("encoder", [OMP(3), Lasso(0.7), Lasso(0.7, positive=True), OMP(2, two_sided=False)])
@pytest.mark.parametrize("how", ["average", "max"])
def test_a_model_learns_uses_the_plain_pass_and_survives_a_file(photos, tmp_path, encoder, how):
    settings = {"n_patches": 3000, "random_state": 0, "dictionary__max_iter": 3}
    model = paper_features(10, 20, encoder=encoder, pooling=Pool(how, grid=2)).set_params(**settings).fit(photos)
    assert isinstance(prepare(model.layer_), PlainPass)
    X = model.transform(photos[:5])
    assert X.shape == (5, 10 * encoder.sides * 4)
    np.testing.assert_allclose(X, model.layer_.features(photos[:5]), atol=2e-3)
    assert X.tobytes() == model.set_params(n_jobs=2).transform(photos[:5]).tobytes()
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.encoder == encoder
    assert again.transform(photos[:5]).tobytes() == X.tobytes()


def test_more_nonzeros_than_numbers_are_refused_with_the_remedy(photos):
    with pytest.raises(ValueError, match=r"OMP\(nonzeros=109\) codes cannot .* patches of 108 numbers; give at most 108"):
        paper_features(4, encoder=OMP(109), n_patches=500).fit(photos[:9])


@pytest.mark.parametrize(
    "bad", [OMP(0), OMP(1.5), Lasso(0.0), Lasso(-1.0), Lasso(np.nan), Lasso(positive=1), OMP(two_sided="no")]
)
def test_values_without_a_meaning(photos, bad):
    with pytest.raises(ValueError, match="must be"):
        paper_features(4, encoder=bad, n_patches=500).fit(photos[:9])
