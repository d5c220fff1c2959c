import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster

from poolwise.engine.threads import HeldArray, Threads
from poolwise.method.dictionaries import DICTIONARIES, KMeans, RandomCodes
from poolwise.method.dictionaries.kmeans import learn_dictionary, one_round
from poolwise.support.parameters import ParameterError

ROUNDS = list(KMeans.words)
METHODS = [word for word in DICTIONARIES.by_word if word != "axes"]  # which are at most as many as numbers


@pytest.fixture
def X(rng):
    centres = 4 * rng.normal(size=(12, 10))
    return (centres[rng.integers(12, size=5000)] + rng.normal(size=(5000, 10))).astype(np.float32)


def part_of(method, settings):
    """The part with that word, and as many of the settings as it has."""
    part = DICTIONARIES.check("dictionary", method)
    return part.but(**{name: value for name, value in settings.items() if name in part.described()})


def learn(X, K, *, method="kmeans", seed=0, n_jobs=1, update=None, **settings):
    watch = {} if update is None else {"update": update}
    with Threads(n_jobs) as engine:
        return part_of(method, settings).learn(HeldArray(X, engine), K, rng=np.random.default_rng(seed), **watch)


def naive_round(X, C, method):
    """One round as the recipe words it, patch by patch."""
    sums, counts, value = np.zeros_like(C), np.zeros(len(C), int), 0.0
    for p in X.astype(np.float64):
        if method == "omp1":
            k = np.argmax(np.abs(C @ p))
            weight, residual = C[k] @ p, p - (C[k] @ p) * C[k]
        elif method == "spherical":
            k = np.argmax(C @ p)
            weight, residual = 1.0, p - C[k]
        else:
            k = np.argmin(((p - C) ** 2).sum(axis=1))
            weight, residual = 1.0, p - C[k]
        sums[k] += weight * p
        counts[k] += 1
        value += residual @ residual
    return sums, counts, value


@pytest.mark.parametrize("method", ROUNDS)
@pytest.mark.parametrize("K", [1, 3, 7, 40])
def test_a_round_against_a_loop_over_patches(X, rng, method, K):
    C = rng.normal(size=(K, 10))
    if method in ("spherical", "omp1"):
        C /= np.linalg.norm(C, axis=1, keepdims=True)
    C = C.astype(np.float32).astype(np.float64)
    with Threads(2) as engine:
        sums, counts, value = one_round(HeldArray(X[:2500], engine), C, method)
    expected = naive_round(X[:2500], C, method)
    np.testing.assert_array_equal(counts, expected[1])
    np.testing.assert_allclose(sums, expected[0], rtol=1e-5, atol=1e-3)
    assert value == pytest.approx(expected[2], rel=1e-5)


def test_lloyd_is_scikit_learns_from_the_same_start(X):
    start = X[:12]
    theirs = cluster.KMeans(12, init=start, n_init=1, max_iter=5, tol=0, algorithm="lloyd").fit(X)
    C = start.astype(np.float64)
    with Threads(2) as engine:
        for _ in range(5):
            sums, counts, _ = one_round(HeldArray(X, engine), C)
            C = sums / counts[:, None]
        value = one_round(HeldArray(X, engine), C)[2]
    np.testing.assert_allclose(C, theirs.cluster_centers_, atol=1e-4)
    assert value == pytest.approx(theirs.inertia_, rel=1e-5)


def test_whole_runs_end_as_low_as_scikit_learns(rng):
    X = rng.normal(size=(3000, 8)).astype(np.float32)  # no clusters: all local optima are nearly as good
    ours = learn(X, 30, max_iter=100).objective[-1]
    theirs = cluster.KMeans(30, init="random", n_init=1, random_state=0).fit(X).inertia_
    assert ours == pytest.approx(theirs, rel=0.02)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), K=st.integers(1, 30), method=st.sampled_from(ROUNDS))
def test_the_objective_never_rises(seed, K, method):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(400, 5)) * rng.uniform(0.1, 3, size=5) + rng.normal(size=5)).astype(np.float32)
    objective = np.array(learn(X, K, seed=seed, method=method, max_iter=15, tol=0.0).objective)
    assert (np.diff(objective) <= 1e-5 * objective[0]).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("init", ["patches", "noise"])
