import tracemalloc

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method.selection.affinity import Messages, break_ties, find_exemplars, propagate
from poolwise.method.selection.choosing import similarity
from poolwise.method.selection.medoids import Exemplars

KS = (1, 2, 5, 50, 200, 239, 240)


@pytest.fixture(scope="module")
def matrices():
    """Similarities of 240 features: clusters, noise, ties, columns that are copies, columns that are all alike."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(300, 30))
    clusters = np.repeat(centres, 8, axis=1) + 0.5 * rng.normal(size=(300, 240))
    copies = np.repeat(clusters[:, :60], 4, axis=1)
    levels = rng.integers(0, 2, size=(8, 240))  # few samples, few values: many equal correlations
    alike = np.repeat(clusters[:, :1], 240, axis=1)
    samples = {"clusters": clusters, "noise": rng.normal(size=(300, 240)), "copies": copies, "ties": levels, "alike": alike}
    return {name: similarity(np.cov(X.T)) for name, X in samples.items()}


@pytest.mark.parametrize("name", ["clusters", "noise", "copies", "ties", "alike"])
@pytest.mark.parametrize("K", KS)
def test_exactly_k_always(matrices, engine, name, K):
    S = matrices[name]
    for seed in range(10):
        found = find_exemplars(S.copy(), K, rng=np.random.default_rng(seed), engine=engine)
        assert len(found.exemplars) == len(set(found.exemplars.tolist())) == K
        assert found.label.shape == (240,)
        np.testing.assert_array_equal(found.label[found.exemplars], np.arange(K))
        nearest = S[:, found.exemplars].max(axis=1)
        np.testing.assert_allclose(S[np.arange(240), found.exemplars[found.label]], nearest, atol=1e-4)


def test_it_finds_the_clusters_that_are_there(matrices, engine, rng):
    found = find_exemplars(matrices["clusters"].copy(), 30, rng=rng, engine=engine)
    np.testing.assert_array_equal(found.label, np.repeat(np.arange(30), 8))
    assert found.converged
    assert found.merges == found.splits == 0


def test_the_result_says_how_k_was_reached_where_no_preference_gives_it(matrices, engine, rng):
    found = find_exemplars(matrices["alike"].copy(), 17, rng=rng, engine=engine)  # one exemplar or all: no preference gives 17
    assert len(found.exemplars) == 17
    assert found.merges + found.splits > 0


@pytest.mark.parametrize("K", [5, 20, 40])
def test_exemplars_are_as_good_as_the_best_of_ten_runs_of_k_medoids(C, engine, rng, K):
    S = similarity(C)
    runs = [Exemplars(S, rng.choice(60, K, replace=False)) for _ in range(10)]
    for run in runs:
        run.improve()
    best = max(run.similarity for run in runs)
    found = find_exemplars(S.copy(), K, rng=rng, engine=engine)
    assert S[:, found.exemplars].max(axis=1).sum() >= 1.05 * best  # both are negative


@pytest.mark.parametrize("name", ["clusters", "noise", "copies", "ties"])
def test_same_seed_same_exemplars_on_any_number_of_threads(matrices, name):
    results = []
    for threads in (1, 2, 4, 2):
        with Threads(threads) as engine:
            results.append(find_exemplars(matrices[name].copy(), 40, rng=np.random.default_rng(3), engine=engine))
    assert len({result.exemplars.tobytes() for result in results}) == 1
    assert len({tuple(result.net_similarity) for result in results}) == 1


def test_oscillation_is_met_and_damped(matrices, engine):
    S = matrices["noise"].copy()
    break_ties(S, np.random.default_rng(0))
    wild = Messages(S, engine, 0.0)
    assert wild.settle(-5.0, 1000)
    assert wild.oscillations > 0
    assert wild.damping >= 0.5


def test_what_does_not_come_to_rest_is_not_called_converged(matrices, engine, rng):
    assert not propagate(matrices["noise"].copy(), -1.9, rng=rng, engine=engine, max_rounds=20).converged


def test_no_exemplars_at_all_is_an_error(matrices, engine, rng):
    with pytest.raises(ValueError, match="no exemplars after 1 rounds at a preference of -500; give a higher one"):
        propagate(matrices["noise"].copy(), -500.0, rng=rng, engine=engine, max_rounds=1)


def test_codes_without_variance_are_unlike_all_others_and_like_each_other():
    C = np.diag([4.0, 0.0, 1.0, 0.0])
    C[0, 2] = C[2, 0] = 1.0
    expected = [[0, -2, -1, -2], [-2, 0, -2, 0], [-1, -2, 0, -2], [-2, 0, -2, 0]]
    np.testing.assert_array_equal(similarity(C), expected)
    np.testing.assert_array_equal(similarity(np.zeros((3, 3))), np.zeros((3, 3)))


def test_rounding_never_makes_a_similarity_positive(rng):
    x = rng.normal(size=(100, 1)) * rng.uniform(1e-6, 1e6, size=50)
    assert similarity(np.cov(x.T)).max() <= 0


def test_no_single_swap_improves_the_exemplars(matrices, engine, rng):
    S = matrices["noise"]
    found = find_exemplars(S.copy(), 30, rng=rng, engine=engine)
    again = Exemplars(S, found.exemplars)
    again.improve()
    assert again.similarity <= 0.9999 * Exemplars(S, found.exemplars).similarity  # negative: at most that much was left


def test_similarity_must_be_symmetric(rng, engine):
    with pytest.raises(ValueError, match="S is not symmetric"):
        find_exemplars(-rng.random((30, 30)).astype(np.float32), 5, rng=rng, engine=engine)


def test_net_similarity_is_at_the_preference_of_its_round(matrices, engine):
    S = matrices["noise"].copy()
    messages = Messages(S, engine, 0.8)
    ends = []
    for preference in (-1.95, -1.9, -1.85):
        messages.settle(preference, 60)
        exemplars = np.flatnonzero(messages.is_exemplar)
        ends.append(
            (len(messages.net_similarity), Exemplars(matrices["noise"], exemplars).similarity + preference * len(exemplars))
        )
    for rounds, net in ends:
        assert messages.net_similarity[rounds - 1] == pytest.approx(net, rel=1e-4)


def test_progress_shows_each_preference(matrices, engine, rng):
    shown = []
    found = find_exemplars(matrices["noise"].copy(), 40, rng=rng, engine=engine, update=lambda *what: shown.append(what))
    assert [number for number, _ in shown] == list(range(1, found.tries + 1))
    assert all("exemplars at a preference of -" in note for _, note in shown)


def test_memory_is_three_matrices():
    M = 1200
    X = np.random.default_rng(0).normal(size=(100, M))
    S = similarity(np.cov(X.T))
    with Threads(2) as engine:
        find_exemplars(S[:50, :50].copy(), 5, rng=np.random.default_rng(0), engine=engine)  # compiles
        tracemalloc.start()
        messages = Messages(S, engine, 0.8)
        messages.settle(-1.0, 40)
        _ = messages.net_similarity
        peak = tracemalloc.get_traced_memory()[1] + S.nbytes
        tracemalloc.stop()
    assert peak <= 3.2 * M * M * 4
