"""Largest products, roots of what is pooled, and second order of the local vectors themselves."""

from itertools import pairwise

import numpy as np
import pytest

from poolwise import Axes, Linear, MaxProducts, Pool, SecondOrder, load, save
from poolwise.engine.threads import HeldArray, Threads
from poolwise.method.extraction import PlainPass, prepare
from poolwise.method.pooling.cells import cell_edges

from settings import paper_features

QUICK = {"n_patches": 3000, "random_state": 0}


def test_largest_products_against_a_loop(rng):
    F = rng.normal(size=(7, 5, 4))
    found = MaxProducts(grid=[1, 2])(F)
    cells = [F] + [F[a:b, c:d] for a, b in pairwise(cell_edges(7, 2)) for c, d in pairwise(cell_edges(5, 2))]
    for x, cell in zip(found, cells, strict=True):
        at = 0
        for i in range(4):
            for j in range(i, 4):
                value = max(f[i] * f[j] for f in cell.reshape(-1, 4))
                assert x[at] == pytest.approx(np.sign(value) * np.sqrt(abs(value)))
                at += 1


@pytest.mark.parametrize(
    "pooling", [MaxProducts(2), MaxProducts([1, 2]), Pool("average", 2, root=True), Pool("both", 2, root=True)]
)
def test_a_model_gives_the_formula_and_survives_a_file(photos, tmp_path, pooling):
    model = paper_features(5, 10, pooling=pooling, **QUICK).fit(photos)
    X = model.transform(photos[:5])
    np.testing.assert_allclose(X, model.layer_.features(photos[:5]), atol=2e-3)
    assert len(model.get_feature_names_out()) == X.shape[1]
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").transform(photos[:5]).tobytes() == X.tobytes()


def test_the_root_keeps_the_sign(rng):
    F = rng.normal(size=(4, 4, 3))
    x = Pool("average", 1)(F)
    np.testing.assert_allclose(Pool("average", 1, root=True)(F), np.sign(x) * np.sqrt(np.abs(x)))
    assert (x < 0).any()


def test_axes_are_the_leading_eigenvectors(rng):
    X = (rng.normal(size=(4000, 6)) * [1, 5, 2, 0.1, 3, 0.5]).astype(np.float32)
    with Threads(2) as engine:
        codes = Axes().learn(HeldArray(X, engine), 3, rng=rng).codes
    np.testing.assert_allclose(np.abs(codes), np.eye(6)[[1, 4, 2]], atol=0.05)
    np.testing.assert_allclose(codes @ codes.T, np.eye(3), atol=1e-5)


def test_second_order_of_the_local_vectors_is_their_covariance(photos):
    """All axes of patches that are only contrast-normalised: S in the turned space has the same eigenvalues as in theirs."""
    settings = {"descriptor__size": 3, "whitening": None, "scale": None, **QUICK}
    model = paper_features(27, encoder=Linear(), dictionary="axes", pooling=SecondOrder(1, None)).set_params(**settings)
    layer = model.fit(photos).layer_
    assert isinstance(prepare(layer), PlainPass)
    P = layer.descriptor(photos[:1].astype(float)).reshape(-1, 27)
    S = np.zeros((27, 27))
    S[np.triu_indices(27)] = model.transform(photos[:1])[0]
    S = (S + S.T - np.diag(np.diag(S))) / np.where(np.eye(27), 1, np.sqrt(2))
    np.testing.assert_allclose(np.linalg.eigvalsh(S), np.linalg.eigvalsh(P.T @ P / len(P)), atol=1e-3)


def test_more_axes_than_numbers_are_refused(photos):
    with pytest.raises(ValueError, match=r"n_codes=109 axes of vectors of 108 numbers; give at most 108"):
        paper_features(109, encoder=Linear(), dictionary="axes", **QUICK).fit(photos[:20])
