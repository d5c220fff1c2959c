"""LLC against its linear system, solved patch by patch, and all that follows from one file and one name."""

import numpy as np
import pytest

from poolwise import KMeans, Pool, load, save
from poolwise.method.encoders import LLC
from poolwise.method.extraction import PlainPass, prepare

from settings import paper_features


def naive(p, D, neighbours, regularizer):
    """Wang and others 2010, section 3: the analytical solution for one patch."""
    nearest = sorted(range(len(D)), key=lambda k: (float(((p - D[k]) ** 2).sum()), k))[:neighbours]
    shifted = np.array([D[k] - p for k in nearest])
    C = shifted @ shifted.T
    C += np.eye(len(nearest)) * regularizer * np.trace(C)
    w = np.linalg.inv(C) @ np.ones(len(nearest))
    f = np.zeros(len(D))
    f[nearest] = w / w.sum()
    return f


@pytest.mark.parametrize("neighbours", [1, 2, 5, 12])
@pytest.mark.parametrize("regularizer", [1e-4, 0.1])
def test_formula_and_loop_solve_the_system_of_every_patch(rng, neighbours, regularizer):
    P, D = rng.normal(size=(40, 9)), rng.normal(size=(12, 9))
    encoder = LLC(neighbours, regularizer)
    expected = np.array([naive(p, D, neighbours, regularizer) for p in P])
    np.testing.assert_allclose(encoder(P, D), expected, atol=1e-9)
    found = encoder.encode(P.astype(np.float32), D.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_weights_sum_to_one_over_no_more_codes_than_asked_for(rng):
    F = LLC(5).encode(rng.normal(size=(100, 8)).astype(np.float32), rng.normal(size=(30, 8)).astype(np.float32))
    np.testing.assert_allclose(F.sum(axis=1), 1, atol=1e-5)
    assert ((F != 0).sum(axis=1) == 5).all()
    assert (F < 0).any()


def test_fewer_codes_than_neighbours(rng):
    P, D = rng.normal(size=(7, 4)), rng.normal(size=(3, 4))
    np.testing.assert_array_equal(LLC(9)(P, D), LLC(3)(P, D))
    P, D = P.astype(np.float32), D.astype(np.float32)
    np.testing.assert_array_equal(LLC(9).encode(P, D), LLC(3).encode(P, D))


def test_a_patch_that_is_a_code_and_codes_that_are_all_alike():
    D = np.eye(4, dtype=np.float32)
    np.testing.assert_allclose(LLC(3).encode(D[:1], D)[0], [1, 0, 0, 0], atol=1e-3)
    alike = np.ones((4, 2), np.float32)
    for F in (LLC(4).encode(alike[:1], alike), LLC(4)(alike[:1].astype(float), alike.astype(float))):
        np.testing.assert_allclose(F, 0.25)


def test_a_model_learns_uses_the_plain_pass_and_survives_a_file(photos, tmp_path):
    settings = {"dictionary": KMeans("centroids", max_iter=3), "n_patches": 3000, "random_state": 0}
    model = paper_features(12, 24, encoder=LLC(neighbours=3), pooling=Pool("max", grid=3), **settings).fit(photos)
    assert isinstance(prepare(model.layer_), PlainPass)
    X = model.transform(photos[:5])
    np.testing.assert_allclose(X, model.layer_.features(photos[:5]), atol=2e-3)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.encoder == LLC(neighbours=3)
    assert again.transform(photos[:5]).tobytes() == X.tobytes()
    with pytest.raises(ValueError, match="depend on all codes together"):
        model.reselect(n_codes=6)


@pytest.mark.parametrize("bad", [LLC(0), LLC(2.5), LLC(regularizer=0.0), LLC(regularizer=-1)])
def test_values_without_a_meaning(photos, bad):
    with pytest.raises(ValueError, match="must be"):
        paper_features(4, encoder=bad, n_patches=500).fit(photos[:9])
