"""γ from the spectrum: against ridge regression written out, on weights, copies and scales."""

import numpy as np
import pytest

from poolwise import LinearSVM
from poolwise.engine.threads import Threads
from poolwise.svm import CentredRows
from poolwise.svm.gamma import STEP, guess_gamma
from poolwise.svm.spectrum import best_ridge, spectral_gamma, step_near


def made(rng, n, d, classes=3, noise=1.0):
    label = rng.integers(classes, size=n)
    X = noise * rng.normal(size=(n, d)) * np.linspace(2, 0.1, d)
    X[:, :classes] += np.eye(classes)[label]
    return X, label


def gamma_of(X, label, weight=None, n_jobs=1):
    weight = np.ones(len(X)) if weight is None else weight
    with Threads(n_jobs) as engine:
        rows = CentredRows(X, weight / weight.max(), engine)
        return spectral_gamma(rows, label, weight, int(label.max()) + 1)


@pytest.mark.parametrize("shape", [(60, 8), (40, 90)])
@pytest.mark.parametrize("noise", [0.2, 2.0])
def test_the_ridge_is_that_of_a_hat_matrix_written_out(rng, shape, noise):
    X, label = made(rng, *shape, noise=noise)
    n = len(X)
    C = X - X.mean(axis=0)
    T = np.where(label[:, None] == np.arange(3), 1.0, -1.0)
    T -= T.mean(axis=0)
    with Threads(1) as engine:
        ridges = n * guess_gamma(CentredRows(X, np.ones(n), engine), n, 3) * STEP ** np.arange(-2, 7)
    errors = []
    for ridge in ridges:
        H = C @ np.linalg.solve(C.T @ C + ridge * np.eye(C.shape[1]), C.T)
        errors.append(((T - H @ T) ** 2).sum() / (n - 1 - np.trace(H)) ** 2)
    assert gamma_of(X, label) == pytest.approx(0.3 * ridges[np.argmin(errors)] / n)


def test_whole_weights_are_copies_and_samples_without_weight_are_absent(rng):
    X, label = made(rng, 80, 6)
    weight = rng.integers(0, 4, size=80).astype(float)
    assert gamma_of(X, label, weight) == pytest.approx(
        gamma_of(np.repeat(X, weight.astype(int), 0), np.repeat(label, weight.astype(int)))
    )


def test_gamma_follows_the_scale_of_the_features(rng):
    X, label = made(rng, 50, 70)
    assert gamma_of(1e-5 * X, label) == pytest.approx(1e-10 * gamma_of(X, label))
    assert gamma_of(X.astype(np.float32) + 3, label) == pytest.approx(gamma_of(X, label), rel=1e-3)


def test_more_noise_is_held_down_more(rng):
    quiet, loud = (gamma_of(*made(rng, 200, 20, noise=noise)) / noise**2 for noise in (0.05, 5.0))
    assert loud > 3 * quiet


def test_the_bits_do_not_depend_on_threads(rng):
    X, label = made(rng, 100, 5000)
    assert gamma_of(X, label, n_jobs=1) == gamma_of(X, label, n_jobs=3)


def test_without_degrees_of_freedom_it_is_the_guess(rng):
    X, label = made(rng, 6, 4)
    weight = np.full(6, 1e-3)  # they sum up to far less than one sample
    with Threads(1) as engine:
        assert gamma_of(X, label, weight) == guess_gamma(CentredRows(X, np.ones(6), engine), 6e-3, label.max() + 1)
    assert best_ridge(np.ones(2), np.ones(2), 3.0, 1.0, np.array([0.1])) is None


def test_many_samples_are_a_thousand_of_them(rng):
    X, label = made(rng, 3000, 5)
    some = np.unique(np.linspace(0, 2999, 1000).astype(int))
    with Threads(1) as engine:  # of the thousand, with the λ of the ladder that all samples have
        whole, part = (guess_gamma(CentredRows(one, np.ones(len(one)), engine), len(one), 3) for one in (X, X[some]))
    steps = [np.log(gamma_of(*two) / one) / np.log(STEP) for two, one in (((X, label), whole), ((X[some], label[some]), part))]
    assert steps[0] == pytest.approx(steps[1] - 0.1 * np.log(3) / np.log(STEP))


def test_a_search_begins_a_whole_number_of_steps_from_the_guess():
    assert step_near(0.5, 0.01) == pytest.approx(0.01 * STEP**3)
    assert step_near(0.011, 0.01) == 0.01


def test_gamma_of_an_svm_is_that_of_its_samples(rng):
    X, label = made(rng, 90, 12)
    assert LinearSVM().fit(X, label).gamma_ == gamma_of(X, label)
