"""One round of K-means at 400,000 × 108, K = 1600, against faiss and scikit-learn from the same centres."""

import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from poolwise.engine.threads import HeldArray, Threads
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries.kmeans import one_round
from poolwise.method.whitening import ZCA, fit_whitening, whiten

from machine import THREADS, load_images, median_ratio, sgemm

N, K, ROUNDS = 400_000, 1600, 5
TURNS = 3


def run() -> dict[str, object]:
    source, images = load_images(10_000)
    rng = np.random.default_rng(0)
    with Threads(THREADS) as engine:
        held = Patches().sample(images, N, rng=rng, engine=engine)
        whiten(held, fit_whitening(held, ZCA()))
        X = held.take(np.arange(N))
    start = X[rng.choice(N, K, replace=False)].copy()
    runners: dict[str, Callable[[int], np.ndarray]] = {"ours": lambda rounds: our_rounds(X, start, rounds)}
    skipped = {}
    try:
        # faiss's wheel carries an OpenBLAS that does not know newer CPUs and falls back to SSE, three times slower; tell it.
        cores = [lib["architecture"] for lib in threadpool_info() if lib.get("architecture")]
        os.environ.setdefault("OPENBLAS_CORETYPE", cores[0] if cores else "")
        import faiss  # noqa: F401

        runners["faiss"] = lambda rounds: faiss_rounds(X, start, rounds)
    except ImportError as error:
        skipped["faiss"] = f"not installed: {error.name}"
    runners["scikit-learn"] = lambda rounds: sklearn_rounds(X, start, rounds)

    limit, limit_flops = sgemm()
    runners["ours"](1)
    limit()
    seconds: dict[str, list[float]] = {name: [] for name in (*runners, "sgemm")}
    objective = {}
    for turn in range(TURNS):
        begin = time.perf_counter()
        limit()
        seconds["sgemm"].append(time.perf_counter() - begin)
        for name, rounds in runners.items():
            time.sleep(0.1)  # threads of the one before may still spin for work
            if name == "scikit-learn" and turn:
                continue  # once is enough: it is slow
            times = {}
            for count in (1, 1 + ROUNDS):  # the difference leaves out what a library does before and after its rounds
                begin = time.perf_counter()
                rounds(count)
                times[count] = time.perf_counter() - begin
            seconds[name].append((times[1 + ROUNDS] - times[1]) / ROUNDS)
            if name not in objective:
                with Threads(THREADS) as engine:
                    objective[name] = one_round(HeldArray(X, engine), rounds(ROUNDS))[2]
    median = {name: statistics.median(values) for name, values in seconds.items()}
    for name, value in objective.items():
        assert abs(value / objective["ours"] - 1) < 1e-4, f"{name} ends elsewhere: {objective}"
    flops = 2.0 * N * K * X.shape[1]
    return {
        "name": "kmeans-round",
        "ours": round(median["ours"], 3),
        "peer": round(median["faiss"], 3) if "faiss" in median else None,
        "ratio": median_ratio(seconds["faiss"], seconds["ours"]) if "faiss" in median else None,
        "unit": "seconds per round; the peer is faiss",
        "times_faster_than_scikit_learn": round(median["scikit-learn"] / median["ours"], 2),
        "share_of_sgemm": round(median_ratio(seconds["sgemm"], seconds["ours"]) * flops / limit_flops, 3),
        f"objective_after_{ROUNDS}_rounds": {name: round(value, 1) for name, value in objective.items()},
        "skipped": skipped,
        "threads": THREADS,
        "images": source,
    }


def our_rounds(X: np.ndarray, start: np.ndarray, rounds: int) -> np.ndarray:
    C = start.astype(np.float64)
    with Threads(THREADS) as engine:
        for _ in range(rounds):
            sums, counts, _ = one_round(HeldArray(X, engine), C)
            C = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], C)
    return C


def faiss_rounds(X: np.ndarray, start: np.ndarray, rounds: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    kmeans = faiss.Kmeans(X.shape[1], len(start), niter=rounds, max_points_per_centroid=len(X))
    kmeans.train(X, init_centroids=start)
    return np.asarray(kmeans.centroids)


def sklearn_rounds(X: np.ndarray, start: np.ndarray, rounds: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    with threadpool_limits(THREADS):
        return KMeans(len(start), init=start, n_init=1, max_iter=rounds, tol=0).fit(X).cluster_centers_
