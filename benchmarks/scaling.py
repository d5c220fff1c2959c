"""A fit on 1, 2, ... worker processes with that many times the images, next to what `poolwise.planning.scaling` predicts.

Its constants are measured here first, on one thread. Where other programs run, seconds mean little: so the processor time of
all workers is compared with the work of the graph, too. docs/scale.md has what the constants predict for many machines.
"""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import poolwise
from poolwise import PooledFeatures
from poolwise.engine.current import here
from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries.kmeans import one_round
from poolwise.method.extraction import prepare
from poolwise.method.statistics import _add_sums, _sums_of_rows
from poolwise.method.whitening import ZCA, fit_whitening, whiten
from poolwise.planning.scaling import ROWS_PER_PART, Costs, Work, predict

from machine import load_images

IMAGES, CANDIDATES, CODES, PATCHES, ROUNDS = 3000, 400, 100, 40_000, 5  # images for each worker
WORKERS = (1, 2, 4)
_TASKS, _TRIPS, _PIECES, _NUMBERS = 1000, 20, 8, 1 << 20
_TURNS = 3
STAGES = ("patches", "whitening", "dictionary", "covariance", "selection")


def fastest(run: Callable[[], Any], clock: Callable[[], float] = time.process_time, turns: int = _TURNS) -> float:
    """Seconds of the turn that others disturbed least, after one to warm up; of this process's processor time."""
    seconds = []
    for _ in range(turns + 1):
        begun = clock()
        run()
        seconds.append(clock() - begun)
    return min(seconds[1:])


def features() -> PooledFeatures:
    given = {"n_patches": PATCHES, "dictionary__max_iter": ROUNDS, "dictionary__tol": 0.0, "random_state": 0, "n_jobs": 1}
    return PooledFeatures.preset("jia2012", n_codes=CODES, n_candidates=CANDIDATES, **given)


def numbers(piece: int, count: int) -> np.ndarray:
    return np.full(count, float(piece))


def measured_costs(images: np.ndarray) -> Costs:
    """Of this machine, on one thread, and of Dask with one worker process."""
    work, M = Work(len(images), CODES, CANDIDATES, PATCHES, ROUNDS), CANDIDATES
    features().fit(images[:500])  # compile
    fitted = features().fit(images)
    plain = PooledFeatures.preset("jia2012", n_codes=M, n_candidates=None, n_patches=4000, dictionary__max_iter=1, n_jobs=1)
    ready, block = prepare(plain.fit(images).layer_), images[: work.images_per_block]
    rows = np.random.default_rng(0).random((ROWS_PER_PART, M), np.float32)
    centre, tiles = np.zeros(M, np.float32), M * (M + 1) / 2
    with Threads(1) as engine:

        def sample() -> Any:
            return Patches().sample(images, PATCHES, rng=np.random.default_rng(0), engine=engine)

        held = sample()
        white = fastest(lambda: whiten(held, fit_whitening(held, ZCA())))
        encode = fastest(lambda: list(engine.map(ready.pooled, [block] * 8))) / (8 * len(block))
        assign = fastest(lambda: one_round(held, fitted.candidates_.codes))
        patch = fastest(sample)
        product = fastest(lambda: list(engine.map(_sums_of_rows, [rows.copy()], centre)))
        part = _sums_of_rows(rows.copy(), centre)
        state = _add_sums(None, part)
        add = fastest(lambda: [_add_sums(state, part) for _ in range(10)]) / 10
    with poolwise.cluster("local:1") as client, here(1) as there:
        before = spent(client)
        task = fastest(lambda: list(there.map(abs, range(8 * _TASKS)))) / _TASKS
        own = (spent(client) - before) / ((_TURNS + 1) * _TASKS)
        trip = fastest(lambda: [list(there.map(abs, [1])) for _ in range(_TRIPS)], time.perf_counter) / _TRIPS
        byte = fastest(lambda: list(there.map(numbers, range(_PIECES), _NUMBERS)), time.perf_counter) / (8 * _PIECES * _NUMBERS)
    return Costs(
        encode=encode / (work.positions * M * work.d),
        patch=patch / PATCHES,
        white=white / PATCHES,
        assign=assign / (PATCHES * M * work.d),
        product=product / (ROWS_PER_PART * tiles),
        add=add / tiles,
        task=task,
        own=own,
        trip=trip,
        byte=byte,
        select=fitted.timings_["selection"] / M**3,
    )


def spent(client: Any) -> float:
    """Processor time of all workers so far."""
    return sum(client.run(time.process_time).values())


def rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {stage: round(one, 2) for stage, one in seconds.items()}


def run() -> dict[str, object]:
    source, images = load_images(IMAGES * max(WORKERS))
    load = [round(os.getloadavg()[0], 1)]
    costs = measured_costs(images[:IMAGES])
    found: dict[int, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in WORKERS:
            name = Path(folder) / f"{workers}.npy"
            np.save(name, images[: workers * IMAGES])
            with poolwise.cluster(f"local:{workers}") as client:
                for _ in range(2):
                    features().fit(images[:500])  # compile, on all workers
                before = spent(client)
                taken = features().fit(np.load(name, mmap_mode="r")).timings_
                processor = spent(client) - before
            load.append(round(os.getloadavg()[0], 1))
            work = Work(workers * IMAGES, CODES, CANDIDATES, PATCHES, ROUNDS)
            expected = predict(work, min(workers, os.cpu_count() or 1), costs)
            free = replace(costs, task=0.0, trip=0.0, byte=0.0, select=0.0)
            alone = sum(predict(work, 1, free).values())
            measured = {stage: taken[stage] for stage in STAGES}
            found[workers] = {
                "measured": rounded({**measured, "all": sum(measured.values()), "processor": processor}),
                "predicted": rounded({**expected, "all": sum(expected.values()), "processor": alone}),
            }
    last = found[max(WORKERS)]
    return {
        "name": "scaling",
        "ours": last["measured"]["all"],
        "peer": last["predicted"]["all"],
        "ratio": round(last["predicted"]["all"] / last["measured"]["all"], 2),
        "unit": f"seconds of fit ({CODES} of {CANDIDATES} codes, {ROUNDS} rounds) on {max(WORKERS)} worker processes, "
        f"{IMAGES:,} images for each; the peer is the prediction. Workers beyond the {os.cpu_count()} cores are not counted",
        "workers": found,
        "costs": {name: float(f"{value:.3g}") for name, value in vars(costs).items()},
        "load": load,
        "images": source,
    }


if __name__ == "__main__":
    import json

    print(json.dumps(run()))
