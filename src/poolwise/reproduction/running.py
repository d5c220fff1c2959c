"""Run experiments: measure what the store lacks, one starting dictionary after the other, and say how long is left."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from poolwise import __version__
from poolwise.reproduction import budget, defaults, domains, parts
from poolwise.reproduction.anatomy import taken_apart
from poolwise.reproduction.cells import Cell, a_quarter, in_runs
from poolwise.reproduction.classify import classify
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.protocols import (
    PROTOCOLS,
    QUICK_ITERATIONS,
    QUICK_PATCHES,
    QUICK_TEST,
    QUICK_TRAIN,
    Home,
    Settings,
    protocol_here,
)
from poolwise.reproduction.start import Start
from poolwise.reproduction.store import Store

Say = Callable[[str], None]

_MULTIPLICATIONS_PER_SECOND = 4e10  # before anything was measured: two cores of a Xeon


def cells_of(
    chosen: Sequence[Experiment],
    *,
    first_seed: int = 0,
    runs: int | None = None,
    quick: bool = False,
    codes: Sequence[int] = (),
    home: Home = None,
) -> list[Cell]:
    """The cells that experiments need, each once, a run after the other: the first of all, then the second.

    codes : only cells with that many codes kept; empty for all
    """
    cells: dict[Cell, None] = {}
    most = max((runs or one.runs for one in chosen), default=0)
    for run in range(most):
        for one in chosen:
            if run < (runs or one.runs):
                wanted = [cell for cell in one.cells() if not codes or cell.K in codes]
                cells |= dict.fromkeys(in_runs(wanted, [first_seed + run]))
    here = [replace(cell, dataset=protocol_here(cell.dataset, home)) for cell in cells]
    return [a_quarter(cell) for cell in here] if quick else here


def run(
    chosen: Sequence[Experiment],
    store: Store,
    settings: Settings,
    say: Say,
    *,
    seed: int = 0,
    runs: int | None = None,
    quick: bool = False,
    codes: Sequence[int] = (),
) -> None:
    """Measure what the store lacks: cells first, then the models that are taken apart."""
    cells = cells_of(chosen, first_seed=seed, runs=runs, quick=quick, codes=codes, home=settings.home)
    measure(sorted(cells, key=_order), store, settings, say)
    for variant in dict.fromkeys(variant for one in chosen for variant in one.variants):
        say(f"codes and their responses, {variant}")
        taken_apart(store, settings, variant, seed, quick)
    for one in chosen:
        wanted = [row for row in one.settings if not codes or row.K in codes]
        seeds = range(seed, seed + (runs or one.runs))
        budget.measure(wanted, store, settings, say, seeds=seeds, quick=quick)
        defaults.measure(one.defaults, store, settings, say, seeds=seeds, quick=quick)
        domains.measure(one.domains, store, settings, say, seeds=seeds, quick=quick)
        some = [row for row in one.parts if not codes or row.K in codes]
        parts.measure(some, store, settings, say, seeds=seeds, quick=quick)


def _order(cell: Cell) -> tuple[int, str, int]:
    """One run after the other, in it one data set after the other, in it the small dictionaries first."""
    return cell.seed, cell.dataset, cell.M


def measure(cells: Iterable[Cell], store: Store, settings: Settings, say: Say) -> None:
    """Measure every cell that the store lacks; after an interrupt it continues where it stopped."""
    missing = store.missing(cells)
    starts: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in missing:
        starts.setdefault(cell.start, []).append(cell)
    clock = Clock([_work(*start) for start in starts])
    done = 0
    for number, (start, some) in enumerate(starts.items()):
        dataset, M, seed, quick = start
        left = say_seconds(clock.left)
        say(f"{dataset}, {M} codes, seed {seed}: dictionary {number + 1} of {len(starts)}, about {left} to go")
        begun = time.perf_counter()
        data, protocol = settings.data(dataset, quick), PROTOCOLS[dataset]
        source = Start(protocol, data, M, seed=seed, quick=quick, n_jobs=settings.n_jobs, verbose=settings.verbose)
        for cell in some:
            X_train, X_test, known = source.features_of(cell)
            result = classify(cell, X_train, X_test, data, protocol.gamma, settings.n_jobs)
            known["seconds"]["svm"] = result.pop("svm_seconds")
            known["seconds"] = {stage: round(seconds, 2) for stage, seconds in known["seconds"].items()}
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            store.add(cell, {**result, **known, "version": __version__, "finished": now})
            done += 1
            say(f"{done} of {len(missing)}: {cell.key}: {result['accuracy']:.2%}")
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
        per_second = done / sum(self._seconds) if self._seconds else _MULTIPLICATIONS_PER_SECOND
        return (sum(self._work) - done) / per_second


def _work(dataset: str, M: int, seed: int, quick: bool) -> float:
    """Of one dictionary, roughly: products of images and patches with M codes, and messages between these."""
    protocol = PROTOCOLS[dataset]
    images = min(protocol.n_images, QUICK_TRAIN + QUICK_TEST) if quick else protocol.n_images
    patches, rounds = (QUICK_PATCHES, QUICK_ITERATIONS) if quick else (400_000, 100)
    return float(M) * (protocol.d * (protocol.positions * images + rounds * patches) + 2_000 * M)


def say_seconds(seconds: float) -> str:
    """
    >>> say_seconds(59), say_seconds(600), say_seconds(9000)
    ('1 min', '10 min', '2 h 30 min')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
