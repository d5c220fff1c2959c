"""`tune`: a search for the setting that suits labelled images, by successive halving over factors.

    views         first order: grids, pooling, thresholds and sides of one dictionary              few images
    second order  grids, normalisation, codes, scale                                               few images
    banks         the best of both with other patches, whitening, symmetry, selection              few images
    combinations  the best third, and the winners of different factors together                    three times as many
    finalists     a handful                                                                        as many as time allows

Choices are made on held-out images alone. Differences are judged on the same images, by their paired standard error.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from poolwise.engine.current import here
from poolwise.support.missing import Nodata
from poolwise.support.parameters import Number, Whole
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.tuning.budget import Budget
from poolwise.tuning.effects import Effect, References, effects_of, order_effects
from poolwise.tuning.evaluate import compile_loops
from poolwise.tuning.limits import Limits
from poolwise.tuning.phases import Phases
from poolwise.tuning.result import Search, Trial, best_of, frontier_of, latest
from poolwise.tuning.settings import ORDERS, Setting, fits
from poolwise.tuning.space import Space, make_space
from poolwise.tuning.splits import Task, split
from poolwise.tuning.store import Store, fingerprint
from poolwise.tuning.task import as_task, may_choose_by_labels

_MEASURED_AT_END = 14
_FEWEST_TO_COMPILE_WITH = 8


def tune(
    images: Any,
    labels: Any = None,
    n_codes: int = 200,
    *,
    seconds: float | str | None = "auto",
    trials: int | None = None,
    milliseconds: float | None = None,
    max_features: int | None = None,
    nodata: Nodata = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    store: str | Path | None = None,
    verbose: int = 0,
) -> Search:
    """Search for the setting of `PooledFeatures` that suits labelled images best.

    Parameters
    ----------
    images : (n, H, W, c), (n, H, W), or a source from `open_images`
    labels : (n,) classes, or real numbers, which are predicted by ridge regression and scored by R²; default: those of a source
    n_codes : int
        At most this many codes.
    seconds : float, "auto" or None
        How long to search, checked between trials. "auto": 120, or without a limit where `trials` are given.
    trials : int or None
        How many trials. Without seconds no clock decides: the same seed gives the same result, on any number of threads.
    milliseconds : float or None
        Leave out settings that take longer for an image.
    max_features : int or None
        Leave out settings with more features.
    nodata : "nan", float or None
        What pixels without data hold, as in `PooledFeatures`; every trial and `best` leave these out. None: as the images were
        opened.
    random_state : int, RandomState instance or None
    n_jobs : int or None
        Threads.
    store : path of a folder, or None
        Where trials are remembered: a search of the same images, labels, codes and seed takes known ones from there.
    verbose : int
        Show progress on stderr.

    Returns
    -------
    Search
        `search.best` is the setting chosen, not fitted. An interrupt (Ctrl-C) gives the best so far, with
        `search.interrupted`.

    Examples
    --------
    >>> from poolwise import tune
    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(0, 256, size=(60, 12, 12, 1), dtype=np.uint8)
    >>> images[::2] //= 2
    >>> search = tune(images, np.arange(60) % 2, n_codes=4, trials=6)
    >>> len(search.trials), search.best.n_codes <= 4
    (6, True)
    """
    return search_task(
        as_task(images, labels, nodata=nodata),
        n_codes,
        Budget.of(seconds, trials),
        Limits(milliseconds, max_features),
        random_state=random_state,
        n_jobs=n_jobs,
        store=store,
        stages=Stages(bool(verbose), "tune "),
    )


def search_task(
    task: Task,
    n_codes: int,
    budget: Budget,
    limits: Limits,
    *,
    random_state: Any,
    n_jobs: int | None,
    store: str | Path | None,
    stages: Stages,
) -> Search:
    """The same for a task that was checked."""
    Whole(1).check("n_codes", n_codes)
    Number(0.0, none=True).check("milliseconds", limits.milliseconds)
    Whole(1, none=True).check("max_features", limits.max_features)
    budget.start()  # checks it
    seed = seed_of(random_state)
    splits = split(task.labels, task.numbers, np.random.default_rng(seed))
    if not splits.folds:
        raise ValueError(
            "every class has one image alone, so none can be held out; give more images of a class. Numbers to predict are "
            "given as real numbers or, of a .csv file, with --target"
        )
    space = make_space(task.image_shape, n_codes, with_labels=may_choose_by_labels(task))
    if not fits(space.base, task.image_shape):
        H, W, c = task.image_shape
        raise ValueError(f"images of {H}×{W} pixels with {c} channel{'s' * (c > 1)} are too small to search settings for")
    kept = Store(store, fingerprint(task, n_codes, seed))
    interrupted = False
    with here(n_jobs) as engine:
        if budget.seconds is not None and len(task.images) >= _FEWEST_TO_COMPILE_WITH:
            with stages.stage("compiling"):
                compile_loops(task, engine=engine)
            budget.start()
        phases = Phases(task, splits, space, budget, limits, kept, seed=seed, engine=engine, stages=stages)
        try:
            phases.run()
        except KeyboardInterrupt:
            if not phases.trials:
                raise
            interrupted = True
        if not phases.trials:
            reasons = list(dict.fromkeys(one.reason for one in limits.left_out)) or ["the budget is too small for one trial"]
            more = f"; and {len(reasons) - 1:,} more like it" * (len(reasons) > 1)
            raise ValueError(f"no setting could be tried: {reasons[0]}{more}")
        trials = list(phases.trials.values())
        chosen = best_of(trials, len(task.images))
        if not interrupted:
            try:
                trials = _measured(trials, chosen, phases)
            except KeyboardInterrupt:
                interrupted = True
    chosen = best_of(trials, len(task.images))
    return Search(
        tuple(trials),
        chosen,
        chosen.setting.features(nodata=task.nodata, random_state=random_state, n_jobs=n_jobs),
        tuple(frontier_of(latest(trials))),
        tuple(all_effects(trials, space)),
        tuple(limits.left_out),
        task.numbers,
        len(task.images),
        interrupted,
    )


def _measured(trials: list[Trial], chosen: Trial, phases: Phases) -> list[Trial]:
    """With milliseconds that were measured for the chosen one, the best and those on the frontier."""
    once = latest(trials)
    ranked = sorted(once, key=lambda trial: (trial.rung.size, trial.score), reverse=True)
    wanted = dict.fromkeys(trial.setting for trial in (chosen, *frontier_of(once), *ranked))
    return phases.with_milliseconds(trials, list(wanted)[:_MEASURED_AT_END])


def all_effects(trials: Sequence[Trial], space: Space) -> list[Effect]:
    """Of all factors, and of second and both orders against first."""
    return [*order_effects(trials), *effects_of(trials, references(space))]


def references(space: Space) -> References:
    """The values that others are compared with: those of the base of their order."""
    bases = {order: space.base_of(order) for order in ORDERS}
    return {name: {order: getattr(base, name) for order, base in bases.items()} for name in Setting.__dataclass_fields__}
