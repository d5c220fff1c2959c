"""Work on a cluster of processes: the same bits as on threads, whatever the workers and whatever happens to them."""

import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import poolwise
from poolwise import KMeans, LinearSVM, Pool, PooledFeatures, StackedFeatures, Threshold, open_images
from poolwise.engine import connecting
from poolwise.engine.current import here
from poolwise.engine.errors import ClusterError
from poolwise.engine.threads import HeldArray, Threads
from poolwise.images import ImageError
from poolwise.images.mirrored import Mirrored
from poolwise.method.dictionaries.kmeans import learn_dictionary
from poolwise.method.statistics import moments_of_rows
from poolwise.support.rows import RowsOf

from small import write_pngs

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
from poolwise.engine import sending  # noqa: E402
from poolwise.engine.cluster import Cluster  # noqa: E402

QUICK = {"n_patches": 9000, "dictionary": KMeans(max_iter=4), "random_state": 0}
PAPER = {"pooling": Pool(grid=2), "encoder": Threshold(0.25, two_sided=False), "symmetry": None, "selection": "affinity"}
SETTINGS = {
    "defaults": {},
    "plain": {**PAPER, "n_candidates": None},
    "paper": PAPER,
    "super-patches": {**PAPER, "n_super_patches": 700},
    "nodata, statistics": {"nodata": 0, "statistics": True, "selection": "affinity"},
    "cells": {**PAPER, "scale": "cell", "dictionary": KMeans("centroids", max_iter=3)},
    "second order": {"n_candidates": None, "pooling": "second_order", "pooling__directions": 20},
    "sift": {**PAPER, "descriptor": "sift", "descriptor__bins": 2, "dictionary": "convolutional", "dictionary__shifts": 1},
    "omp": {"n_candidates": None, "encoder": "omp", "whitening__rank": "auto", "dictionary": "patches"},
}


