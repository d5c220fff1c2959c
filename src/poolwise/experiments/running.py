"""Measure the cells that the store lacks, one starting dictionary after the other, and tell how long it will take."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from poolwise import __version__
from poolwise.experiments.cells import Cell
from poolwise.experiments.classify import classify
from poolwise.experiments.protocols import PROTOCOLS, QUICK, QUICK_TEST, QUICK_TRAIN, Data, Home
from poolwise.experiments.start import Start
from poolwise.experiments.store import Store

Tell = Callable[[str], None]

_FIRST_GUESS = 4e10


@dataclass
class Settings:
    """What holds for a whole run: where data is, threads, whether stages show their progress."""

    home: Home = None
    n_jobs: int | None = None
    verbose: bool = False

    def __post_init__(self) -> None:
        self._loaded: tuple[str, bool, Data] | None = None

    def data(self, dataset: str, quick: bool) -> Data:
        """A data set; the last one stays in memory."""
        if self._loaded is None or self._loaded[:2] != (dataset, quick):
            self._loaded = None
            whole = PROTOCOLS[dataset].load(self.home)
            self._loaded = dataset, quick, whole.quick() if quick else whole
        return self._loaded[2]


def measure(cells: Iterable[Cell], store: Store, settings: Settings, tell: Tell) -> None:
    """Bring every cell that is missing into the store; interrupted, it goes on where it was."""
    missing = store.missing(cells)
    starts: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in missing:
        starts.setdefault(cell.start, []).append(cell)
    clock = Clock([_work(*start) for start in starts])
    done = 0
    for number, (start, some) in enumerate(starts.items()):
        dataset, M, seed, quick = start
        left = say_seconds(clock.left)
        tell(f"{dataset}, {M} codes, seed {seed}: dictionary {number + 1} of {len(starts)}, about {left} to go")
        begun = time.perf_counter()
        data, protocol = settings.data(dataset, quick), PROTOCOLS[dataset]
        source = Start(protocol, data, M, seed, quick, settings.n_jobs, settings.verbose)
        for cell in some:
            X_train, X_test, known = source.cut(cell)
            result = classify(cell, X_train, X_test, data, protocol.gamma, settings.n_jobs)
            known["seconds"]["svm"] = result.pop("svm_seconds")
            known["seconds"] = {stage: round(seconds, 2) for stage, seconds in known["seconds"].items()}
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            store.add(cell, {**result, **known, "version": __version__, "finished": now})
            done += 1
            tell(f"{done} of {len(missing)}: {cell.key}: {result['accuracy']:.2%}")
            del X_train, X_test
        del source  # before the next one is made: its features are gigabytes
        clock.tick(time.perf_counter() - begun)


class Clock:
    """How long the rest will take, from what the work done so far took; before that, from what it took on two cores of a Xeon.

    work : of each dictionary and what is cut from it, in multiplications

    >>> clock = Clock([1e10, 2e10, 4e10])
    >>> clock.tick(10)
    >>> clock.left
    60.0
    """

    def __init__(self, work: list[float]) -> None:
        self._work = work
        self._seconds: list[float] = []

    def tick(self, seconds: float) -> None:
        """One more dictionary is done."""
        self._seconds.append(seconds)

    @property
    def left(self) -> float:
        """Seconds."""
        done = sum(self._work[: len(self._seconds)])
        per_second = done / sum(self._seconds) if self._seconds else _FIRST_GUESS
        return (sum(self._work) - done) / per_second


def _work(dataset: str, M: int, seed: int, quick: bool) -> float:
    """Of one dictionary, roughly: products of images and patches with M codes, and messages between these."""
    positions, d, images = (124 * 124, 75, 17_782) if dataset == "cub200" else (27 * 27, 108, 60_000)
    images = 13_000 if dataset.startswith("stl10") else images
    images = min(images, QUICK_TRAIN + QUICK_TEST) if quick else images
    patches, rounds = (QUICK["n_patches"], QUICK["max_iter"]) if quick else (400_000, 100)
    return float(M) * (d * (positions * images + rounds * patches) + 2_000 * M)


def say_seconds(seconds: float) -> str:
    """
    >>> say_seconds(59), say_seconds(600), say_seconds(9000)
    ('1 min', '10 min', '2 h 30 min')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