@pytest.mark.parametrize("K", [1, 2, 50, 200])
def test_k_codes_come_out_different_finite_and_of_unit_norm(rng, method, init, K):
    # Few directions, many copies: 250 different patches of which many point the same way.
    base = rng.normal(size=(220, 6))
    X = np.vstack([base, 3 * base[:30], np.zeros((500, 6)), np.repeat(base[:1], 2000, axis=0)]).astype(np.float32)
    codes = learn(X, K, method=method, init=init, max_iter=10).codes
    assert codes.shape == (K, 6)
    assert codes.dtype == np.float32
    assert np.isfinite(codes).all()
    if method != "centroids":
        np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1, atol=1e-6)
    distance = np.linalg.norm(codes[:, None] - codes[None], axis=2) + 10 * np.eye(K)
    assert distance.min() > 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_fewer_different_patches_than_codes_is_a_clear_error(method):
    X = np.repeat(np.eye(4, dtype=np.float32), 100, axis=0)
    assert len(learn(X, 4, method=method).codes) == 4
    if method == "gaussian":  # needs no patches
        return
    with pytest.raises(ValueError, match="5 codes were asked for, but there are only 4 different patches"):
        learn(X, 5, method=method)


def test_patches_that_differ_only_in_length_are_one_code():
    X = np.outer(np.arange(1, 101), [1.0, 2.0, 2.0]).astype(np.float32)
    with pytest.raises(ValueError, match="3 codes were asked for"):
        learn(X, 3)
    assert len(learn(X, 3, method="centroids").codes) == 3


@pytest.mark.parametrize("method", ["kmeans", "spherical", "omp1"])
def test_patches_without_any_contrast_are_a_clear_error(method):
    with pytest.raises(ValueError, match="1 codes were asked for, but there are only 0 different patches"):
        learn(np.zeros((100, 6), np.float32), 1, method=method)


@pytest.mark.parametrize("seed", range(20))
def test_omp1_treats_a_code_and_its_negative_as_one(rng, seed):
    p, q = rng.normal(size=(2, 8))
    X = np.vstack([np.tile(p, (50, 1)), np.tile(-p, (50, 1)), q]).astype(np.float32)
    codes = learn(X, 2, seed=seed, method="omp1", max_iter=1).codes
    assert abs(codes[0] @ codes[1]) < 1 - 1e-6


@pytest.mark.parametrize("method", ["kmeans", "centroids", "spherical", "omp1"])
def test_an_empty_cluster_takes_a_random_patch(rng, method):
    # Far from the origin one of the noise centres wins every patch and the others stay empty.
    X = (np.array([50.0, 0, 0, 0]) + rng.normal(size=(1000, 4))).astype(np.float32)
    codes = learn(X, 5, method=method, init="noise", max_iter=1).codes
    if method == "centroids":
        near = np.linalg.norm(codes[:, None] - X[None], axis=2).min(axis=1) < 1e-5
        assert near.sum() >= 3
        assert np.linalg.norm(codes, axis=1).min() > 40
    else:
        assert np.abs(codes[:, 0]).min() > 0.98


def test_noise_starts_a_tenth_of_a_standard_normal_from_the_origin(X):
    start = learn(X, 5, init="noise", max_iter=1).objective[0]
    C = 0.1 * np.random.default_rng(0).standard_normal((5, 10))  # a draw of the same size
    expected = ((X[:, None] - C) ** 2).sum(axis=2).min(axis=1).sum()
    assert start == pytest.approx(expected, rel=0.03)
    assert learn(X, 5, init="patches", max_iter=1).objective[0] < 0.9 * start


def test_gaussian_codes_point_everywhere_alike():
    codes = learn(np.eye(30, dtype=np.float32), 2000, method="gaussian").codes
    assert np.abs(codes.mean(axis=0)).max() < 0.02
    flatness = (codes**4).mean() / (codes**2).mean() ** 2
    assert flatness == pytest.approx(3 * 30 / 32, rel=0.03)  # of directions in 30 dimensions


def test_one_code_of_centred_patches_is_a_patch_and_not_rounding(rng):
    X = rng.normal(size=(1000, 6)).astype(np.float32)
    X -= X.mean(axis=0)
    X = np.vstack([X, -X])  # the mean is zero but for rounding
    code = learn(X, 1).codes[0]
    cosines = X @ code / np.linalg.norm(X, axis=1)
    assert cosines.max() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("offset", [0, 1000, 3000])
