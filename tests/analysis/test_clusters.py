"""Correlations and orders against np.corrcoef and plain loops."""

import itertools

import numpy as np
import pytest

from poolwise.analysis.clusters import (
    Sums,
    correlations_after,
    correlations_before,
    order_of_candidates,
    order_of_codes,
    similarity_picture,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 12)) @ rng.normal(size=(12, 12))


CLUSTER = np.array([0, 0, 5, 5, 9, 5, 0, 9, 9, 9, 0, 5])
SELECTED = np.array([0, 5, 9])


def test_after_pooling_is_corrcoef(X):
    R = np.corrcoef(X.T)
    np.testing.assert_allclose(correlations_after(np.cov(X.T), CLUSTER), R[np.arange(12), CLUSTER])


def test_a_code_has_a_correlation_of_exactly_one_with_itself(C):
    assert (correlations_after(C, np.arange(len(C))) == 1).all()


def test_before_pooling_is_corrcoef_however_the_patches_are_split(X):
    R = np.corrcoef(X.T)[np.arange(12), CLUSTER]
    for blocks in ([X], [X[:7], X[7:250], X[250:]]):
        np.testing.assert_allclose(correlations_before([Sums.of(block, CLUSTER) for block in blocks], CLUSTER), R, atol=1e-12)


def test_two_sides_count_as_two_samples_about_their_own_means(rng):
    X = rng.normal(size=(200, 8))
    cluster = np.array([0, 0, 0, 3])
    C = np.cov(X.T, ddof=0)
    both = C[:4, :4] + C[4:, 4:]
    scale = np.sqrt(np.diagonal(both))
    expected = (both / scale[:, None] / scale)[np.arange(4), cluster]
    np.testing.assert_allclose(correlations_after(C, cluster), expected)
    np.testing.assert_allclose(
        correlations_before([Sums.of(X[:90], cluster, 2), Sums.of(X[90:], cluster, 2)], cluster), expected, atol=1e-12
    )


def test_codes_that_never_vary_have_no_correlation():
    cluster = np.array([0, 0, 0])
    assert correlations_after(np.diag([1.0, 0.0, 2.0]), cluster).tolist() == [1, 0, 0]
    block = np.array([[1.0, 3.0, 0.0], [2.0, 3.0, 0.0]])
    assert correlations_before([Sums.of(block, cluster)], cluster).tolist() == [pytest.approx(1), 0, 0]


def test_no_patches_are_an_error():
    with pytest.raises(ValueError, match="no patches"):
        correlations_before([], CLUSTER)


def test_orders_are_permutations_and_keep_clusters_together(X):
    C = np.cov(X.T)
    order = order_of_codes(C, 12, SELECTED)
    assert sorted(order) == [0, 1, 2]
    closeness = correlations_after(C, CLUSTER)
    candidates = order_of_candidates(order, SELECTED, CLUSTER, closeness)
    expected = []
    for rank in order:
        code = SELECTED[rank]
        others = [i for i in range(12) if CLUSTER[i] == code and i != code]
        expected += [code, *sorted(others, key=lambda i: -closeness[i])]
    assert candidates.tolist() == expected


def test_neighbours_in_the_order_are_alike(rng):
    angle = rng.permutation(np.linspace(0, 2 * np.pi, 40, endpoint=False))
    waves = np.stack([np.cos(angle), np.sin(angle)])  # codes on a circle: neighbours respond alike
    C = waves.T @ waves
    order = order_of_codes(C, 40, np.arange(40))
    steps = [C[a, b] for a, b in itertools.pairwise(order)]
    assert min(steps) == pytest.approx(np.cos(2 * np.pi / 40), abs=1e-9)


def test_the_picture_is_the_mean_of_its_pairs(X, rng):
    R, order = np.corrcoef(X.T), rng.permutation(12)
    whole = similarity_picture(np.cov(X.T), 12, order, 100)
    np.testing.assert_allclose(whole, R[np.ix_(order, order)], atol=1e-6)
    small = similarity_picture(np.cov(X.T), 12, order, 5)
    edges = np.linspace(0, 12, 6).astype(int)
    for i in range(5):
        for j in range(5):
            block = R[np.ix_(order[edges[i] : edges[i + 1]], order[edges[j] : edges[j + 1]])]
            assert small[i, j] == pytest.approx(block.mean(), abs=1e-6)
