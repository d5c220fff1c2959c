"""Section 3.1 of the paper, equation by equation: similarity, messages, exemplars."""

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation

from poolwise.method.selection.affinity import Messages, find_exemplars, propagate
from poolwise.method.selection.choosing import nearest_exemplar, similarity


@pytest.fixture
def S(C):
    """Similarity without ties: where s(i, j) = s(j, i), either may represent the other and nobody can say which is right."""
    S = similarity(C)
    S -= np.random.default_rng(0).uniform(0, 0.05, S.shape).astype(np.float32)
    np.fill_diagonal(S, 0)
    return S


def plain_round(S, A, R, damping):
    """Eqs. 2, 3 and 4 as they are printed, one element at a time."""
    M = len(S)
    R_new, A_new = np.empty_like(R), np.empty_like(A)
    for i in range(M):
        for k in range(M):
            R_new[i, k] = S[i, k] - max(A[i, j] + S[i, j] for j in range(M) if j != k)
    R = damping * R + (1 - damping) * R_new
    for i in range(M):
        for k in range(M):
            if i != k:
                A_new[i, k] = min(0, R[k, k] + sum(max(0, R[j, k]) for j in range(M) if j not in (i, k)))
            else:
                A_new[k, k] = sum(max(0, R[j, k]) for j in range(M) if j != k)
    return damping * A + (1 - damping) * A_new, R


def test_eq_1_similarity_is_minus_the_mean_squared_distance_of_standardised_outputs(responses, C):
    scaled = responses * np.random.default_rng(0).uniform(0.1, 10, 60)  # s does not depend on the scale of an output
    Z = (scaled - scaled.mean(0)) / scaled.std(0)
    distance = ((Z[:, :, None] - Z[:, None, :]) ** 2).mean(axis=0)
    np.testing.assert_allclose(similarity(np.cov(scaled.T, ddof=0)), -distance, atol=1e-5)
    np.testing.assert_allclose(similarity(C), -distance, atol=1e-5)


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("preference", [-0.1, -1.0, -10.0])
def test_eqs_2_3_4_messages_against_the_printed_loops(S, engine, damping, preference):
    S = S[:25, :25].copy()
    messages = Messages(S.copy(), engine, damping)
    np.fill_diagonal(messages.S, preference)
    np.fill_diagonal(S, preference)
    S = S.astype(np.float64)
    A, R = np.zeros_like(S), np.zeros_like(S)
    for _ in range(8):
        messages.round()
        before = A
        A, R = plain_round(S, A, R, damping)
        np.testing.assert_allclose(messages.R, R, atol=1e-4)
        np.testing.assert_allclose(messages.A, before, atol=1e-4)  # availabilities are made at the start of the next pass
        evidence = np.diagonal(A) + np.diagonal(R)
        clear = np.abs(evidence) > 1e-4
        np.testing.assert_array_equal(messages.is_exemplar[clear], evidence[clear] > 0)


@pytest.mark.parametrize("preference", [-0.2, -0.5, -1.0, -3.0])
def test_eq_5_the_exemplars_are_the_codes_that_represent_some_code(S, engine, preference):
    messages = Messages(S, engine, 0.8)
    assert messages.settle(preference, 400)
    represented_by = messages.representatives()
    exemplars = np.flatnonzero(messages.is_exemplar)
    np.testing.assert_array_equal(np.unique(represented_by), exemplars)
    np.testing.assert_array_equal(represented_by[exemplars], exemplars)
    assert (exemplars[nearest_exemplar(S, exemplars)] == represented_by).mean() > 0.9


@pytest.mark.parametrize("damping", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("preference", [-0.15, -0.5, -1.0, -4.0])
def test_exemplars_are_those_of_scikit_learn_at_equal_preference_and_damping(S, engine, rng, damping, preference):
    ours = propagate(S.copy(), preference, rng=rng, engine=engine, damping=damping)
    peer = AffinityPropagation(affinity="precomputed", preference=preference, damping=damping, max_iter=1000, random_state=0)
    peer.fit(S.astype(np.float64))
    exemplars = [cluster_medoid(S, np.flatnonzero(ours.label == k)) for k in range(len(ours.exemplars))]
    np.testing.assert_array_equal(np.sort(exemplars), peer.cluster_centers_indices_)


def cluster_medoid(S, members):
    """scikit-learn ends by moving each exemplar to the middle of its cluster, which is not in the paper."""
    return members[S[np.ix_(members, members)].sum(axis=0).argmax()]


def test_net_similarity_is_that_of_the_exemplars_after_each_round(C, engine):
    messages = Messages(similarity(C), engine, 0.8)
    np.fill_diagonal(messages.S, -0.7)
    expected = []
    for _ in range(30):
        messages.round()
        exemplars = np.flatnonzero(messages.is_exemplar)
        if len(exemplars):
            label = nearest_exemplar(messages.S, exemplars)
            expected.append(messages.S[np.arange(60), exemplars[label]].sum())
        else:
            expected.append(-np.inf)
    np.testing.assert_allclose(messages.net_similarity, expected, rtol=1e-5)
    assert messages.net_similarity[-1] > -0.7 + messages.one_for_all


def test_one_exemplar_is_chosen_of_codes_that_pool_alike(responses, engine, rng):
    shifted = np.hstack([responses, responses + 0.05 * rng.normal(size=responses.shape)])  # each code and its near-double
    found = find_exemplars(similarity(np.cov(shifted.T)), 60, rng=rng, engine=engine)
    kept = np.zeros(120, bool)
    kept[found.exemplars] = True
    assert (kept[:60] ^ kept[60:]).mean() > 0.9  # one of the two, hardly ever both or none
