"""`LinearSVM`: scikit-learn's manners, weights, awkward columns, errors, memory."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from poolwise import LinearSVM
from poolwise.estimators import linear_svm
from poolwise.svm import make_space, solver

from settings import QUICK, paper_features


@pytest.fixture
def blobs(rng):
    """Three classes that overlap, (120, 10) and labels 0..2."""
    label = np.repeat(np.arange(3), 40)
    return rng.normal(size=(3, 10))[label] + 1.5 * rng.normal(size=(120, 10)), label


def objective(svm, X, y, weight=None, class_weight=None):
    """What `objective_` says it is, written out."""
    weight = np.ones(len(X)) if weight is None else weight
    factors = dict.fromkeys(svm.classes_, 1.0) | (class_weight or {})
    F = X @ svm.coef_.T + svm.intercept_
    total = svm.gamma_ * (svm.coef_**2).sum()
    for column, c in enumerate(svm.classes_[-F.shape[1] :]):
        sign = np.where(y == c, 1, -1)
        other = factors[svm.classes_[0]] if F.shape[1] == 1 else 1.0
        loss = np.maximum(0, 1 - sign * F[:, column]) ** 2 * np.where(sign > 0, factors[c], other)
        total += (weight * loss).sum() / weight.sum()
    return total


def test_objective_is_what_it_says(blobs):
    X, y = blobs
    svm = LinearSVM(None).fit(X, y)
    assert svm.gamma_ == 0.005
    np.testing.assert_allclose(svm.objective_, objective(svm, X, y), rtol=1e-9)


def test_gamma_and_C_are_two_names_of_one_thing(blobs):
    X, y = blobs
    by_gamma, by_C = LinearSVM(0.01).fit(X, y), LinearSVM(C=1 / (2 * 0.01 * len(X))).fit(X, y)
    np.testing.assert_allclose(by_C.coef_, by_gamma.coef_, rtol=1e-10)
    assert by_C.gamma_ == pytest.approx(0.01)


@pytest.mark.parametrize("names", [["bird", "cat", "ship"], [-1, 5, 7], [1.0, 2.0, 5.0]])
def test_classes_may_have_any_name(blobs, names):
    X, y = blobs
    svm = LinearSVM().fit(X, np.array(names)[y])
    assert list(svm.classes_) == names
    np.testing.assert_array_equal(svm.predict(X), np.array(names)[LinearSVM().fit(X, y).predict(X)])


def test_two_classes_have_one_row_of_weights_for_the_second(blobs):
    X, y = blobs
    y = np.array(["no", "yes"])[(y == 2).astype(int)]
    svm = LinearSVM().fit(X, y)
    assert svm.coef_.shape == (1, 10)
    assert svm.decision_function(X).shape == (120,)
    np.testing.assert_array_equal(svm.predict(X) == "yes", svm.decision_function(X) > 0)
    np.testing.assert_allclose(svm.decision_function(X), X @ svm.coef_[0] + svm.intercept_[0])


@pytest.mark.parametrize("binary", [False, True])
def test_class_weights_mean_what_they_mean_in_liblinear(blobs, binary):
    X, y = blobs
    y = (y > 0).astype(int) if binary else y
    weights = {0: 3.0, 1: 0.5}
    C = 0.5
    ours = LinearSVM(C=C, class_weight=weights, tol=1e-9).fit(X, y)
    peer = LinearSVC(C=C, class_weight=weights, dual=False, tol=1e-10, intercept_scaling=300, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.objective_, objective(ours, X, y, class_weight=weights), rtol=1e-9)


def test_balanced_weights_are_those_of_scikit_learn(blobs):
    X, y = blobs
    X, y = X[:90], y[:90]
    n = np.bincount(y)
    named = {c: 90 / (3 * n[c]) for c in range(3)}
    balanced, explicit = (LinearSVM(class_weight=w).fit(X, y) for w in ("balanced", named))
    np.testing.assert_allclose(balanced.coef_, explicit.coef_, rtol=1e-10)


@pytest.mark.parametrize("d", [10, 300])
def test_weights_are_repetitions_and_zero_is_absence(rng, blobs, d):
    X, y = blobs
    X = X @ rng.normal(size=(10, d)) / 3 if d > 10 else X
    weight = rng.integers(0, 4, size=len(X))
    weighted = LinearSVM(tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = LinearSVM(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-7)


@pytest.mark.parametrize("d", [60, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_on_1_2_and_4_threads(rng, d, dtype):
    X, y = rng.normal(size=(2500, d)).astype(dtype), rng.integers(5, size=2500)
    X[:, :5] += 3 * np.eye(5)[y]
    runs = [LinearSVM(n_jobs=n).fit(X, y) for n in (1, 2, 4)]
    assert len({run.coef_.tobytes() for run in runs}) == 1
    assert runs[0].converged_


def test_a_memory_map_is_read_in_place(tmp_path, rng, monkeypatch):
    X, y = rng.normal(size=(30_000, 80)).astype(np.float32), rng.integers(3, size=30_000)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    seen = []
    monkeypatch.setattr(linear_svm, "make_space", lambda rows: seen.append(rows.array()) or make_space(rows))
    a, b = LinearSVM().fit(mapped, y), LinearSVM().fit(X, y)
    assert np.shares_memory(seen[0], mapped)
    assert a.coef_.tobytes() == b.coef_.tobytes()
    np.testing.assert_array_equal(a.predict(mapped), b.predict(X))


def test_input_is_never_written_to(blobs):
    X, y = blobs
    for A in (X.copy(), np.asfortranarray(X), X.T.copy()[:, :10]):
        before = A.copy()
        LinearSVM().fit(A, y[: len(A)] if len(A) == 120 else np.arange(10) % 2)
        np.testing.assert_array_equal(A, before)


AWKWARD = {
    "constant": lambda X: np.c_[X, np.full(len(X), 7.0), np.zeros(len(X))],
    "duplicated": lambda X: np.c_[X, X, X],
    "collinear": lambda X: np.c_[X, X @ np.ones((10, 4)), X[:, :1] - X[:, 1:2]],
    "badly scaled": lambda X: X * np.logspace(-8, 8, 10),
    "far from 0": lambda X: X + 1e5,
    "tiny": lambda X: X * 1e-20,
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("many", [False, True])
def test_awkward_columns_do_no_harm(rng, blobs, name, dtype, many):
    X, y = blobs
    if many:  # 16 MB of float32, so that it stays float32
        rows = rng.integers(len(X), size=2**18 // 10)
        X, y = X[rows] + 0.1 * rng.normal(size=(len(rows), 10)), y[rows]
        X = np.c_[X, rng.normal(size=(len(X), 80))]
    A = np.ascontiguousarray(AWKWARD[name](X) if not many else np.c_[AWKWARD[name](X[:, :10]), X[:, 10:]], dtype)
    hidden = many and dtype == np.float32 and name == "badly scaled"  # sixteen orders of magnitude: float32 cannot tell the gap
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if hidden else "error", ConvergenceWarning)
        svm = LinearSVM(1e-4).fit(A, y)
    assert svm.converged_ or hidden
    assert np.isfinite(svm.coef_).all()
    if hidden:
        assert svm.objective_ <= LinearSVM(1e-4).fit(A.astype(np.float64), y).objective_ * (1 + 1e-4)
    np.testing.assert_allclose(svm.objective_, objective(svm, A.astype(np.float64), y), rtol=1e-4)
    if name not in ("badly scaled", "tiny"):
        assert svm.score(A, y) > 0.8
    if name == "constant":
        assert (svm.coef_[:, 10:12] == 0).all()


def test_columns_far_from_0_give_the_same_weights(blobs):
    X, y = blobs
    np.testing.assert_allclose(LinearSVM(tol=1e-8).fit(X + 1e4, y).coef_, LinearSVM(tol=1e-8).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.array([[1.0], [np.nan]]), [0, 1], "NaN"),
        (np.array([[1.0], [np.inf]]), [0, 1], "infinity"),
        (np.ones((3, 2)), [1, 1, 1], "at least two classes; y has only one class"),
        (np.ones((3, 2)), [0, 1], "inconsistent numbers of samples"),
        (np.ones((3, 2)), [0.1, 0.2, 0.35], "Unknown label type"),
        (np.ones(3), [0, 1, 0], "2D array"),
        (np.array([[1e300], [-1e300], [2e300]]), [0, 1, 0], "too large"),
    ],
)
def test_bad_data_gets_a_clear_error(X, y, message):
    with pytest.raises(ValueError, match=message):
        LinearSVM().fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0.1, "C": 1.0}, "give gamma or C, not both"),
        ({"gamma": 0.0}, "gamma must be a finite number"),
        ({"gamma": "scale"}, "gamma must be a positive number, 'auto' or None; got 'scale'"),
        ({"C": -1.0}, "C must be a finite number"),
        ({"tol": -1e-3}, "tol must be a finite number"),
        ({"tol": 0.0}, "tol must be a finite number"),
        ({"C": 1e15}, r"C=1000000000000000.0 means gamma=.*give a C of at most \d"),
        ({"C": 1e20}, "C must be a finite number of at least 1e-12 and at most 1e\\+18"),
        ({"gamma": 1e20}, "gamma must be a finite number of at least 1e-12 and at most 1e\\+18"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
        ({"class_weight": "even"}, 'class_weight must be a dict from class to weight, "balanced" or None'),
        ({"class_weight": {9: 1.0}}, r"class_weight names classes that are not in y: \[9\]"),
        ({"class_weight": {0: -1.0}}, r"class_weight\[0\] must be a finite number of at least 0"),
    ],
)
def test_bad_parameters_get_a_clear_error(blobs, settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVM(**settings).fit(*blobs)


def test_bad_weights_get_a_clear_error(blobs):
    X, y = blobs
    for weight, message in (
        (np.zeros(120), "at least one non-zero|0 for every sample"),
        (-np.ones(120), "(?i)negative"),
        (np.ones(3), r"\(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearSVM().fit(X, y, sample_weight=weight)


def test_a_fit_that_fails_leaves_the_model_as_it_was(blobs):
    X, y = blobs
    svm = LinearSVM().fit(X, y)
    before = svm.predict(X)
    with pytest.raises(ValueError, match="two classes"):
        svm.fit(X, np.zeros(120))
    np.testing.assert_array_equal(svm.predict(X), before)


def test_it_says_so_where_it_did_not_converge(blobs):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 rounds"):
        svm = LinearSVM(max_iter=1).fit(*blobs)
    assert (svm.n_iter_, svm.converged_) == (1, False)


@pytest.mark.parametrize(("N", "d"), [(40_000, 600), (12_000, 2500), (2500, 12_000)])
def test_memory_is_a_part_of_the_features_and_one_square(rng, N, d):
    """At most 1.3 times the matrix and d² (or N²) float64 numbers, the matrix itself included."""
    y = rng.integers(4, size=N)
    X = rng.standard_normal((N, d), dtype=np.float32)
    X[:, :4] += 2 * np.eye(4, dtype=np.float32)[y]
    svm = LinearSVM(n_jobs=2, max_iter=10, tol=1e-2)
    svm.fit(X[:500, :20], y[:500])  # compiled before it is measured
    tracemalloc.start()
    svm.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.3 * X.nbytes + 8 * min(N, d) ** 2
    tracemalloc.start()
    svm.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.3 * X.nbytes


def test_in_a_pipeline_after_pooled_features(photos):
    labels = np.arange(len(photos)) // 10
    model = make_pipeline(paper_features(**QUICK), LinearSVM()).fit(photos, labels)
    assert model.score(photos, labels) > 0.5


def test_progress_goes_to_stderr_and_only_if_asked(capsys, every_stage):
    X, y = load_iris(return_X_y=True)
    LinearSVM().fit(X, y)
    assert capsys.readouterr() == ("", "")
    LinearSVM(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "LinearSVM svm" in err


@pytest.mark.parametrize("gamma", [1e-6, 1e-2])
def test_every_class_is_as_good_as_alone(gamma):
    """Classes that are done early must not be left where the slowest one finds them."""
    X, y = load_iris(return_X_y=True)
    together = LinearSVM(gamma).fit(X, y)
    for c in range(3):
        alone = LinearSVM(gamma).fit(X, y == c)
        np.testing.assert_allclose(together.coef_[c], alone.coef_[0], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_classes_far_apart_converge(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 2
    svm = LinearSVM(0.01).fit(rng.normal(size=(30, 30)) + 5 * rng.normal(size=(2, 30))[y], y)
    assert svm.converged_


@pytest.mark.parametrize("d", [3, 10])
def test_samples_that_are_all_alike_give_the_bias_alone(d):
    svm = LinearSVM().fit(np.ones((5, d)), [0, 1, 0, 1, 0])
    assert (svm.coef_ == 0).all()
    np.testing.assert_allclose(svm.intercept_, -0.2)
    assert svm.converged_


def test_what_varies_little_far_from_0_still_counts(rng):
    y = rng.integers(2, size=40_000)
    X = rng.standard_normal((40_000, 60), dtype=np.float32)
    X[:, 0] = 1e6 + (y - 0.5)
    assert LinearSVM().fit(X, y).score(X, y) == 1


def test_samples_without_weight_do_no_harm_wherever_they_are(rng, blobs):
    X, y = blobs
    with_odd = LinearSVM().fit(np.r_[[[1e9] * 10], X], np.r_[7, y], sample_weight=np.r_[0.0, np.ones(120)])
    assert list(with_odd.classes_) == [0, 1, 2]
    np.testing.assert_allclose(with_odd.coef_, LinearSVM().fit(X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e-20, 1e40, 1e306])
def test_only_proportions_of_weights_matter_with_gamma(blobs, size):
    X, y = blobs
    by_weight, plain = LinearSVM(0.01).fit(X, y, np.full(120, size)), LinearSVM(0.01).fit(X, y)
    np.testing.assert_allclose(by_weight.coef_, plain.coef_, rtol=1e-9)


def test_gamma_follows_from_the_spectrum_the_samples_and_the_classes(blobs):
    """Twice the features' size is four times γ; twice the samples are half of it; four times the classes twice."""
    X, y = blobs
    one = LinearSVM().fit(X, y).gamma_
    assert one == pytest.approx(0.025 * np.sqrt(3) * X.var(axis=0).sum() / len(X))
    assert LinearSVM("auto").fit(2 * X, y).gamma_ == pytest.approx(4 * one)
    assert LinearSVM().fit(np.r_[X, X], np.r_[y, y]).gamma_ == pytest.approx(one / 2)
    assert LinearSVM().fit(X, y, np.full(len(X), 2.0)).gamma_ == pytest.approx(one / 2)
    assert LinearSVM().fit(X, np.arange(len(X)) % 12).gamma_ == pytest.approx(2 * one)


def test_class_weights_may_name_more_classes_than_there_are(blobs):
    X, y = blobs
    weights = dict.fromkeys(range(5), 2.0)
    assert LinearSVM(class_weight=weights).fit(X, y).converged_


def test_an_interrupt_leaves_the_model_as_it_was(blobs, monkeypatch):
    X, y = blobs
    svm = LinearSVM().fit(X, y)
    before = dict(vars(svm))
    monkeypatch.setattr(solver._Run, "descend", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        svm.fit(X, y == 0)
    assert vars(svm) == before
