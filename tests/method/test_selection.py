import sys
from importlib import import_module
from types import ModuleType
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg.lapack import dpstrf

from poolwise.engine.threads import Threads
from poolwise.method.nystrom import approximation_error
from poolwise.method.selection import UNSUPERVISED, WAYS, Way, WayName, authors
from poolwise.method.selection.choosing import Selection, nearest_exemplar, select, similarity
from poolwise.method.selection.pivots import pivots
from poolwise.method.selection.supervised import Labelled
from poolwise.support.parameters import ParameterError

M = 240
SEEDS = {
    "random": 10,
    "kmedoids": 10,
    "affinity": 1,
    "authors": 1,
    "greedy": 1,
    "cholesky": 1,
    "supervised": 1,
}  # ten of affinity: test_affinity.py


@pytest.fixture(scope="module")
def covariances():
    """Of 240 features: real correlations at many scales, copies, ties, and some without variance."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(200, 30)) @ rng.normal(size=(30, M)) + rng.normal(size=(200, M))
    dead = plain.copy()
    dead[:, 5::4] = 3.0
    samples = {
        "plain": plain * rng.uniform(0.01, 100, M),
        "copies": np.repeat(plain[:, :80], 3, axis=1),
        "ties": rng.integers(0, 2, size=(6, M)),
        "dead": dead,
    }
    return {name: np.cov(X.T) for name, X in samples.items()}


@pytest.fixture(scope="module")
def labelled(covariances):
    """What some images and targets could say of each: the covariance as it is, and products that it allows."""
    rng = np.random.default_rng(1)
    return {name: Labelled(C, C @ rng.normal(size=(M, 3)), 9.0, 400) for name, C in covariances.items()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["plain", "copies", "ties", "dead"])
@pytest.mark.parametrize("K", [1, 2, 5, 50, 200, M - 1, M])
def test_exactly_k_and_a_label_for_every_candidate(covariances, labelled, engine, way, name, K):
    for seed in range(SEEDS[way]):
        rng = np.random.default_rng(seed)
        found = select(covariances[name], K, way, labelled=labelled[name], rng=rng, engine=engine)
        assert found.selected.tolist() == sorted(set(found.selected.tolist()))
        assert found.selected.shape == (K,)
        assert found.label.shape == found.cluster.shape == (M,)
        np.testing.assert_array_equal(found.cluster[found.selected], found.selected)
        assert set(found.label.tolist()) == set(range(K))


@pytest.mark.parametrize("way", [way for way in WAYS if way != "authors"])
def test_each_candidate_is_represented_by_the_selected_code_most_similar_to_it(covariances, labelled, engine, rng, way):
    S = similarity(covariances["plain"])
    found = select(covariances["plain"], 15, way, labelled=labelled["plain"], rng=rng, engine=engine)
    np.testing.assert_allclose(S[np.arange(M), found.cluster], S[:, found.selected].max(axis=1), atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_codes_without_variance_are_selected_last(covariances, labelled, engine, rng, way):
    alive = np.flatnonzero(np.diagonal(covariances["dead"]) > 0)
    few = select(covariances["dead"], 40, way, labelled=labelled["dead"], rng=rng, engine=engine).selected
    assert set(few) <= set(alive)
    many = select(covariances["dead"], len(alive) + 3, way, labelled=labelled["dead"], rng=rng, engine=engine).selected
    assert set(alive) <= set(many)
    nothing = Labelled(np.zeros((4, 4)), np.zeros((4, 2)), 1.0, 9)
    assert select(np.zeros((4, 4)), 2, way, labelled=nothing, rng=rng, engine=engine).selected.tolist() == [0, 1]


@pytest.mark.parametrize("way", WAYS)
def test_same_seed_same_codes_on_any_number_of_threads(covariances, labelled, way):
    C, results = covariances["plain"], set()
    for threads in (1, 2, 4):
        with Threads(threads) as engine:
            found = select(C, 20, way, labelled=labelled["plain"], rng=np.random.default_rng(7), engine=engine)
            results.add(found.selected.tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("way", ["random", "kmedoids", "authors"])
def test_another_seed_may_give_other_codes(covariances, engine, way):
    found = {
        select(covariances["plain"], 20, way, rng=np.random.default_rng(seed), engine=engine).selected.tobytes()
        for seed in range(5)
    }
    assert len(found) > 1


@pytest.mark.parametrize("K", [0, M + 1])
def test_more_than_there_are_is_refused(covariances, engine, rng, K):
    with pytest.raises(ValueError, match=f"{K} codes cannot be selected from 240 candidates"):
        select(covariances["plain"], K, "greedy", rng=rng, engine=engine)


def test_greedy_takes_the_largest_gain_in_explained_covariance_at_each_step(C):
    order = pivots(C, 12, "gain")
    for t in range(12):
        error = {j: approximation_error(C, np.array([*order[:t], j])) for j in range(60) if j not in order[:t]}
        assert error[int(order[t])] == pytest.approx(min(error.values()), abs=1e-10)


def test_pivoted_cholesky_is_that_of_lapack(C):
    _, piv, rank, _ = dpstrf(C)
    assert rank == 60
    np.testing.assert_array_equal(pivots(C, 60, "variance"), piv - 1)


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from(["gain", "variance"]))
@settings(max_examples=30, deadline=None, derandomize=True)  # where rounding is all that is left, "gain" may take it: 1 in 100
def test_pivots_explain_everything_at_the_rank_of_the_matrix(seed, rank, score):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rank, 12))
    low_rank = X.T @ X
    chosen = pivots(low_rank, 10, score)
    assert len(set(chosen.tolist())) == 10
    assert approximation_error(low_rank, chosen[:rank]) == pytest.approx(0, abs=1e-8)


def test_greedy_explains_more_than_any_of_twenty_random_selections(C, engine):
    greedy = approximation_error(C, select(C, 15, "greedy", rng=np.random.default_rng(0), engine=engine).selected)
    random = [
        approximation_error(C, select(C, 15, "random", rng=np.random.default_rng(s), engine=engine).selected) for s in range(20)
    ]
    assert greedy < min(random)


def test_authors_similarity_is_the_published_one(C, engine, monkeypatch):
    seen = []

    class Watched(authors.Messages):
        def settle(self, *settings):
            seen.append(self.S.copy())
            return super().settle(*settings)

    monkeypatch.setattr(authors, "Messages", Watched)
    found = select(C, 10, "authors", rng=np.random.default_rng(4), engine=engine)
    u = np.random.default_rng(4).random((60, 60))
    i, j = 3, 17
    s = [np.sqrt(C[k, k] ** 2 + 0.01) for k in (i, j)]
    R_ij, R_ii, R_jj = C[i, j] / (s[0] * s[1]), C[i, i] / s[0] ** 2, C[j, j] / s[1] ** 2
    assert seen[0][i, j] == pytest.approx((R_ij - R_ii / 2 - R_jj / 2) * (1 + u[i, j]), rel=1e-5)
    assert 1 <= found.propagation.tries == len(seen) <= 20


def test_a_new_way_is_one_function_and_one_line(C, engine, rng, monkeypatch):
    def first(C, K, *, rng, engine, update):
        return Selection(np.arange(K), len(C), np.minimum(np.arange(len(C)), K - 1))

    module = ModuleType("poolwise.method.selection.simple")
    module.first = first
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(WAYS, "first", Way("the first ones", "simple", "first"))
    found = select(C, 3, "first", rng=rng, engine=engine)
    assert found.selected.tolist() == [0, 1, 2]
    assert found.n_candidates == 60


def test_every_way_has_a_function_a_title_and_a_name_for_types():
    assert ("auto", *WAYS) == get_args(WayName)
    for way in WAYS.values():
        assert callable(getattr(import_module(f"poolwise.method.selection.{way.module}"), way.function))
    assert len({way.title for way in WAYS.values()}) == len(WAYS)


@pytest.mark.parametrize("way", ["typo", "Affinity", "", None, 3])
def test_an_unknown_way_is_refused(C, engine, rng, way):
    with pytest.raises(ParameterError, match=r"selection must be one of 'affinity', 'kmedoids', .*; got"):
        select(C, 3, way, rng=rng, engine=engine)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["plain", "dead"])
def test_a_selection_knows_how_many_there_were_to_choose_from(covariances, labelled, engine, rng, way, name):
    found = select(covariances[name], 7, way, labelled=labelled[name], rng=rng, engine=engine)
    assert found.n_candidates == M


def test_a_way_that_needs_labels_is_refused_without_them(C, engine, rng):
    with pytest.raises(ValueError, match="selection='supervised' needs what images and labels say together; fit with it"):
        select(C, 3, "supervised", rng=rng, engine=engine)
    assert set(WAYS) - set(UNSUPERVISED) == {"supervised"}


def test_a_slim_selection_has_no_clusters():
    assert Selection(np.array([2, 5]), 9, None).cluster is None


@pytest.mark.parametrize("way", ["affinity", "authors", "greedy", "cholesky"])
def test_progress_counts_up(C, engine, rng, way):
    shown = []
    select(C, 9, way, rng=rng, engine=engine, update=lambda *what: shown.append(what))
    assert [number for number, _ in shown] == list(range(1, len(shown) + 1))
    assert all(note for _, note in shown)


def test_the_nearest_exemplar_is_the_first_of_equals_and_its_own():
    S = np.array([[0, -1, -1, -2], [-1, 0, 0, -2], [-1, 0, 0, -2], [-2, -2, -2, 0]], np.float32)
    assert nearest_exemplar(S, np.array([1, 2])).tolist() == [0, 0, 1, 0]
