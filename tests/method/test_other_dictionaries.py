"""Online dictionary learning and convolutional K-means: against scikit-learn, spherical K-means and a naive round."""

import numpy as np
import pytest
from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode

from poolwise import ConvolutionalKMeans, KMeans, OnlineDictionary, load, save
from poolwise.engine.threads import HeldArray, Threads
from poolwise.method.descriptors import Hog, Patches
from poolwise.method.dictionaries.base import unit

from settings import paper_features


@pytest.fixture
def engine():
    with Threads(2) as engine:
        yield engine


def lasso_objective(X, D):
    F = sparse_encode(X, D, algorithm="lasso_cd", alpha=0.5, max_iter=5000)
    return float((0.5 * ((X - F @ D) ** 2).sum(axis=1) + 0.5 * np.abs(F).sum(axis=1)).mean())


def test_online_learning_does_what_scikit_learn_does_and_lowers_the_objective(rng, engine):
    true = unit(rng.normal(size=(12, 10)))
    X = (rng.laplace(size=(2000, 12)) * (rng.random((2000, 12)) < 0.2) @ true).astype(np.float32)
    held, K = HeldArray(X.copy(), engine), 12
    found = OnlineDictionary(sparsity=0.5, batch=64, max_iter=60).learn(held, K, rng=np.random.default_rng(0))
    start = OnlineDictionary(sparsity=0.5, batch=64, max_iter=1).learn(held, K, rng=np.random.default_rng(0))
    theirs = MiniBatchDictionaryLearning(K, alpha=0.5, batch_size=64, max_iter=3, fit_algorithm="cd", random_state=0).fit(X)
    held_out = X[:300].astype(float)
    ours = lasso_objective(held_out, found.codes.astype(float))
    assert ours < 0.95 * lasso_objective(held_out, start.codes.astype(float))
    assert ours < 1.1 * lasso_objective(held_out, unit(theirs.components_))
    np.testing.assert_allclose(np.linalg.norm(found.codes, axis=1), 1, rtol=1e-5)


def test_convolutional_kmeans_of_one_shift_is_spherical_kmeans(rng, engine):
    X = rng.normal(size=(3000, 9)).astype(np.float32)
    one = ConvolutionalKMeans(shifts=1, max_iter=6, tol=0).learn(HeldArray(X.copy(), engine), 7, rng=np.random.default_rng(3))
    other = KMeans("spherical", max_iter=6, tol=0).learn(HeldArray(X.copy(), engine), 7, rng=np.random.default_rng(3))
    np.testing.assert_allclose(one.codes, other.codes, atol=1e-4)


def test_a_round_against_a_naive_one(rng, engine):
    X, D = rng.normal(size=(40 * 4, 5)).astype(np.float32), None
    found = ConvolutionalKMeans(shifts=2, max_iter=1, tol=0).learn(HeldArray(X.copy(), engine), 3, rng=np.random.default_rng(5))
    from poolwise.method.dictionaries.base import distinct_patches

    D = unit(distinct_patches(HeldArray(X.copy(), engine), 3, np.random.default_rng(5)))
    sums = np.zeros((3, 5))
    for group in X.reshape(40, 4, 5):
        s, k = max(((s, k) for s in range(4) for k in range(3)), key=lambda at: float(D[at[1]] @ group[at[0]]))
        sums[k] += group[s]
    np.testing.assert_allclose(found.codes, unit(sums), atol=1e-5)


def test_shifted_copies_of_a_pattern_are_one_code(engine):
    """Stripes at all phases: K-means needs a code for each, convolutional K-means two for both directions."""
    rng = np.random.default_rng(0)
    phase = rng.integers(4, size=200)
    stripes = np.where((np.arange(12)[None, None] + phase[:, None, None]) % 4 < 2, 200, 50) * np.ones((1, 12, 1))
    images = np.where(rng.random(200)[:, None, None] < 0.5, stripes, stripes.transpose(0, 2, 1))[..., None].astype(np.uint8)
    shifts = 4
    X = Patches(4).sample_groups(images, 500, shifts, rng=rng, engine=engine)
    assert X.shape == (500 * shifts**2, 16)
    found = ConvolutionalKMeans(shifts=shifts, max_iter=20).learn(X, 2, rng=rng)
    best = (X.take(np.arange(X.shape[0])) @ found.codes.T).reshape(500, -1).max(axis=1)
    whole = np.linalg.norm(X.take(np.arange(X.shape[0])), axis=1).reshape(500, -1).max(axis=1)
    np.testing.assert_allclose(best, whole, rtol=1e-3)  # every group has a patch that is a code


@pytest.mark.parametrize("descriptor", [Patches(3, stride=2), Hog(cell=2)])
def test_groups_are_neighbours(photos, engine, descriptor):
    X = descriptor.sample_groups(photos[:3], 40, 2, rng=np.random.default_rng(0), engine=engine).take(np.arange(160))
    dense = descriptor.but(stride=1)
    every = dense(photos[:3].astype(float))
    rng, (height, width) = np.random.default_rng(0), dense.window(2, 2)
    image, y, x = rng.integers(3, size=40), rng.integers(33 - height, size=40), rng.integers(33 - width, size=40)
    for i in range(40):
        here = every[image[i], y[i] : y[i] + 2, x[i] : x[i] + 2].reshape(4, -1)
        np.testing.assert_allclose(X[4 * i : 4 * i + 4], here, atol=2e-3)


@pytest.mark.parametrize("dictionary", [OnlineDictionary(max_iter=4), ConvolutionalKMeans(max_iter=3)])
def test_a_model_learns_and_survives_a_file(photos, tmp_path, dictionary):
    model = paper_features(8, 16, dictionary=dictionary, n_patches=3000, random_state=0).fit(photos)
    X = model.transform(photos[:5])
    again = paper_features(8, 16, dictionary=dictionary, n_patches=3000, random_state=0, n_jobs=2).fit(photos)
    assert X.tobytes() == again.transform(photos[:5]).tobytes()
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").dictionary == dictionary
    assert load(tmp_path / "m.safetensors").transform(photos[:5]).tobytes() == X.tobytes()


def test_neighbours_that_do_not_fit_are_refused(photos):
    with pytest.raises(ValueError, match="give fewer shifts"):
        paper_features(4, dictionary=ConvolutionalKMeans(shifts=30), n_patches=2000).fit(photos[:9])


@pytest.mark.parametrize(
    "bad", [OnlineDictionary(0.0), OnlineDictionary(batch=0), ConvolutionalKMeans(0), ConvolutionalKMeans(tol=-1)]
)
def test_values_without_a_meaning(photos, bad):
    with pytest.raises(ValueError, match="must be"):
        paper_features(4, dictionary=bad, n_patches=500).fit(photos[:9])
