"""Workers killed at random moments over the stages of `fit`: nothing is lost, and the bits are those of threads.

By `make test-cluster`; POOLWISE_KILLS says how many, 20 where it is not set.
"""

import os
import random
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest

import poolwise
from poolwise import KMeans, PooledFeatures

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")

KILLS = int(os.environ.get("POOLWISE_KILLS", "20"))
MOST_SECONDS_BETWEEN = 3.0


def fitted(images, labels):
    model = PooledFeatures(10, 40, n_patches=20_000, dictionary=KMeans(max_iter=10), random_state=0)
    X = model.fit_transform(images, labels)
    return [X, model.codes_, model.selected_, model.objective_]


@pytest.mark.cluster
def test_workers_that_are_killed_change_no_bit(photos):
    import dask

    labels, killed, done = np.arange(len(photos)) % 4, [], threading.Event()
    expected = fitted(photos, labels)
    draw = random.Random(0)  # noqa: S311  (moments, not secrets)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10 * KILLS}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
    ):

        def kill():
            while len(killed) < KILLS and not done.wait(draw.uniform(0, MOST_SECONDS_BETWEEN)):
                pids = [nanny.pid for nanny in workers.workers.values() if nanny.pid]
                if pids:
                    with suppress(ProcessLookupError):  # it was killed a moment ago
                        os.kill(pid := draw.choice(pids), signal.SIGKILL)
                        killed.append(pid)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with poolwise.cluster(client):
                while killer.is_alive():
                    found = fitted(photos, labels)
                    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(found, expected, strict=True))
        finally:
            done.set()
            killer.join()
    assert len(killed) == KILLS
