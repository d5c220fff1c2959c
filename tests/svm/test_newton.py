"""Newton's step in blocks is the ridge regression that it claims to be."""

import numpy as np
import pytest

from poolwise import LinearSVM
from poolwise.svm import CentredRows, make_space, newton, spaces


def ridge(X, y, s, gamma_S):
    """w and b of Σ s (y - x·w - b)² + γS |w|², by a larger linear system."""
    Z = np.column_stack([X, np.ones(len(X))])
    penalty = np.diag([gamma_S] * X.shape[1] + [0.0])
    solved = np.linalg.solve(Z.T @ (s[:, None] * Z) + penalty, Z.T @ (s * y))
    return solved[:-1], solved[-1]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_of_rows_give_the_ridge_regression_of_all(rng, size):
    X, y, s = rng.normal(size=(50, 6)) + 0.3, rng.choice([-1.0, 1.0], 50), rng.uniform(0.1, 2, 50)
    w, b = newton.ridge_by_features([X[i : i + size] for i in range(0, 50, size)], y, s, 0.7)
    expected_w, expected_b = ridge(X, y, s, 0.7)
    np.testing.assert_allclose(w, expected_w, atol=1e-9)
    assert b == pytest.approx(expected_b)


@pytest.mark.parametrize("a", [20, 90])  # fewer samples than features, and more
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_ends_at_the_ridge_regression_on_the_samples_inside(rng, engine, monkeypatch, a, dtype):
    monkeypatch.setattr(spaces, "_ROWS_PER_NEWTON_BLOCK", 16)
    monkeypatch.setattr(spaces, "_COLUMNS_PER_NEWTON_BLOCK", 16)
    X = (rng.normal(size=(200, 60)) + 2).astype(dtype)
    X[:, 3] = 5
    space = make_space(CentredRows(X, np.ones(200), engine))
    inside, y = np.sort(rng.choice(200, a, replace=False)), rng.choice([-1.0, 1.0], a)
    step = space.newton(inside, y, np.ones(a), 0.5)
    centred = X[inside].astype(np.float64) - space.rows.mean
    centred[:, 3] = 0
    expected_w, expected_b = ridge(centred, y, np.ones(a), 0.5)
    np.testing.assert_allclose(step[:-1], expected_w, atol=1e-5 if dtype == np.float32 else 1e-9)
    assert step[-1] == pytest.approx(expected_b, abs=1e-5)


def test_nearly_separable_classes_converge_at_a_small_gamma(rng):
    X = rng.normal(size=(3_000, 400)).astype(np.float32) @ np.diag(0.98 ** np.arange(400)).astype(np.float32)
    y = (X @ rng.normal(size=(400, 4))).argmax(axis=1)
    y[rng.random(3_000) < 0.02] = 0
    assert LinearSVM(1e-5).fit(X, y).converged_
