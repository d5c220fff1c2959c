"""The linear SVM on pooled features, against LinearSVC (liblinear) and the time that reading the features takes."""

import json
import statistics
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

from poolwise import LinearSVM, PooledFeatures
from poolwise.engine.threads import Threads

from machine import THREADS, load_labelled, take_turns

GAMMA, CODES, CLASSES = 0.005, 200, 10
TURNS = 5


def features(n: int, codes: int = CODES) -> tuple[str, np.ndarray, np.ndarray]:
    """(n, 4 · codes) float32 pooled features with the Nyström transform, of a short fit, and their labels."""
    source, images, labels = load_labelled()
    images, labels = np.resize(images, (n, *images.shape[1:])), np.resize(labels % CLASSES, n)
    settings = {"dictionary": "patches", "selection": "kmedoids", "n_patches": 50_000, "n_jobs": THREADS, "random_state": 0}
    model = PooledFeatures.preset("jia2012", n_codes=codes, n_candidates=4 * codes, **settings).fit(images[: min(n, 5000)])
    return source, model.transform(images), labels


def objective(X: np.ndarray, y: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One class against the others for each row of W, in float64."""
    Y = np.where(y[:, None] == np.arange(len(W)), 1, -1)
    return (np.maximum(0, 1 - Y * (X.astype(np.float64) @ W.T + b)) ** 2).mean(axis=0) + GAMMA * (W**2).sum(axis=1)


def run(codes: int = CODES, timed: int = 2, limit: float | None = None) -> dict[str, object]:
    """Ten classes at 50,000 × 4 codes. liblinear solves one class after the other and is timed on the first few.

    limit : seconds after which it is stopped; the ratio is then at least what is reported
    """
    N = 50_000
    source, X, y = features(N, codes)
    ours = LinearSVM(GAMMA, n_jobs=THREADS)
    loose = LinearSVM(GAMMA, n_jobs=THREADS, tol=1e-4).fit(X, y)

    def read() -> None:
        with Threads(THREADS) as engine:
            engine.each(lambda rows: X[rows].sum(), N, 1000)

    seconds = take_turns({"ours": lambda: ours.fit(X, y), "read": read}, TURNS)
    wide = X.astype(np.float64)  # liblinear works in float64: its copy is not timed
    with ProcessPoolExecutor(1, get_context("fork"), _remember, (wide, y)) as pool:
        begin = time.perf_counter()
        try:
            peers = list(pool.map(_liblinear, range(timed), timeout=limit))
        except TimeoutError:
            peers = []
        peer = (time.perf_counter() - begin) * CLASSES / timed
        for process in pool._processes.values() if not peers else ():
            process.kill()
    mine, better = statistics.median(seconds["ours"]), None
    stopped = "" if peers else f", stopped after {limit:g} s: the ratio is at least this"
    if peers:
        best = objective(X, y, ours.coef_, ours.intercept_)
        theirs = objective(X, y, np.concatenate([W for W, _ in peers]), np.concatenate([b for _, b in peers]))
        better = float(f"{best[:timed].sum() / theirs.sum() - 1:.2e}")
    return {
        "name": "svm" if codes == CODES else f"svm-{X.shape[1]}",
        "ours": round(mine, 2),
        "peer": round(peer, 1),
        "ratio": round(peer / mine, 1),
        "unit": f"seconds to the minimum, {N} × {X.shape[1]}, {CLASSES} classes; the peer is LinearSVC(dual=False), "
        f"timed on {timed} of the {CLASSES} classes{stopped}",
        "rounds": {"tol=1e-4": loose.n_iter_, "tol=1e-5": ours.n_iter_},
        "converged": bool(ours.converged_),
        "our_objective_over_theirs_less_1": better,
        "in_readings_of_the_features": round(mine / statistics.median(seconds["read"]), 1),
        "threads": THREADS,
        "images": source,
    }


_DATA: list[np.ndarray] = []


def _remember(*arrays: np.ndarray) -> None:
    _DATA[:] = arrays


def _liblinear(c: int) -> tuple[np.ndarray, np.ndarray]:
    """Class c against the others; a scale of 10 leaves the bias nearly free: 1/100 of the weight that |w|² has."""
    X, y = _DATA
    svm = LinearSVC(C=1 / (2 * GAMMA * len(X)), dual=False, intercept_scaling=10).fit(X, y == c)
    return svm.coef_, svm.intercept_


def wide() -> dict[str, object]:
    """Fewer samples than features: ten classes at 1,000 × 3,200, everything timed."""
    source, X, y = features(1000, 800)
    ours = LinearSVM(GAMMA, n_jobs=THREADS)
    double = X.astype(np.float64)
    peer = LinearSVC(C=1 / (2 * GAMMA * len(X)), dual=False, intercept_scaling=10, max_iter=10_000)

    mine = statistics.median(take_turns({"ours": lambda: ours.fit(X, y)}, 3)["ours"])
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(double, y)  # once: it takes a minute
    theirs = time.perf_counter() - begin
    value = objective(X, y, ours.coef_, ours.intercept_).sum() / objective(X, y, peer.coef_, peer.intercept_).sum() - 1
    return {
        "name": "svm-wide",
        "ours": round(mine, 3),
        "peer": round(theirs, 2),
        "ratio": round(theirs / mine, 1),
        "unit": "seconds to the minimum, 1000 × 3200, 10 classes; the peer is LinearSVC(dual=False)",
        "rounds": ours.n_iter_,
        "our_objective_over_theirs_less_1": float(f"{value:.2e}"),
        "threads": THREADS,
        "images": source,
    }


CHILD = """
import json, sys
import numpy as np
from poolwise import LinearSVM
N, d = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
y = rng.integers(10, size=N)
X = rng.standard_normal((N, d), dtype=np.float32)
X[:, :10] += 2 * np.eye(10, dtype=np.float32)[y]
few = 4096 // 2
LinearSVM(n_jobs=2, max_iter=3, tol=0.5).fit(X[:few, :few // 2].copy(), y[:few])
def peak():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
open("/proc/self/clear_refs", "w").write("5")
before = peak()
svm = LinearSVM(n_jobs=2, max_iter=20, tol=1e-2).fit(X, y)
print(json.dumps([before, peak(), svm.n_iter_]))
"""


def memory(N: int, d: int) -> dict[str, object]:
    """Peak of the process beyond what it had with X in memory, in units of X; allowed are 0.3 and a square of float64."""
    name = "svm-memory" if d <= N else "svm-wide-memory"
    if not Path("/proc/self/clear_refs").exists():
        return {"name": name, "ours": None, "peer": None, "ratio": None, "skipped": "needs Linux's /proc"}
    command = [sys.executable, "-W", "ignore", "-c", CHILD, str(N), str(d)]
    before, after, rounds = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    size, square = 4 * N * d, 8 * min(N, d) ** 2
    return {
        "name": name,
        "ours": round((after - before) / 1e6, 1),
        "peer": round((0.3 * size + square) / 1e6, 1),
        "ratio": round((after - before) / (0.3 * size + square), 3),
        "unit": f"MB beyond X of {size / 1e6:.0f} MB, {N} × {d}; the peer is 0.3 X and {min(N, d)}² float64 numbers",
        "rounds": rounds,
        "threads": THREADS,
    }
