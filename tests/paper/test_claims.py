"""What the paper says of the method, on real images: the embedded photographs."""

import numpy as np
import pytest

from poolwise import KMeans
from poolwise.method.nystrom import approximation_error

from settings import paper_features


@pytest.fixture(scope="module")
def model(photos):
    return paper_features(16, 128, n_patches=20_000, dictionary=KMeans(max_iter=20), random_state=0).fit(photos)


@pytest.fixture(scope="module")
def pooled(model):
    std = np.sqrt(np.diagonal(model.covariance_))
    return model.covariance_ / np.outer(std, std)


def same_cluster(model):
    same = model.cluster_[:, None] == model.cluster_
    return same & ~np.eye(len(same), dtype=bool)


def test_codes_of_one_cluster_correlate_after_pooling_and_much_less_before(model, pooled, photos, rng, engine):
    layer = model.candidates_.layer
    F = layer.activations(layer.descriptor.sample(photos, 20_000, rng=rng, engine=engine).array)
    before = np.corrcoef(F.T)[same_cluster(model)].mean()
    after = pooled[same_cluster(model)].mean()
    assert after > 0.6
    assert before < after - 0.3


def test_exemplars_correlate_less_than_the_codes_of_one_cluster(model, pooled):
    chosen = pooled[np.ix_(model.selected_, model.selected_)]
    assert chosen[~np.eye(16, dtype=bool)].mean() < pooled[same_cluster(model)].mean() - 0.2


def test_clustering_approximates_the_covariance_better_than_random_codes(model):
    C = model.covariance_
    random = [np.random.default_rng(seed).choice(128, 16, replace=False) for seed in range(20)]
    assert approximation_error(C, model.selected_) < np.mean([approximation_error(C, s) for s in random])


def test_only_the_selected_codes_are_computed_and_pca_computes_all(model, photos):
    assert model.codes_.shape == (16, 108)
    np.testing.assert_array_equal(model.codes_, model.candidates_.codes[model.selected_])
    bound = model.reselect(projection="pca")
    assert bound.codes_.shape == (128, 108)
    assert bound.transform(photos[:2]).shape == model.transform(photos[:2]).shape == (2, 64)
