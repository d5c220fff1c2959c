"""Workers and clients killed at random moments over the stages of `fit`: nothing is lost, and the bits are those of threads.

By `make test-cluster`; POOLWISE_KILLS says how many workers, 20 where it is not set. Five clients go on with `--resume`.
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
from poolwise import KMeans, LinearSVM, PooledFeatures

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
import dask  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

KILLS = int(os.environ.get("POOLWISE_KILLS", "20"))
KILLED_CLIENTS = 5
MOST_SECONDS_BETWEEN = 3.0
MOST_SECONDS_OF_A_FIT = 180


def fitted(images, labels):
    """The features here, and the classifier on those that stay on the workers."""
    model = PooledFeatures(10, 40, n_patches=20_000, dictionary=KMeans(max_iter=10), random_state=0)
    X = model.fit_transform(images, labels)
    svm = LinearSVM().fit(model.hold(images), labels)
    return [X, model.codes_, model.selected_, model.objective_, svm.coef_, svm.intercept_]


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
        subprocess.run(fit, cwd=tmp_path / "out", check=True, timeout=MOST_SECONDS_OF_A_FIT)
        poolwise.load(tmp_path / "out" / "m.safetensors")
        assert os.listdir(tmp_path / "out") == ["m.safetensors"]


def is_running(pid):
    """Whether a process is there, and not a zombie that nobody has asked for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def processes_below(pid):
    """Its children, theirs, and so on."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            children = [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []
    return [*children, *(one for child in children for one in processes_below(child))]


@pytest.mark.cluster
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux's /proc")
def test_clients_that_are_killed_go_on_with_the_same_bits(photos, tmp_path):
    """`fit --cluster local:2 --checkpoint steps`, killed, then with --resume: no process stays, nothing is half written."""
    np.savez(tmp_path / "images.npz", x=np.repeat(photos, 8, axis=0), y=np.arange(8 * len(photos)) % 4)
    fit = [sys.executable, "-m", "poolwise", "fit", str(tmp_path / "images.npz"), "-o", "m.safetensors", "--quiet"]
    fit += ["--codes", "30", "--candidates", "90", "--patches", "40000", "--max-iter", "40", "--jobs", "1"]
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    subprocess.run(fit, cwd=here, check=True, timeout=MOST_SECONDS_OF_A_FIT)
    expected = load_file(here / "m.safetensors")
    on_cluster = [*fit, "--cluster", "local:2", "--checkpoint", "steps"]
    draw, killed, went_on, seconds = random.Random(0), 0, 0, MOST_SECONDS_OF_A_FIT  # noqa: S311  (moments, not secrets)
    while killed < KILLED_CLIENTS or "m.safetensors" not in os.listdir(there):
        has_steps = os.path.isdir(there / "steps")
        begun = time.monotonic()
        process = subprocess.Popen([*on_cluster, *["--resume"] * has_steps], cwd=there)
        whole = seconds == MOST_SECONDS_OF_A_FIT or killed == KILLED_CLIENTS  # the first fit says how long one takes
        try:
            process.wait(MOST_SECONDS_OF_A_FIT if whole else draw.uniform(0.4, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            below = processes_below(process.pid)
            process.kill()
            process.wait()
            assert not whole, "a fit did not end"
            killed, went_on = killed + 1, went_on + has_steps
            while any(is_running(pid) for pid in below):  # the workers see that their client is gone
                time.sleep(0.1)
            assert "m.safetensors" not in os.listdir(there) or same(load_file(there / "m.safetensors"), expected)
            continue
        assert process.returncode == 0
        assert same(load_file(there / "m.safetensors"), expected)
        assert [name for name in os.listdir(there) if not name.endswith(".tmp")] == ["m.safetensors"]
        seconds = min(seconds, time.monotonic() - begun) if not has_steps else seconds
        if killed < KILLED_CLIENTS:
            os.remove(there / "m.safetensors")
    assert went_on
    poolwise.load(there / "m.safetensors")


def same(found, expected):
    return found.keys() == expected.keys() and all(np.array_equal(array, expected[name]) for name, array in found.items())