@pytest.fixture(scope="module")
def client():
    """Two processes."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def images(photos):
    return photos[:120, :24, :24]


@pytest.fixture(scope="module")
def labels():
    return np.arange(120) % 3


def make(samples, factor):
    """Rows 2 s and 2 s + 1 of every sample s."""
    rows = (samples[:, None] * 2 + np.arange(2)).ravel()
    return rows, (factor * np.sin(rows[:, None] * np.arange(1, 6))).astype(np.float32)


def shifted(block, add):
    return block[:, ::-1] - block[0] + add


def halved(block):
    return block[:, :2]


def test_map_gives_the_results_in_the_order_of_the_shards(client):
    with poolwise.cluster(client), here(1) as engine:
        assert list(engine.map(pow, range(900), 2)) == [number**2 for number in range(900)]
        assert list(engine.map(abs, [])) == []
        assert [part.sum() for part in engine.map(np.multiply, (np.arange(3) + i for i in range(40)), 2.0)] == [
            6.0 + 6 * i for i in range(40)
        ]


def test_held_rows_are_those_of_threads(client):
    order = np.random.default_rng(0).permutation(9001)
    shards = np.split(order, [5, 4000, 6000])
    found = {}
    for kind, where in (("threads", None), ("cluster", client)):
        engine = Threads(2) if where is None else Cluster(where)
        with engine:
            held = engine.hold(make, shards, 3.0, n=18002)
            rows = [held.take(order), held.take(order[:0])]
            held.replace(shifted, 0.5, size=1000)
            rows += [held.take(np.arange(18002)), *held.map(halved, size=4096)]
            held.replace(halved, size=18002)
            found[kind] = [held.shape, *rows, *held.map(np.sum, size=777), held.take(order[:7])]
    assert found["threads"][0] == found["cluster"][0] == (18002, 2)
    for ours, theirs in zip(found["cluster"][1:], found["threads"][1:], strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def learned(settings, images, labels, **more):
    """Everything that a fit gives, and features of the images."""
    model = PooledFeatures(6, **{**QUICK, **{name: value for name, value in settings.items() if "__" not in name}})
    model.set_params(**{name: value for name, value in settings.items() if "__" in name}, **more)
    X = model.fit_transform(images, labels)
    return model, [X, model.transform(images), model.codes_, model.objective_, model.selected_, model.layer_.scale.spread]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fit_gives_the_same_bits(client, images, labels, name):
    expected = learned(SETTINGS[name], images, labels)[1]
    with poolwise.cluster(client):
        found = learned(SETTINGS[name], images, labels)[1]
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)


def test_a_stack_and_its_classifier_give_the_same_bits(client, images, labels):
    def fitted():
        layers = [PooledFeatures(4, **QUICK, **PAPER, n_candidates=None) for _ in range(2)]
        stack = StackedFeatures([layers[0], layers[1].set_params(descriptor__size=2)], map_cells=5)
        X = stack.fit(images, labels).transform(images)
        return X, LinearSVM().fit(X, labels).coef_

    expected = fitted()
    with poolwise.cluster(client):
        found = fitted()
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))


def test_any_number_of_workers_gives_the_same_bits(client, images, labels):
    expected = learned(PAPER, images, labels)[1]
    try:
        for count in (1, 3, 5):
            client.cluster.scale(count)
            client.wait_for_workers(count)
            with poolwise.cluster(client):
                found = learned(PAPER, images, labels)[1]
            assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
    finally:
        client.cluster.scale(2)


def test_workers_open_files_and_maps_themselves(client, images, labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = learned(PAPER, images, labels)[1]
    np.save("images.npy", np.concatenate([images[:1], images]))
    write_pngs(tmp_path / "folder", images, ["all"] * len(images))
    mapped = np.load("images.npy", mmap_mode="r")[1:]
    sources = [mapped, open_images("folder"), open_images("folder", memory=0), RowsOf(mapped, np.arange(120))]
    sources.append(Mirrored(Mirrored(mapped)))
    with poolwise.cluster(client):
        for source in sources:
            found = learned(PAPER, source, labels)[1]
            assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
        monkeypatch.setattr(sending, "MOST_BYTES", images.nbytes // 2)
        with pytest.raises(ClusterError, match=r"MB of images are in this process's memory.*np\.save"):
            learned(PAPER, images, labels)


def test_patches_on_the_workers_need_no_memory_here(client, images, labels, monkeypatch):
    monkeypatch.setattr("poolwise.support.memory.available_bytes", lambda: 3_000_000)  # and 9,000 patches have 3.9 MB
    with pytest.raises(MemoryError, match="the sample of 9,000 local vectors"):
        learned(PAPER, images, labels)
    with poolwise.cluster(client):
        assert len(learned(PAPER, images, labels)[0].codes_) == 6


def test_what_cannot_travel_is_named(client, images, labels):
    class Locked:
        def __init__(self):
            self.turn = threading.Lock()

        def __len__(self):
            return len(images)

        def __getitem__(self, number):
            return images[number]

    with poolwise.cluster(client), pytest.raises(ClusterError, match=r"images of type ItemImages cannot be sent.*np\.save"):
        learned(PAPER, open_images(Locked()), labels)


def test_a_large_value_arrives_in_pieces(client):
    value = {"a": np.random.default_rng(0).normal(size=(1300, 1000)), "b": np.ones((0, 3)), "c": "text"}
    found = sending.send(client, value, "test").result()
    assert np.array_equal(found["a"], value["a"])
    assert (found["b"].shape, found["c"]) == ((0, 3), "text")


def test_images_of_files_travel_as_names(images, tmp_path):
    np.save(tmp_path / "images.npy", images)
    write_pngs(tmp_path / "folder", images[:5], ["all"] * 5)
    for where, n in ((tmp_path / "images.npy", 120), (tmp_path / "folder", 5)):
        source = open_images(where)
        sent = pickle.dumps(source)
        assert len(sent) < 3000
        assert np.array_equal(pickle.loads(sent)[:], images[:n])  # noqa: S301


def test_errors_of_tasks_are_those_of_threads(client, images, tmp_path):
    write_pngs(tmp_path, images, ["all"] * len(images))
    next((tmp_path / "all").iterdir()).write_text("no picture")
    broken = sorted((tmp_path / "all").iterdir())[7]
    source = open_images(tmp_path) if broken.read_bytes() else None
    broken.write_text("no picture")
    with poolwise.cluster(client), pytest.raises(ImageError, match="its content is not a PNG"):
        PooledFeatures(6, **QUICK, **PAPER).fit(source)


@pytest.mark.cluster
def test_rows_of_a_worker_that_dies_are_computed_again(client, images):
    kmeans, killed = KMeans(max_iter=6, tol=0.0), []
    client.wait_for_workers(2)

    def kill(done, note=""):
        if done in (2, 4):
            pid = next(iter(client.run(os.getpid).values()))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    def run(engine, update):
        rng = np.random.default_rng(0)
        held = PooledFeatures().recipe.descriptor.sample(images, 9000, rng=rng, engine=engine)
        return learn_dictionary(held, 10, kmeans, rng=rng, update=update)

    with Threads(2) as engine:
        expected = run(engine, lambda done, note="": None)
    with Cluster(client) as engine:
        found = run(engine, kill)
    assert len(set(killed)) == 2
    assert np.array_equal(found.codes, expected.codes)
    assert found.objective == expected.objective


def test_a_scheduler_that_goes_is_an_error_in_words(images):
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
        Cluster(client) as engine,
    ):
        held = engine.hold(make, [np.arange(5000)], 1.0, n=10000)

        def stop(done, note=""):
            workers.close()

        with pytest.raises(ClusterError, match=r"scheduler at .* cannot be reached any more"):
            learn_dictionary(held, 4, KMeans(), rng=np.random.default_rng(0), update=stop)


def test_no_scheduler_no_address_and_no_dask(monkeypatch):
    monkeypatch.setattr(connecting, "_SECONDS_TO_CONNECT", 0.5)
    with pytest.raises(ClusterError, match=r"no scheduler at tcp://127.0.0.1:9"), poolwise.cluster("tcp://127.0.0.1:9"):
        pass
    with pytest.raises(ValueError, match=r"address such as tcp://HOST:8786.*got 'local:none'"), poolwise.cluster("local:none"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'poolwise\[dask\]'"), poolwise.cluster():
        pass


def test_workers_that_differ_are_named(client, monkeypatch):
    own = os.getpid()
    monkeypatch.setattr(
        connecting, "_kind_of_machine", lambda: {"NumPy": "2.9" if __import__("os").getpid() == own else "2.1", "CPU": "same"}
    )
    with pytest.warns(UserWarning, match=r"NumPy is 2\.9 here, but 2\.1 on tcp://"), poolwise.cluster(client):
        pass


def test_without_the_context_work_stays_here(client):
    with here(1) as engine:
        assert isinstance(engine.hold(make, [np.arange(3)], 1.0, n=6), HeldArray)
    with poolwise.cluster(client), here(1) as engine:
        assert not engine.shares_memory
        assert engine.local.shares_memory


def wavy(number, rows, columns):
    """Rows that are far from 0, and their number."""
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    return np.sin(x * (number + 1)) + 5, number


@pytest.mark.parametrize(("rows", "columns"), [(500, 30), (4096, 700), (30, 330)])
def test_moments_of_rows_on_workers_are_those_of_threads(client, rows, columns):
    found = {}
    for name, engine in (("threads", Threads(2)), ("cluster", Cluster(client))):
        seen = []
        with engine:
            moments = moments_of_rows(
                engine,
                wavy,
                range(9),
                *(rows, columns),
                counts=[rows] * 9,
                width=columns,
                each=lambda number, other, seen=seen: seen.append((number, other)),
            )
        assert seen == [(number, number) for number in range(9)]
        found[name] = moments
    assert found["threads"].n == found["cluster"].n == 9 * rows
    assert np.array_equal(found["threads"].mean, found["cluster"].mean)
    assert np.array_equal(found["threads"].scatter, found["cluster"].scatter)
    X = np.concatenate([wavy(number, rows, columns)[0] for number in range(9)])
    np.testing.assert_allclose(found["cluster"].covariance(), np.cov(X.T, ddof=0), atol=1e-4)
