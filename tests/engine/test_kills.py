"""Workers and clients killed at random moments over the stages of `fit`: nothing is lost, and the bits are those of threads.

By `make test-cluster`; POOLWISE_KILLS says how many workers, 20 where it is not set.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

import poolwise
from poolwise import KMeans, PooledFeatures

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
import dask  # noqa: E402

KILLS = int(os.environ.get("POOLWISE_KILLS", "20"))
MOST_SECONDS_BETWEEN = 3.0


def fitted(images, labels):
    model = PooledFeatures(10, 40, n_patches=20_000, dictionary=KMeans(max_iter=10), random_state=0)
    X = model.fit_transform(images, labels)
    return [X, model.codes_, model.selected_, model.objective_]


@pytest.mark.cluster
def test_workers_that_are_killed_change_no_bit(photos):
    labels, killed, done = np.arange(len(photos)) % 4, [], threading.Event()
    expected = fitted(photos, labels)
    draw = random.Random(0)  # noqa: S311  (moments, not secrets)
    often = {"distributed.scheduler.allowed-failures": 10 * KILLS, "poolwise.no-workers-timeout": "5 minutes"}
    with dask.config.set(often), poolwise.cluster("local:2") as client:

        def kill():
            while len(killed) < KILLS and not done.wait(draw.uniform(0, MOST_SECONDS_BETWEEN)):
                while not client.nthreads() and not done.wait(0.1):
                    pass  # one has joined, or there would be kills and no work
                pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
                if pids:
                    with suppress(ProcessLookupError):  # it was killed a moment ago
                        os.kill(pid := draw.choice(pids), signal.SIGKILL)
                        killed.append(pid)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            while killer.is_alive():
                found = fitted(photos, labels)
                assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
        finally:
            done.set()
            killer.join()
    assert len(killed) == KILLS


@pytest.mark.cluster
def test_a_client_that_is_killed_leaves_nothing_behind(photos, tmp_path):
    """On the scheduler no task, in the folder no model: and the next fit is as ever."""
    np.savez(tmp_path / "images.npz", x=np.repeat(photos, 20, axis=0), y=np.arange(20 * len(photos)) % 4)
    (tmp_path / "out").mkdir()
    with poolwise.cluster("local:1") as client:
        tasks = client.cluster.scheduler.tasks
        fit = [sys.executable, "-m", "poolwise", "fit", str(tmp_path / "images.npz"), "-o", "m.safetensors", "--codes", "20"]
        fit += ["--candidates", "60", "--patches", "20000", "--quiet", "--cluster", client.scheduler.address]
        for seconds in (0.0, 1.0, 3.0):
            process = subprocess.Popen(fit, cwd=tmp_path / "out")
            while not tasks:
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(seconds)
            process.kill()
            process.wait()
            while tasks:
                time.sleep(0.01)
            assert not os.path.exists(tmp_path / "out" / "m.safetensors")
        subprocess.run(fit, cwd=tmp_path / "out", check=True)
        poolwise.load(tmp_path / "out" / "m.safetensors")
        assert os.listdir(tmp_path / "out") == ["m.safetensors"]
