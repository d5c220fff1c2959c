"""The simulated graph of a fit against closed forms and bounds, and against the tasks that a cluster really gets."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from poolwise.planning import scaling
from poolwise.planning.scaling import (
    Costs,
    Graph,
    Work,
    a_map,
    a_reduction,
    chunks_of,
    predict,
    shards_per_task,
    simulate,
    tasks_per_group,
)

COSTS = Costs(3e-11, 2e-5, 1e-5, 2e-11, 3e-11, 1e-9, 1e-3, 2e-3, 1e-2, 2e-9, 1e-8)
FREE = replace(COSTS, task=0.0, own=0.0, trip=0.0, byte=0.0)
WORK = Work(20_000, candidates=300, patches=50_000, rounds=5)
WORKERS = (1, 2, 3, 5, 17, 100)


def drawn(seed):
    """A graph of tasks of random length, each of which needs some of those before it."""
    rng, graph = np.random.default_rng(seed), Graph()
    for number in range(120):
        after = rng.integers(max(1, number), size=rng.integers(0, 4)) if number else []
        graph.add(float(rng.exponential()), sorted({int(one) for one in after}))
    return graph


@pytest.mark.parametrize("seed", range(5))
def test_any_graph_is_within_the_bounds_of_list_scheduling(seed):
    graph = drawn(seed)
    assert simulate(graph, 1) == pytest.approx(graph.work)
    assert simulate(graph, 120) == pytest.approx(graph.longest_path)
    for workers in WORKERS:
        seconds, share = simulate(graph, workers), graph.work / workers
        assert max(share, graph.longest_path) <= seconds * (1 + 1e-12)
        assert seconds <= share + (1 - 1 / workers) * graph.longest_path + 1e-9
        assert simulate(graph, workers, 0.1) >= max(seconds, 0.1 * 120)  # every task waits for the one scheduler
    assert simulate(graph, 1, own=0.5) == pytest.approx(graph.work + 0.5 * 120)


@pytest.mark.parametrize("workers", WORKERS)
def test_equal_tasks_take_whole_turns(workers):
    """No worker waits while groups are sent as their results are taken."""
    assert simulate(a_map(970, 2.0, 0.0, workers, FREE), workers) == pytest.approx(2.0 * math.ceil(970 / workers))


def test_more_workers_never_take_longer_for_equal_tasks():
    taken = [simulate(a_map(640, 1.0, 0.0, workers, FREE), workers) for workers in range(1, 40)]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] == 640


def test_the_client_takes_results_one_after_the_other():
    costs = replace(FREE, byte=1e-3)
    assert simulate(a_map(64, 1e-6, 1000.0, 64, costs), 64) == pytest.approx(64.0, rel=1e-3)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_reduction_has_all_the_work_and_adds_up_in_a_row(workers):
    graph = a_reduction(WORK.images, WORK, workers, FREE)
    M, rows = WORK.candidates, WORK.images * WORK.cells
    tiles, parts = M * (M + 1) / 2, rows / 4096
    adding = math.ceil(math.ceil(parts) / 4) - 1
    encoding = WORK.images * FREE.encode * WORK.positions * M * WORK.d
    sums = (math.ceil(parts) * tiles + math.ceil(parts) / 4 * M * M) * FREE.add
    assert graph.work == pytest.approx(encoding + rows * tiles * FREE.product + sums)
    assert graph.longest_path >= adding * (4 * tiles + M * M) * FREE.add
    assert max(graph.work / workers, graph.longest_path) <= simulate(graph, workers) * (1 + 1e-12)


def test_one_worker_takes_the_sum_of_the_work():
    whole = sum(predict(WORK, 1, FREE).values())
    encoding = a_reduction(WORK.images, WORK, 1, FREE).work
    kmeans = 5 * WORK.patches * 300 * 108 * FREE.assign
    assert whole == pytest.approx(encoding + kmeans + WORK.patches * (FREE.patch + FREE.white) + 300**3 * FREE.select)


def test_what_is_not_simulated_goes_on_as_the_last_half(monkeypatch):
    work, whole = replace(WORK, images=400_000), {}
    for most in (100, 60_000):
        monkeypatch.setattr(scaling, "_MOST_TASKS", most)
        whole[most] = [predict(work, workers, COSTS)["covariance"] for workers in (2, 5)]
    np.testing.assert_allclose(whole[100], whole[60_000], rtol=0.02)


def test_kmeans_has_32_tasks_and_a_scheduler_has_a_limit():
    many = [predict(replace(WORK, rounds=100), workers, COSTS)["dictionary"] for workers in (32, 1000)]
    assert many[0] == pytest.approx(many[1], rel=0.05)
    slow = replace(COSTS, task=1.0)
    tasks = 10**6 / (8 * WORK.images_per_block)
    assert predict(replace(WORK, images=10**6), 1000, slow)["covariance"] >= 2 * tasks


def test_sizes_are_those_of_the_engine():
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
    from poolwise import PooledFeatures
    from poolwise.engine.cluster import Cluster
    from poolwise.method.extraction import block_size

    for workers in WORKERS:
        engine = Cluster(None)
        engine.__dict__["n_threads"] = workers
        assert engine.shards_per_group() == tasks_per_group(workers) * scaling.SHARDS_PER_TASK
        for shards in (1, 31, 33, 500, 100_000):
            assert engine.shards_per_task(shards) == shards_per_task(shards, workers)
    images = np.zeros((20, 32, 32, 3), np.uint8)
    images[::2] = np.random.default_rng(0).integers(0, 256, size=(10, 32, 32, 3))
    model = PooledFeatures.preset("jia2012", n_codes=20, n_candidates=None, n_patches=2000, dictionary__max_iter=1).fit(images)
    assert block_size(model.layer_, images.shape[1:]) == Work(20, candidates=20).images_per_block


def test_a_cluster_gets_the_tasks_that_are_simulated(photos, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
    import poolwise
    from poolwise.engine.cluster import Cluster

    images = np.resize(photos, (1500, 32, 32, 3))
    given = {"n_patches": 40_000, "dictionary__max_iter": 3, "dictionary__tol": 0.0, "random_state": 0}
    model = poolwise.PooledFeatures.preset("jia2012", n_codes=10, n_candidates=40, **given)
    counted, real = Counter(), Cluster.tasks

    def tasks(self, task, name, shards, sent):
        counted[name] += len(shards)
        return real(self, task, name, shards, sent)

    submit = distributed.Client.submit

    def submitted(self, function, *arguments, key=None, **more):
        counted[str(key).partition("-")[0]] += 1
        return submit(self, function, *arguments, key=key, **more)

    monkeypatch.setattr(Cluster, "tasks", tasks)
    monkeypatch.setattr(distributed.Client, "submit", submitted)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
        poolwise.cluster(client),
    ):
        model.fit(images)
    work = Work(1500, candidates=40, patches=40_000, rounds=3)
    graph = a_reduction(work.images, work, 1, COSTS)
    on_workers = len(graph.seconds) - sum(graph.on_client)
    assert counted["assign"] == 3 * chunks_of(40_000, 1250, 1)
    assert counted["from_array"] == math.ceil(40_000 / 4096)
    assert counted["normalize_contrast"] == counted["moments"] == chunks_of(40_000, 16384, 1)
    assert 2 * counted["rows"] + counted["part"] + counted["add"] == on_workers


def test_the_table_of_the_docs_is_what_is_predicted():
    docs = Path(__file__).parents[2] / "docs" / "scale.md"
    lines = docs.read_text(encoding="utf-8").splitlines()
    for images, workers in ((10**7, 100), (10**7, 1000), (10**9, 100), (10**9, 1000)):
        found = predict(Work(images), workers, scaling.MEASURED)
        seconds = (found["dictionary"], found["covariance"], found["selection"], sum(found.values()))
        assert f"| {images:,} | {workers:,} | " + " | ".join(f"{one:,.0f}" for one in seconds) + " |" in lines
