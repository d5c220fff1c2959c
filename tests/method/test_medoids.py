import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolwise.method.selection.choosing import similarity
from poolwise.method.selection.medoids import Exemplars


def points(seed, M, ties=False):
    """Similarity of M points in the plane; with ties they lie on a small grid, some on top of each other."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, size=(M, 2)) if ties else rng.normal(size=(M, 2))
    return -((x[:, None] - x) ** 2).sum(axis=2).astype(np.float32)


def value(T, chosen):
    return float(T[list(chosen)].max(axis=0).sum(dtype=np.float64))


@given(st.integers(0, 10_000), st.integers(3, 25), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_what_it_knows_of_nearest_exemplars_stays_true_through_every_step(seed, M, ties, data):
    T = points(seed, M, ties)
    K, target = data.draw(st.integers(2, M)), data.draw(st.integers(2, M))
    exemplars = Exemplars(T, np.random.default_rng(seed).choice(M, K, replace=False))
    for step in (lambda: exemplars.bring_to(target), lambda: exemplars.improve(1), exemplars.improve):
        step()
        assert len(set(exemplars.chosen.tolist())) == len(exemplars.chosen)
        assert exemplars.similarity == pytest.approx(value(T, exemplars.chosen), abs=1e-4)
        label = exemplars.labels()
        ascending = np.sort(exemplars.chosen)
        np.testing.assert_allclose(T[ascending[label], np.arange(M)], T[ascending].max(axis=0), atol=1e-6)
        np.testing.assert_array_equal(label[ascending], np.arange(len(ascending)))
    assert len(exemplars.chosen) == target


@pytest.mark.parametrize("seed", range(5))
def test_no_single_swap_improves_what_is_left(seed):
    T = points(seed, 40)
    exemplars = Exemplars(T, np.arange(6))
    before = exemplars.similarity
    exemplars.improve()
    after = exemplars.similarity
    assert after > before
    chosen = set(exemplars.chosen.tolist())
    for out, new in itertools.product(chosen, set(range(40)) - chosen):
        assert value(T, chosen - {out} | {new}) <= after + 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_a_merge_loses_least_and_a_split_gains_most(seed):
    T = points(seed, 30)
    start = set(np.random.default_rng(seed).choice(30, 8, replace=False).tolist())
    merged = set(Exemplars(T, sorted(start)).bring_to(7).chosen.tolist())
    assert value(T, merged) == pytest.approx(max(value(T, start - {k}) for k in start), abs=1e-4)
    split = set(Exemplars(T, sorted(start)).bring_to(9).chosen.tolist())
    assert value(T, split) == pytest.approx(max(value(T, start | {k}) for k in range(30)), abs=1e-4)


def test_one_exemplar_is_the_best_of_all():
    T = points(0, 30)
    assert Exemplars(T, np.arange(9)).bring_to(1).chosen.tolist() == [int(T.sum(axis=1).argmax())]


def test_swaps_are_limited_where_asked(C):
    exemplars = Exemplars(similarity(C), np.arange(20))
    exemplars.improve(2)
    assert exemplars.swaps == 2
    exemplars.improve()
    assert exemplars.swaps > 2