def test_centroids_of_data_far_from_the_origin_are_kept(rng, offset):
    X = (offset + rng.normal(size=(2000, 8))).astype(np.float32)
    learned = learn(X, 40, method="centroids", max_iter=30)
    distances = np.linalg.norm(X[:, None].astype(np.float64) - learned.codes, axis=2)
    assert (distances.min(axis=1) ** 2).sum() == pytest.approx(learned.objective[-1], rel=0.01)
    assert learned.objective[-1] < 0.6 * X.var(axis=0).sum() * len(X)


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_bits_on_1_2_and_4_threads(X, method):
    runs = [learn(X, 30, n_jobs=n, method=method, max_iter=8).codes.tobytes() for n in (1, 2, 4)]
    assert runs[0] == runs[1] == runs[2]
    if method != "gaussian":
        assert learn(X, 30, seed=1, method=method, max_iter=8).codes.tobytes() != runs[0]


def test_it_shows_rounds_objective_and_convergence(X):
    seen = []
    done = learn(X, 12, max_iter=200, update=lambda round, note: seen.append((round, note)))
    assert done.converged
    assert seen == [(round, f"objective {value:.6g}") for round, value in enumerate(done.objective, start=1)]
    assert done.n_iter == len(seen) < 200
    stopped = learn(X, 200, max_iter=2)
    assert not stopped.converged
    assert stopped.n_iter == 2


def test_stops_when_the_movement_is_under_tol_times_the_mean_variance(X):
    tol = 1e-2
    done = learn(X, 12, method="centroids", tol=tol)
    C, movements = None, []
    for rounds in range(1, done.n_iter + 1):
        new = learn(X, 12, method="centroids", tol=0.0, max_iter=rounds).codes
        movements.append(np.inf if C is None else ((new - C) ** 2).sum())
        C = new
    stop = tol * X.var(axis=0).mean()
    assert movements[-1] <= stop * 1.001
    assert all(movement > stop * 0.999 for movement in movements[1:-1])


@pytest.mark.parametrize("method", ["kmeans", "centroids"])
def test_a_round_of_patches_less_an_origin(rng, engine, method):
    X = (1000 + rng.normal(size=(3000, 6))).astype(np.float32)
    origin, C = X.mean(axis=0), rng.normal(size=(5, 6))
    moved = one_round(HeldArray(X, engine), C, method, origin)
    expected = one_round(HeldArray(X - origin, engine), C, method)
    for found, wanted in zip(moved, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [0, 1000])
def test_the_patches_are_left_as_they_were(X, method, offset):
    X += offset
    before = X.copy()
    learn(X, 10, method=method, max_iter=3)
    np.testing.assert_array_equal(X, before)


def test_a_part_learns_what_the_room_learns(X, engine):
    kmeans, held = KMeans("omp1", init="noise", max_iter=3, tol=0.0), HeldArray(X, engine)
    by_part = kmeans.learn(held, 7, rng=np.random.default_rng(0))
    by_room = learn_dictionary(held, 7, kmeans, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(by_part.codes, by_room.codes)
    assert by_part.n_iter == by_room.n_iter == 3


def test_random_codes_take_no_rounds(X):
    for method in RandomCodes.words:
        found = learn(X, 5, method=method)
        assert (found.objective, found.n_iter, found.converged) == ([], 0, True)


@pytest.mark.parametrize("word", ["kmean", "K-means", "", None])
def test_an_unknown_word_is_refused(word):
    with pytest.raises(
        ParameterError, match="dictionary must be one of 'kmeans', 'centroids', 'spherical', 'omp1', 'patches', 'g"
    ):
        DICTIONARIES.check("dictionary", word)
    with pytest.raises(ParameterError, match="method must be one of 'kmeans', 'centroids', 'spherical', 'omp1'; got"):
        DICTIONARIES.check("dictionary", KMeans(word))


@pytest.mark.parametrize("word", ["patches", "typo", None])
def test_the_room_refuses_an_unknown_method(X, engine, rng, word):
    with pytest.raises(ParameterError, match="method must be one of 'kmeans', 'centroids', 'spherical', 'omp1'; got"):
        KMeans(word).learn(HeldArray(X, engine), 3, rng=rng)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (KMeans(init="typo"), "init must be one of 'patches', 'noise'; got 'typo'"),
        (RandomCodes("typo"), "kind must be one of 'patches', 'gaussian'; got 'typo'"),
    ],
)
def test_the_room_refuses_other_unknown_words_too(X, engine, rng, part, text):
    with pytest.raises(ParameterError, match=text):
        DICTIONARIES.check("dictionary", part)
    with pytest.raises(ParameterError, match=text):
        part.learn(HeldArray(X, engine), 3, rng=rng)


def test_a_round_refuses_an_unknown_method(X, engine):
    with pytest.raises(ParameterError, match="method must be one of 'kmeans', 'centroids', 'spherical', 'omp1'; got 'typo'"):
        one_round(HeldArray(X, engine), X[:3], "typo")
