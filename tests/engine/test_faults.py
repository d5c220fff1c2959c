"""What goes wrong with a cluster ends in words: no workers, workers that stand still, code that they cannot import."""

import time

import numpy as np
import pytest

import poolwise
from poolwise.engine.current import here
from poolwise.engine.errors import ClusterError

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
import dask  # noqa: E402

from poolwise.engine import waiting  # noqa: E402


@pytest.fixture
def cluster(monkeypatch):
    """One worker in this process, looked at often."""
    monkeypatch.setattr(waiting, "_SECONDS_BETWEEN_LOOKS", 0.1)
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as workers:
        yield workers


def numbers_without_workers(cluster):
    """Numbers of which each asks for a task; the worker goes before the third."""
    for number in range(1000):
        if number == 2:
            cluster.scale(0)
            while cluster.scheduler.workers:
                time.sleep(0.01)
        yield number


def test_no_worker_left_is_a_warning_then_an_error_in_words(cluster):
    with distributed.Client(cluster) as client, poolwise.cluster(client), here(1) as engine:
        with (
            dask.config.set({"poolwise.no-workers-timeout": "1s"}),
            pytest.warns(UserWarning, match=r"scheduler at .* has no workers; waiting up to 1 s"),
            pytest.raises(ClusterError, match=r"has had no workers for 1 s; start some with `dask worker`"),
        ):
            list(engine.map(abs, numbers_without_workers(cluster)))
        cluster.scale(1)
        assert list(engine.map(abs, [-1, 2])) == [1, 2]


def test_a_cluster_without_workers_is_refused(cluster):
    cluster.scale(0)
    with distributed.Client(cluster) as client:
        while client.nthreads():
            time.sleep(0.01)
        with (
            dask.config.set({"poolwise.no-workers-timeout": "0.2s"}),
            pytest.raises(ClusterError, match=r"has had no workers for 0\.2 s"),
            poolwise.cluster(client),
        ):
            pass


def test_workers_that_stand_still_are_an_error_in_words(cluster, monkeypatch):
    monkeypatch.setattr(waiting, "_SECONDS_UNTIL_ASKED", 0.5)
    monkeypatch.setattr(waiting, "_SECONDS_STILL", 3.0)
    with distributed.Client(cluster) as client, poolwise.cluster(client), here(1) as engine:
        assert list(engine.map(slow, [4.0], 2)) == [2]  # long work is work
        worker = next(iter(cluster.workers.values()))
        worker.memory_manager.memory_pause_fraction = False  # else it goes on as soon as it has looked at its memory
        worker.loop.add_callback(setattr, worker, "status", distributed.Status.paused)
        with pytest.raises(ClusterError, match=r"has 1 workers, but none has been at work for 3 s.*client\.restart"):
            list(engine.map(abs, range(100)))
        while cluster.scheduler.tasks:  # what nobody waits for any more is not begun later
            time.sleep(0.01)


def slow(seconds, value):
    time.sleep(seconds)
    return value


def test_the_order_in_which_tasks_end_changes_nothing(cluster):
    cluster.scale(5)
    with distributed.Client(cluster) as client, poolwise.cluster(client), here(1) as engine:
        client.wait_for_workers(5)
        seconds = np.linspace(0.2, 0, 40)
        assert list(engine.map(slow, seconds, "same")) == ["same"] * 40
        assert list(engine.map(tardy, seconds)) == seconds.tolist()
        held = engine.hold(rows_of, [np.arange(start, 20_000, 5) for start in range(5)], n=20_000)
        sums = list(held.map(tardy_sum, size=1000))
        assert np.array_equal(sums, np.arange(20_000.0).reshape(20, 1000).sum(axis=1))


def tardy(seconds):
    return slow(seconds, float(seconds))


def rows_of(samples):
    return samples, samples[:, None].astype(np.float64)


def tardy_sum(block):
    return slow(0.1 / (1 + block[0, 0]), block.sum())


def test_code_that_workers_cannot_import_is_an_error_in_words(tmp_path, monkeypatch):
    with poolwise.cluster("local:1") as client, here(1) as engine:
        (tmp_path / "only_here.py").write_text("def square(x):\n    return x * x\n\n\nclass Power:\n    by = 3\n")
        monkeypatch.syspath_prepend(tmp_path)
        import only_here

        with pytest.raises(ClusterError, match=r"sent for only_here\.square: No module named 'only_here'.*upload_file"):
            list(engine.map(only_here.square, [1, 2]))
        with pytest.raises(ClusterError, match=r"sent for builtins\.pow: No module named 'only_here'"):
            list(engine.map(pow, [1, 2], only_here.Power()))
        client.upload_file(str(tmp_path / "only_here.py"))
        assert list(engine.map(only_here.square, [1, 2])) == [1, 4]
