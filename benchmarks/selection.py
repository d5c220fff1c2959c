"""Selection: affinity propagation beside scikit-learn's, the search for K beside one run, covariance beside BLAS's own."""

import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from poolwise import PooledFeatures
from poolwise.engine.threads import Threads
from poolwise.method.selection.affinity import Messages, find_exemplars, propagate
from poolwise.method.selection.choosing import similarity
from poolwise.method.statistics import CovarianceStream

from machine import THREADS, load_images, median_ratio, sgemm, take_turns

ROUNDS, TURNS, PREFERENCE, DAMPING = 100, 5, -1.0, 0.8


def pooled_similarity(M: int) -> tuple[str, np.ndarray]:
    """Of M random patches as codes, pooled over 2,000 images."""
    source, images = load_images(2000)
    settings = {"dictionary": "patches", "selection": "random", "projection": None, "n_patches": 20_000}
    model = PooledFeatures.preset("jia2012", n_codes=1, n_candidates=M, **settings, n_jobs=THREADS, random_state=0)
    return source, similarity(model.fit(images).covariance_)


def messages() -> dict[str, object]:
    from sklearn.cluster import affinity_propagation

    M = 3200
    source, S = pooled_similarity(M)

    def ours() -> None:
        with Threads(THREADS) as engine:
            state = Messages(S, engine, DAMPING)
            np.fill_diagonal(S, PREFERENCE)
            for _ in range(ROUNDS):
                state.round()

    def peer(rounds: int, dtype: type = np.float32) -> float:
        T = S.astype(dtype)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is asked not to converge
            affinity_propagation(
                T, preference=PREFERENCE, damping=DAMPING, max_iter=rounds, convergence_iter=rounds, copy=False, random_state=0
            )
        return time.perf_counter() - begin

    best = min((np.float32, np.float64), key=lambda dtype: peer(12, dtype) - peer(2, dtype))
    ours()
    seconds: dict[str, list[float]] = {"ours": [], "peer": [], "copy": []}
    A, B = np.zeros((M, M), np.float32), np.ones((M, M), np.float32)
    for _ in range(3):
        time.sleep(0.1)
        begin = time.perf_counter()
        ours()
        seconds["ours"].append(time.perf_counter() - begin)
        seconds["peer"].append(peer(ROUNDS + 2, best) - peer(2, best))  # without what it does before and after
        begin = time.perf_counter()
        with Threads(THREADS) as engine:
            for _ in range(10):
                engine.each(lambda rows: np.add(A[rows], B[rows], out=A[rows]), M, 100)
        seconds["copy"].append((time.perf_counter() - begin) * ROUNDS * 5 / 3 / 10)  # a round moves five matrices, A += B three
    return {
        "name": "affinity-messages",
        "ours": round(statistics.median(seconds["ours"]), 3),
        "peer": round(statistics.median(seconds["peer"]), 3),
        "ratio": median_ratio(seconds["peer"], seconds["ours"]),
        "unit": f"seconds for {ROUNDS} rounds at M = {M}; the peer is scikit-learn's affinity_propagation",
        "peer_precision": np.dtype(best).name,
        "share_of_memory_rate": median_ratio(seconds["copy"], seconds["ours"]),
        "threads": THREADS,
        "images": source,
    }


def search() -> dict[str, object]:
    M, K = 1600, 200
    source, S = pooled_similarity(M)
    with Threads(THREADS) as engine:
        found = find_exemplars(S.copy(), K, rng=np.random.default_rng(0), engine=engine)
        one = propagate(S.copy(), found.preference, rng=np.random.default_rng(0), engine=engine)
        seconds = take_turns(
            {
                "search": lambda: find_exemplars(S.copy(), K, rng=np.random.default_rng(0), engine=engine),
                "one run": lambda: propagate(S.copy(), found.preference, rng=np.random.default_rng(0), engine=engine),
            },
            TURNS,
        )
    return {
        "name": "affinity-search",
        "ours": round(statistics.median(seconds["search"]), 3),
        "peer": round(statistics.median(seconds["one run"]), 3),
        "ratio": median_ratio(seconds["search"], seconds["one run"]),
        "unit": f"seconds to exactly {K} of {M}; the peer is one run at the preference found, from scratch. Lower is better",
        "found": {"rounds": found.rounds, "tries": found.tries, "merges": found.merges, "splits": found.splits},
        "one_run": {"rounds": one.rounds, "exemplars": len(one.exemplars), "converged": one.converged},
        "threads": THREADS,
        "images": source,
    }


def covariance() -> dict[str, object]:
    M, n = 1600, 40_000
    X = np.random.default_rng(0).random((n, M), np.float32)
    limit, limit_flops = sgemm()

    def ours() -> None:
        with Threads(THREADS) as engine:
            stream = CovarianceStream(M, engine)
            for start in range(0, n, 64):  # as blocks of images come
                stream.add(X[start : start + 64])
            stream.moments()

    def syrk() -> None:
        with threadpool_limits(THREADS, user_api="blas"):
            X.T @ X  # NumPy sees the symmetry and calls ssyrk

    seconds = take_turns({"ours": ours, "syrk": syrk, "sgemm": limit}, TURNS)
    return {
        "name": "covariance",
        "ours": round(statistics.median(seconds["ours"]), 3),
        "peer": round(statistics.median(seconds["syrk"]), 3),
        "ratio": median_ratio(seconds["syrk"], seconds["ours"]),
        "unit": f"seconds for {n:,} samples of {M}, 64 at a time; the peer is one ssyrk of all of them at once",
        "share_of_sgemm": round(median_ratio(seconds["sgemm"], seconds["ours"]) * n * M * M / limit_flops, 3),
        "threads": THREADS,
    }


MEMORY = """
import json, resource, sys
import numpy as np
from poolwise.method.selection.affinity import find_exemplars
from poolwise.engine.threads import Threads

def resident():
    return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize()
M = 3200
rng = np.random.default_rng(0)
def make(M):
    X = rng.normal(size=(64, M)).astype(np.float32)
    X /= np.linalg.norm(X, axis=0)
    S = np.minimum(2 * (X.T @ X) - 2, 0)
    return S
with Threads(2) as engine:
    find_exemplars(make(100), 10, rng=rng, engine=engine)
    S = make(M)
    open('/proc/self/clear_refs', 'w').write('5')
    before = resident() - S.nbytes
    find_exemplars(S, 200, rng=rng, engine=engine)
peak = [int(l.split()[1]) * 2**10 for l in open('/proc/self/status') if l.startswith('VmHWM')][0]
print(json.dumps((peak - before) / S.nbytes))
"""


def memory() -> dict[str, object]:
    if not Path("/proc/self/clear_refs").exists():
        return {"name": "affinity-memory", "ours": None, "peer": None, "ratio": None, "skipped": "needs Linux's /proc"}
    out = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    matrices = json.loads(out.stdout)
    return {
        "name": "affinity-memory",
        "ours": round(matrices, 3),
        "peer": 3.0,
        "ratio": round(matrices / 3, 3),
        "unit": "M×M float32 matrices resident at the peak of a search for 200 of 3200, S among them; the peer is S, R and A",
    }
