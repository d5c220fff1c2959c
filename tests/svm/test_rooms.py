"""Products with centred rows, factors in place, the loss: each next to a line of NumPy."""

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.svm import CentredRows, Problems, SampleSpace, data, one_vs_all, path, project
from poolwise.svm.factor import Factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_rows_less_their_mean(rng, engine, monkeypatch, dtype, offset, order):
    monkeypatch.setattr(data, "_NUMBERS_PER_BLOCK", 500)  # several blocks
    X = np.asarray(rng.normal(size=(101, 7)) + offset, dtype, order=order)
    weight = rng.uniform(0, 2, size=101)
    centred = CentredRows(X, weight, engine)
    mean = np.average(X.astype(np.float64), axis=0, weights=weight)
    expected = X.astype(np.float64) - mean
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(centred.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(centred.std, np.sqrt(np.average(expected**2, axis=0, weights=weight)), rtol=1e-5)
    V, R = rng.normal(size=(3, 7)), rng.normal(size=(3, 101)).astype(dtype)
    shift = (centred.mean - mean) @ V.T  # its mean is a number of X's precision
    np.testing.assert_allclose(centred.times(V), V @ expected.T - shift[:, None], atol=20 * tolerance)
    np.testing.assert_allclose(centred.transposed_times(R), R @ expected, atol=1e3 * tolerance * max(1, offset / 100))


def test_constant_columns_take_no_part(rng, engine):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    X[:, 1] = 0.1
    centred = CentredRows(X, np.ones(50), engine)
    assert centred.std[1] == 0
    assert (centred.transposed_times(np.ones((1, 50)))[:, 1] == 0).all()
    np.testing.assert_array_equal(centred.times(np.array([[0, 5.0, 0]])), 0)


@pytest.mark.parametrize("n", [1, 5, 700, 1500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_matrix_serves_many_diagonals(rng, engine, n, dtype):
    B = rng.normal(size=(n, n + 3)).astype(dtype) / np.sqrt(n)
    A = B @ B.T
    factor, right = Factor(A.copy()), rng.normal(size=(40, n))
    for x in (1.0, 0.1, 2.0):
        factor.add_to_diagonal(np.full(n, x, dtype), engine)
        solved = factor.solve(right, engine)
        np.testing.assert_allclose(solved @ (A + x * np.eye(n)), right, atol=1e-3 if dtype == np.float32 else 1e-10)
        assert factor.extra == 0


def test_a_singular_matrix_gets_as_little_as_it_needs(engine):
    factor = Factor(np.ones((6, 6)))
    factor.add_to_diagonal(np.zeros(6), engine)
    assert 0 < factor.extra < 1e-12
    assert np.isfinite(factor.solve(np.ones((1, 6)), engine)).all()


@pytest.mark.parametrize("A", [np.full((2, 2), np.inf), np.array([[1.0, np.nan], [np.nan, 1.0]])])
def test_numbers_too_large_to_multiply_are_refused(engine, A):
    with pytest.raises(ValueError, match="too large to be multiplied"):
        Factor(A).add_to_diagonal(np.ones(2), engine)


def test_the_same_factor_on_any_number_of_threads(rng):
    B = rng.normal(size=(1100, 1200)).astype(np.float32)
    solved = set()
    for n_jobs in (1, 2, 3):
        factor = Factor(B @ B.T)
        with Threads(n_jobs) as engine:
            factor.add_to_diagonal(np.ones(1100), engine)
            solved.add(factor.solve(B[:, :1].T, engine).tobytes())
    assert len(solved) == 1


@pytest.fixture
def problems(rng):
    label = rng.integers(4, size=30)
    return one_vs_all(label, rng.uniform(0.5, 2, size=4), rng.uniform(0, 1, size=(2, 30)))


def loss(problems, F):
    Y = np.where(problems.label == problems.target[:, None], 1, -1)
    weight = problems.weight[problems.fold] * np.where(Y > 0, problems.up[:, None], problems.down[:, None])
    return (weight * np.maximum(0, 1 - Y * F) ** 2).sum(axis=1) / problems.weight.sum(axis=1)[problems.fold]


@pytest.mark.parametrize("k", [2, 3, 10, 24, 25])
@pytest.mark.parametrize(("N", "d"), [(1, 5), (7, 1023), (2050, 1030), (3, 2049)])
def test_margins_of_few_and_of_many_problems(rng, engine, k, N, d):
    X, V = rng.normal(size=(N, d)).astype(np.float32) + 3, rng.normal(size=(k, d))
    rows = CentredRows(X, np.ones(N), engine)
    rows.data, rows.dtype = data.Here(X, engine), X.dtype  # as it is where it is large
    expected = V @ np.where(rows.constant, 0, X.astype(np.float64) - rows.mean).T
    found = rows.times(V)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.sqrt(d) * np.abs(X).max())


def test_a_factor_that_is_there_is_not_computed_again(rng, engine, monkeypatch):
    """The γ that folds have chosen is the one that the last model is learned with."""
    B, computed = rng.normal(size=(5, 9)), []
    original = Factor._factor
    monkeypatch.setattr(Factor, "_factor", lambda self, *given: computed.append(1) or original(self, *given))
    factor, x = Factor(B @ B.T), np.ones(5)
    for added, least, count in ((x, 0.0, 1), (x.copy(), 0.0, 1), (2 * x, 0.0, 2), (2 * x, 1e-3, 3), (x, 0.0, 4)):
        factor.add_to_diagonal(added, engine, least)
        assert len(computed) == count
        np.testing.assert_allclose(
            factor.solve(np.eye(5), engine), np.linalg.inv(B @ B.T + np.diag(added) + least * np.eye(5)), rtol=1e-6, atol=1e-9
        )


def test_slopes_and_steps_are_derivatives_of_the_loss(rng, engine, problems):
    F, P, t = rng.normal(size=(8, 30)), rng.normal(size=(8, 30)), rng.uniform(size=8)
    first, second = problems.slopes(F, P, t, engine)
    at = [loss(problems, F + (t[:, None] + h) * P) for h in (-1e-5, 0, 1e-5)]
    np.testing.assert_allclose(first, (at[2] - at[0]) / 2e-5, rtol=1e-6)
    np.testing.assert_allclose(second, (at[2] - 2 * at[1] + at[0]) / 1e-10, rtol=1e-3)
    R, moved = np.empty_like(F), F.copy()
    np.testing.assert_allclose(problems.step(moved, P, t, R, engine), at[1], rtol=1e-12)
    np.testing.assert_allclose(moved, F + t[:, None] * P, rtol=1e-12)
    np.testing.assert_allclose((R * P).sum(axis=1), first, rtol=1e-12)


def test_the_best_bias_has_no_slope(problems, engine):
    F = np.repeat(problems.best_bias()[:, None], 30, axis=1)
    first, _ = problems.slopes(F, np.ones_like(F), np.zeros(8), engine)
    np.testing.assert_allclose(first, 0, atol=1e-12)


def test_two_classes_are_one_problem():
    two = one_vs_all(np.array([0, 1]), np.array([3.0, 5.0]), np.ones((1, 2)))
    assert (two.target.tolist(), two.up.tolist(), two.down.tolist()) == ([1], [5.0], [3.0])


def test_groups_of_problems_do_not_change_the_result(rng, engine, monkeypatch):
    X, label = rng.normal(size=(80, 6)), rng.integers(7, size=80)
    space = path_space(X, engine)
    problems = one_vs_all(label, np.ones(7), np.ones((1, 80)))
    whole = path.solve_in_groups(space, problems, 0.01, 1e-9, 500)
    monkeypatch.setattr(path, "group_size", lambda space: 2)
    shown = []
    parts = path.solve_in_groups(space, problems, 0.01, 1e-9, 500, update=lambda *what: shown.append(what))
    np.testing.assert_allclose(parts.W, whole.W, atol=1e-7)
    assert parts.converged
    assert len({note.partition(" of the first")[2] for _, note in shown}) == 4  # each group of 2, 2, 2 and 1 is named


def path_space(X, engine):
    from poolwise.svm import make_space

    return make_space(CentredRows(X, np.ones(len(X)), engine))


def test_there_are_as_many_numbers_as_the_smaller_side(rng, engine):
    assert path_space(rng.normal(size=(20, 5)), engine).size == 5
    wide = path_space(rng.normal(size=(5, 20)), engine)
    assert isinstance(wide, SampleSpace)
    assert wide.size == 5


def test_projection_of_rows(rng, engine):
    X, W, b = rng.normal(size=(50, 4)), rng.normal(size=(3, 4)), rng.normal(size=3)
    np.testing.assert_allclose(project(X, W, b, engine), X @ W.T + b, rtol=1e-12)
    assert project(X.astype(np.float32), W, b, engine).dtype == np.float64


def test_problems_can_be_taken_apart(problems):
    some = problems[2:5]
    assert isinstance(some, Problems)
    assert len(some) == 3
    np.testing.assert_array_equal(some.up, problems.up[2:5])
