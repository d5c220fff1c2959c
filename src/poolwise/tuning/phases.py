"""The phases of a search, from many settings on few images to few settings on many."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.support.progress import Stages, Update, silent
from poolwise.tuning.budget import Budget
from poolwise.tuning.combining import combinations
from poolwise.tuning.cost import measured_milliseconds, nominal_milliseconds
from poolwise.tuning.evaluate import Evaluator
from poolwise.tuning.limits import Limits
from poolwise.tuning.result import Trial, keep
from poolwise.tuning.settings import Setting, fits
from poolwise.tuning.space import Space
from poolwise.tuning.splits import Rung, Splits, Task, standard_error
from poolwise.tuning.store import Store

FIRST_IMAGES, PER_CLASS, MORE = 500, 5, 3  # images of the first rung, at least so many a class, and times as many in the next
_FEWEST_IMAGES = 200
_HANDFUL = 5
# Shares of the budget after which each phase ends: of seconds, and of trials, which are cheap in the first ones
_ENDS = {"views": (0.13, 0.3), "second order": (0.28, 0.5), "banks": (0.45, 0.7), "combinations": (0.75, 0.9)}
_SHARE_OF_FIRST_PASS = 0.06  # of the seconds, for one extraction of the first rung
_LARGEST_PIXELS, _LARGEST_FEATURES = 1 << 30, 1 << 30  # bytes of a rung
_ROUNDS_OF_COMBINING = 6
_MOST_DIRECTIONS = 500
_RESERVE = 0.95  # of the time left, for what estimates do not know


class Phases:
    """A search as it goes on.

    Attributes
    ----------
    trials : dict of (Setting, rung key) to Trial
    """

    def __init__(
        self,
        task: Task,
        splits: Splits,
        space: Space,
        budget: Budget,
        limits: Limits,
        store: Store,
        *,
        seed: int,
        engine: Threads,
        stages: Stages,
    ) -> None:
        self.task, self.splits, self.space, self.budget, self.limits, self.store = task, splits, space, budget, limits, store
        self.engine, self.stages, self.seed = engine, stages, seed
        self.trials: dict[tuple[Setting, str], Trial] = {}
        self.evaluator = Evaluator(task, splits, seed=seed, engine=engine, tell=self._tell)
        self._update: Update = silent
        self._phase = ""
        self._measured: dict[Setting, float] = {}

    def run(self) -> None:
        """All phases, until the budget is used."""
        rng = np.random.default_rng(self.seed)
        first = self._first_rung()
        views = self.space.views(rng)
        self._try("views", views, first)
        self._try("second order", self._with_directions(self.space.second_order(rng)), first)
        self._try("banks", self._banks(first), first)
        second = self.splits.rung(MORE * first.n)
        self._combine(first, second)
        if self._last_rung(second) == second:  # there are no more images: what is left goes into combinations
            self._combine(second, second, until=(1.0, 1.0))
            return
        last = self._last_rung(second)
        self._try("finalists", [trial.setting for trial in self._finalists(second)], last, until=(1.0, 1.0))

    def _first_rung(self) -> Rung:
        n = max(FIRST_IMAGES, PER_CLASS * self.task.n_classes)
        if self.budget.seconds is not None:
            few = self.splits.rung(_FEWEST_IMAGES)
            base = self.space.base
            seconds = self._measure(base, few) / 1000
            self.evaluator.pace.add("images", nominal_milliseconds(base, self.task.image_shape) / 1000, seconds)
            n = max(_FEWEST_IMAGES, min(n, int(_SHARE_OF_FIRST_PASS * self.budget.seconds / (2 * seconds))))
        return self.splits.rung(min(n, self._most_images()))

    def _most_images(self) -> int:
        """As many as may be in memory with as many held out."""
        pixel = np.dtype(self.task.images.dtype).itemsize
        return max(_FEWEST_IMAGES, _LARGEST_PIXELS // (2 * pixel * math.prod(self.task.image_shape)))

    def _banks(self, rung: Rung) -> list[Setting]:
        """The best of each order with one factor of the bank changed."""
        leaders = [self._best(rung, second) for second in (False, True)]
        found = [leader.setting.but(**change) for leader in leaders if leader is not None for change in self.space.banks()]
        return [setting for setting in found if fits(setting, self.task.image_shape)]

    def _best(self, rung: Rung, second: bool) -> Trial | None:
        here = [trial for trial in self._of(rung) if trial.setting.is_second_order is second]
        return max(here, key=lambda trial: (trial.score, -trial.cost), default=None)

    def _of(self, rung: Rung) -> list[Trial]:
        return [trial for trial in self.trials.values() if trial.rung == rung]

    def _with_directions(self, settings: Iterable[Setting]) -> list[Setting]:
        """Settings of second order; those that are too large are followed by one with directions."""
        found = []
        for setting in settings:
            found.append(setting)
            if self.limits.too_large(setting, len(self.task.images)):
                width = setting.pooling.width(setting.encoder.sides * setting.n_codes)
                found.append(setting.but(directions=min(_MOST_DIRECTIONS, width // 2)))
        return found

    def _combine(self, before: Rung, rung: Rung, until: tuple[float, float] | None = None) -> None:
        """The best third of the rung before, then combinations of what was good, round by round."""
        ends = until or _ENDS["combinations"]
        start = _ENDS["banks"] if until is None else _ENDS["combinations"]
        survivors = [trial.setting for trial in keep(self._of(before))] if self._of(before) else []
        for number in range(_ROUNDS_OF_COMBINING):
            share = (number + 1) / (2 if until is None else _ROUNDS_OF_COMBINING)
            end = tuple(a + min(1.0, share) * (b - a) for a, b in zip(start, ends, strict=True))
            made = combinations(list(self.trials.values()), self.space)
            settings = [*survivors[:2], *made, *survivors[2:]] if number == 0 and until is None else made
            if not self._try("combinations", settings, rung, until=(end[0], end[1])) and share >= 1:
                return

    def _finalists(self, rung: Rung) -> list[Trial]:
        here = self._of(rung)
        return keep(here, min(1.0, _HANDFUL / len(here))) if here else []

    def _last_rung(self, rung: Rung) -> Rung:
        """As many images as time allows for three finalists; the rung itself where these are hardly more."""
        finalists = [trial.setting for trial in self._finalists(rung)][:3]
        most = min(self._most_images(), len(self.splits.folds[0][0]))
        if not finalists:
            return rung
        if self.budget.seconds is None:
            return self.splits.rung(min(most, MORE * rung.n))
        widest = max(setting.n_features for setting in finalists)
        n = min(most, max(rung.n, _LARGEST_FEATURES // (4 * widest) - len(self.splits.folds[0][1])))
        left = _RESERVE * self.budget.seconds_until(1.0)
        while n > 1.5 * rung.n and self.evaluator.seconds(finalists, self.splits.rung(n)) > left:
            n = int(0.9 * n)
        found = self.splits.rung(n)
        return found if found.n > 1.2 * rung.n or (found.size > rung.size and found.n == most) else rung

    def _try(self, phase: str, settings: Iterable[Setting], rung: Rung, until: tuple[float, float] | None = None) -> int:
        """Try settings, the most important first, as far as the budget of the phase goes; how many were new."""
        self._phase, ends = phase, until or _ENDS[phase]
        wanted = self._affordable(dict.fromkeys(settings), rung, ends)
        if not wanted:
            return 0
        with self.stages.stage(phase, len(wanted)) as update:
            self._update, self._done = update, 0
            missing = []
            for setting in wanted:
                each = self.store.get(_key(setting, rung))
                if each is None:
                    missing.append(setting)
                else:
                    self._add(setting, rung, each)
            for setting, found in self.evaluator.run(missing, rung):
                if isinstance(found, str):
                    self.limits.refuse(setting, found)
                else:
                    self.store.add(_key(setting, rung), found)
                    self._add(setting, rung, found)
                if self.budget.is_used or self.budget.seconds_until(ends[0]) < -0.1 * (self.budget.seconds or 0):
                    break
            self._update = silent
        return len(wanted)

    def _affordable(self, settings: Iterable[Setting], rung: Rung, ends: tuple[float, float]) -> list[Setting]:
        """Those that are new, allowed, and expected to fit into what the phase has left; of the first phase at least one."""
        count, seconds = self.budget.trials_until(ends[1]), self.budget.seconds_until(ends[0])
        taken: list[Setting] = []
        known: list[Setting] = []
        for setting in settings:
            if len(taken) + len(known) >= count:
                break
            if (setting, rung.key) in self.trials or not self._allowed(setting, rung):
                continue
            if self.store.get(_key(setting, rung)) is not None:
                known.append(setting)
                continue
            fits_in = math.isinf(seconds) or self.evaluator.seconds([*taken, setting], rung) <= _RESERVE * seconds
            if fits_in or not (self.trials or taken):
                taken.append(setting)
        return [*known, *taken]

    def _allowed(self, setting: Setting, rung: Rung) -> bool:
        return self.limits.allow(setting, len(self.task.images), self._estimate, lambda one: self._measure(one, rung))

    def _estimate(self, setting: Setting) -> float:
        return nominal_milliseconds(setting, self.task.image_shape) * self.evaluator.pace.ratio("images")

    def _measure(self, setting: Setting, rung: Rung) -> float:
        if setting not in self._measured:
            few = self.splits.rung(min(rung.n, 50))
            self._measured[setting] = measured_milliseconds(setting, self._few(few), self.engine)
        return self._measured[setting]

    def _few(self, rung: Rung) -> np.ndarray:
        if not hasattr(self, "_pixels"):
            self._pixels = self.evaluator.pixels(rung)
        return self._pixels

    def with_milliseconds(self, trials: Sequence[Trial], settings: Sequence[Setting]) -> list[Trial]:
        """The trials, those of some settings with milliseconds that were measured."""
        with self.stages.stage("milliseconds", len(settings)) as update:
            for number, setting in enumerate(settings):
                update(number)
                self._measure(setting, self.splits.rung(_FEWEST_IMAGES))
        return [
            replace(trial, milliseconds=self._measured[trial.setting], measured=True)
            if trial.setting in self._measured
            else replace(trial, milliseconds=self._estimate(trial.setting))
            for trial in trials
        ]

    def _add(self, setting: Setting, rung: Rung, each: np.ndarray) -> None:
        self.trials[setting, rung.key] = Trial(
            setting=setting,
            score=float(each.mean(dtype=np.float64)),
            error=standard_error(each),
            milliseconds=self._measured.get(setting, self._estimate(setting)),
            features=setting.n_features,
            rung=rung,
            cost=nominal_milliseconds(setting, self.task.image_shape),
            measured=setting in self._measured,
            each=each,
        )
        self.budget.used += 1
        self._done += 1
        self._tell("")

    def _tell(self, note: str) -> None:
        """Progress: the phase, what is done, the best so far, what is left."""
        here = list(self.trials.values())
        best = ""
        if here:
            top = max(here, key=lambda trial: (trial.rung.size, trial.score))
            best = (
                f"best {top.score:.3f} of {top.rung.n:,} images, "
                if self.task.numbers
                else (f"best {top.score:.1%} with {top.rung.n:,} images, ")
            )
        self._update(getattr(self, "_done", 0), f"{best}{self.budget.words}{', ' + note if note else ''}")


def _key(setting: Setting, rung: Rung) -> str:
    return f"{setting.key} {rung.key}"
