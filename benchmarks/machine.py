"""What all benchmarks share: the images, the machine's limit, and timing that a noisy machine cannot fool.

Candidates of one benchmark take turns, and what is reported is the median over turns of the ratio within a turn: a neighbour
who slows the machine for a second slows everybody in that turn.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

THREADS = 2


def load_images(n: int) -> tuple[str, np.ndarray]:
    """n real images of 32×32×3 uint8: CIFAR-10 where POOLWISE_DATA has it, else the embedded photos, repeated."""
    folder = Path(os.environ.get("POOLWISE_DATA", "")) / "cifar-10-batches-bin"
    if os.environ.get("POOLWISE_DATA") and folder.is_dir():
        rows = [np.fromfile(folder / f"data_batch_{i}.bin", np.uint8).reshape(-1, 3073)[:, 1:] for i in range(1, 6)]
        images = np.concatenate(rows).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        source = "cifar10"
    else:
        from poolwise.datasets import load_photos

        images, source = load_photos().images, "photos (POOLWISE_DATA is not set)"
    return source, np.ascontiguousarray(np.resize(images, (n, 32, 32, 3)))


def sgemm() -> tuple[Callable[[], None], float]:
    """The machine's limit: a 3000³ float32 product on two threads, and its floating-point operations."""
    a, c = np.random.default_rng(0).random((3000, 3000), np.float32), np.empty((3000, 3000), np.float32)

    def run() -> None:
        with threadpool_limits(THREADS, user_api="blas"):
            np.dot(a, a, out=c)

    return run, 2 * 3000.0**3


def take_turns(candidates: dict[str, Callable[[], None]], turns: int) -> dict[str, list[float]]:
    """Seconds of each candidate in each turn, after one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(turns + 1):
        for name, run in candidates.items():
            time.sleep(0.1)  # threads of the one before may still spin for work
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def median_ratio(numerator: list[float], denominator: list[float]) -> float:
    """Median over turns of the ratio within a turn."""
    return round(statistics.median(a / b for a, b in zip(numerator, denominator, strict=True)), 3)
