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

from poolwise.datasets import fetch_cifar10, load_photos

THREADS = 2


def load_labelled() -> tuple[str, np.ndarray, np.ndarray]:
    """Real images (n, 32, 32, 3) uint8 and labels: CIFAR-10 where POOLWISE_DATA has it, else the embedded photos."""
    home = os.environ.get("POOLWISE_DATA")
    if home and (Path(home) / "cifar-10-batches-bin").is_dir():
        return "cifar10", *fetch_cifar10(data_home=home, return_X_y=True)
    return "photos (POOLWISE_DATA is not set)", *load_photos(return_X_y=True)


def load_images(n: int) -> tuple[str, np.ndarray]:
    """n of these images, repeated if there are fewer."""
    source, images, _ = load_labelled()
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
