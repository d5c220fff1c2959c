"""Features that stay on the workers, and the SVM on them: the bits are those of threads."""

import os
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest

import poolwise
from poolwise import LinearSVM, LinearSVMCV, Pool, PooledFeatures
from poolwise.engine.shards import Shards
from poolwise.engine.threads import Threads
from poolwise.svm import data

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")


@pytest.fixture(scope="module")
def client():
    """A process, to which the first test adds others."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def images(photos):
    return photos[:, :24, :24]


@pytest.fixture(scope="module")
def labels(images):
    return np.array(["cat", "dog", "owl"])[np.arange(len(images)) % 3]


@pytest.fixture(scope="module")
def model(images):
    return PooledFeatures(4, None, pooling=Pool(grid=2), n_patches=5000, random_state=0).fit(images)


@pytest.fixture
def small(monkeypatch):
    """Shards of 64 rows in blocks of 16, groups of two shards; no features are so few that they come to the client."""
    for name, value in (("_NUMBERS_PER_BLOCK", 500), ("_SMALL_BYTES", 0), ("_SHARDS_PER_GROUP", 2)):
        monkeypatch.setattr(data, name, value)


def learned(svm, X, labels, weight):
    svm.fit(X, labels, weight)
    return [svm.coef_, svm.intercept_, np.array([svm.objective_, svm.gamma_]), getattr(svm, "scores_", None)]


def test_a_classifier_has_the_same_bits_on_any_number_of_workers(client, small, images, labels, model):
    weight = np.random.default_rng(0).uniform(0.5, 1, len(images))
    X = model.transform(images)
    one, many = LinearSVM(class_weight="balanced"), LinearSVMCV(np.array([0.01]), cv=2)
    expected = learned(one, X, labels, weight), learned(many, X, labels, weight)
    for count in (1, 2, 5):
        client.cluster.scale(count)
        client.wait_for_workers(count)
        with poolwise.cluster(client):
            held = model.hold(images)
            assert isinstance(held, Shards)
            assert held.shape == X.shape
            for svm, bits in zip((one, many), expected, strict=True) if count == 2 else [(one, expected[0])]:
                for ours, theirs in zip(learned(svm, held, labels, weight), bits, strict=True):
                    assert np.array_equal(ours, theirs)
            assert np.array_equal(one.predict(held), one.predict(X))
    client.cluster.scale(3)


@pytest.mark.cluster
def test_a_worker_that_dies_changes_no_bit(client, small, images, labels, model):
    expected = learned(LinearSVM(), model.transform(images), labels, None)
    client.cluster.scale(3)
    client.wait_for_workers(3)
    with poolwise.cluster(client):
        held = model.hold(images)
        for moment in (0.1, 1.0, 2.0):
            pid = min(nanny.pid for nanny in client.cluster.workers.values() if nanny.pid)
            killer = threading.Timer(moment, kill, (pid,))
            killer.start()
            found = learned(LinearSVM(), held, labels, None)
            killer.join()
            for ours, theirs in zip(found[:3], expected[:3], strict=True):
                assert np.array_equal(ours, theirs)


def test_rows_that_are_far_from_0_and_many_classes(client, small):
    X, label = far(slice(0, 900), 30), np.arange(900) % 27
    expected = learned(LinearSVM(), X, label, None)
    with poolwise.cluster(client), poolwise.engine.current.here(1) as engine:
        held = Shards.computed(engine, far, data.rows_per_shard(*X.shape), X.shape, X.dtype, 30)
        assert len(held._futures) > 8
        assert np.array_equal(held.gather(), X)
        assert np.array_equal(held.take([899, 3]), X[[899, 3]])
        found = learned(LinearSVM(), held, label, None)
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        assert np.array_equal(ours, theirs)


def far(rows, d):
    """Columns whose mean is a thousand times their spread."""
    return (np.sin(np.arange(rows.start, rows.stop)[:, None] * np.arange(1, d + 1) ** 0.5) + 1000).astype(np.float32)


def test_more_columns_than_rows_come_to_the_client(client, small, images, labels, model):
    few = slice(0, 40)
    expected = LinearSVM().fit(model.transform(images[few]), labels[few])
    with poolwise.cluster(client):
        found = LinearSVM().fit(model.hold(images[few]), labels[few])
    assert model.n_features_out_ > 40
    assert np.array_equal(found.coef_, expected.coef_)


def test_what_does_not_fit_is_refused(client, images, labels, model):
    with poolwise.cluster(client):
        held = model.hold(images)
        with pytest.raises(ValueError, match="there are 160 rows of features, but 7 labels"):
            LinearSVM().fit(held, labels[:7])
        with pytest.raises(ValueError, match="rows have 64 features, but this model was fitted on 3"):
            LinearSVM().fit(np.eye(3), [0, 1, 0]).predict(held)


def test_without_a_cluster_they_are_an_array(images, model):
    assert np.array_equal(model.hold(images), model.transform(images))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_sums_are_those_of_shards_in_their_order(small, n):
    X = np.random.default_rng(n).normal(size=(n, 10)).astype(np.float32)
    beside = np.arange(2 * n, dtype=np.float32).reshape(2, n)
    with Threads(2) as engine:
        found = data.Here(X, engine).sum(lambda X, R: R @ X, beside=[beside])
    block, shard = data.rows_per_block(n, 10), data.rows_per_shard(n, 10)
    groups = []
    for g in range(0, n, 2 * shard):
        shards = []
        for s in range(g, min(n, g + 2 * shard), shard):
            rows = [slice(b, min(n, b + block, s + shard)) for b in range(s, min(n, s + shard), block)]
            shards.append(sum((beside[:, some] @ X[some]).astype(np.float64) for some in rows))
        groups.append(sum(shards))
    assert np.array_equal(found, sum(groups))


def kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
