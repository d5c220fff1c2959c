"""The phases of a search, from many settings on few images to few settings on many."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from poolwise.engine import Engine
from poolwise.support.progress import Stages, Update, silent
from poolwise.support.types import Array
from poolwise.tuning.budget import Budget
from poolwise.tuning.combining import WORTH, combinations, like_defaults, promising_of
from poolwise.tuning.cost import measured_milliseconds, nominal_milliseconds
from poolwise.tuning.effects import Effect, best_of_order
from poolwise.tuning.evaluate import Evaluator
from poolwise.tuning.limits import Limits
from poolwise.tuning.result import Trial, best_of, keep
from poolwise.tuning.settings import ORDERS, Order, Setting
from poolwise.tuning.space import Space
from poolwise.tuning.splits import MOST_HELD, Rung, Splits, Task, compare, standard_error
from poolwise.tuning.store import Store

FIRST_IMAGES, PER_CLASS, MORE = 500, 5, 3  # images of the first rung, at least so many a class, and times as many in the next
_FEW_IMAGES = 200, 350  # of a first rung whose images are large; few sizes, so that a store knows them again
_FEWEST_IMAGES = _FEW_IMAGES[0]
_HANDFUL = 5
_TIMED = 50  # images that milliseconds are measured on
_IN_TURN = ("patch_size", "symmetry", "n_codes", "whitening_offset", "selection")  # factors of the banks
# Shares of the budget after which each phase ends: of seconds, and of trials, which are cheap in the first ones
_ENDS = {
    "views": (0.08, 0.25),
    "both orders": (0.16, 0.4),
    "second order": (0.22, 0.5),
    "banks": (0.4, 0.7),
    "combinations": (0.65, 0.85),
    "more combinations": (0.85, 0.9),
}
_SHARE_OF_FIRST_PASS = 0.06  # of the seconds, for one extraction of the first rung
_LARGEST_PIXELS, _LARGEST_FEATURES = 1 << 30, 1 << 30  # bytes of a rung
_AT_ONCE = 3  # combinations before effects are computed again
_HARDLY_MORE = 1.4  # times as many images are not worth another rung
_MOST_DIRECTIONS = 500
_MOST_MISSES = 20  # settings in a row that are too slow; those after them are hardly faster
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
        engine: Engine,
        stages: Stages,
    ) -> None:
        self.task, self.splits, self.space, self.budget, self.limits, self.store = task, splits, space, budget, limits, store
        self.engine, self.stages, self.seed = engine, stages, seed
        self.trials: dict[tuple[Setting, str], Trial] = {}
        self.evaluator = Evaluator(task, splits, seed=seed, engine=engine, tell=self._tell)
        self._update: Update = silent
        self._done = 0
        self._measured: dict[Setting, float] = {}

    def run(self) -> None:
        """All phases, until the budget is used."""
        rng = np.random.default_rng(self.seed)
        first = self._first_rung()
        for some in self.space.views(rng):
            self._try("views", some, first)
        self._try("both orders", self.space.near("both"), first)
        self._try("second order", self._with_directions(self.space.near("second")), first)
        self._banks(first)
        second = self._next_rung(first)
        self._combine(first, second)
        last = self._last_rung(second)
        if replace(last, exact=False) == second:  # there are no more images: there is time for more combinations
            self._combine(second, second, _ENDS["more combinations"])
        self._try("finalists", [trial.setting for trial in self._finalists(second)], last, (1.0, 1.0))

    def _first_rung(self) -> Rung:
        n = max(FIRST_IMAGES, PER_CLASS * self.task.n_classes)
        if self.budget.seconds is not None:
            base = self.space.base
            seconds = self._measure(base) / 1000
            self.evaluator.pace.add("images", nominal_milliseconds(base, self.task.image_shape) / 1000, seconds)
            most = _SHARE_OF_FIRST_PASS * self.budget.seconds / (2 * seconds)
            n = max(size for size in (*_FEW_IMAGES, n) if size <= max(most, _FEWEST_IMAGES))
        return self.splits.rung(min(n, self._most_images()))

    def _most_images(self) -> int:
        """As many as may be in memory with as many held out."""
        pixel = np.dtype(self.task.images.dtype).itemsize
        return max(_FEWEST_IMAGES, _LARGEST_PIXELS // (2 * pixel * math.prod(self.task.image_shape)))

    def _banks(self, rung: Rung) -> None:
        """The factors of the bank one after the other, each with what the others were best with; the better order first.

        Few codes of second order say as much about these factors as many, and cost less.
        """
        leaders = [trial for trial in (self._best(rung, order) for order in ORDERS) if trial is not None]
        for leader in sorted(leaders, key=lambda trial: -trial.score):
            setting = promising_of(self._of(rung), self.space, leader.setting)
            self._try("banks", self._with_directions([setting]), rung)
            for name in _IN_TURN:
                self._try("banks", self.space.beside(setting, name), rung)
                setting = self._moved(setting, name, rung)

    def _moved(self, setting: Setting, name: str, rung: Rung) -> Setting:
        """The setting with the value of a factor that gained most, if any gain is worth it."""
        best, gain = setting, WORTH
        own = self.trials.get((setting, rung.key))
        for other in self.space.beside(setting, name):
            trial = self.trials.get((other, rung.key))
            if own is not None and trial is not None:
                difference, error = compare(trial.each, own.each)
                found = Effect(name, None, None, difference, error, 1, rung.n).gain
                if found > gain:
                    best, gain = other, found
        return best

    def _best(self, rung: Rung, order: Order) -> Trial | None:
        return best_of_order(self.trials.values(), rung, order)

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

    def _combine(self, before: Rung, rung: Rung, until: tuple[float, float] = _ENDS["combinations"]) -> None:
        """The best third of the rung before, and combinations of what was good, a few at a time."""
        survivors = [trial.setting for trial in keep(self._of(before))] if self._of(before) else []
        usual = [] if before == rung else like_defaults(self._of(before), self.space)
        first = [] if before == rung else [*survivors[:1], *usual[:2]]
        rest = [] if before == rung else [*usual[2:], *survivors[1:]]
        while True:
            made = combinations(list(self.trials.values()), self.space)
            settings = [*first, *made[:_AT_ONCE], *rest, *made[_AT_ONCE:]]
            if not self._try("combinations", settings, rung, until, most=_AT_ONCE + len(first)):
                return
            first = []

    def _next_rung(self, rung: Rung) -> Rung:
        """Three times as many images, or all where these are hardly more."""
        found = self.splits.rung(MORE * rung.n)
        every = self.splits.rung(self._most_images())
        return every if every.n < _HARDLY_MORE * found.n else found

    def _finalists(self, rung: Rung) -> list[Trial]:
        """A handful; the one that would be chosen now is tried first."""
        here = self._of(rung)
        if not here:
            return []
        first = best_of(here, len(self.task.images))
        return [first, *(trial for trial in keep(here, min(1.0, _HANDFUL / len(here))) if trial is not first)]

    def _last_rung(self, rung: Rung) -> Rung:
        """As many images as time allows for the best three, or two; as many as in the rung itself where these are hardly more.

        Classes are guessed by the SVM there, as a fit does it. The rung itself where there is no time for that.
        """
        finalists = [trial.setting for trial in self._finalists(rung)][:3]
        most = min(self._most_images(), len(self.splits.folds[0][0]))
        exact = not self.task.numbers
        if not finalists:
            return rung
        if self.budget.seconds is None:
            return replace(self.splits.rung(min(most, MORE * rung.n)), exact=exact)
        left = _RESERVE * self.budget.seconds_until(1.0)
        for some in (finalists, finalists[:2]):
            widest = max(setting.n_features for setting in some)
            n = min(most, max(rung.n, _LARGEST_FEATURES // (4 * widest) - len(self.splits.folds[0][1])))
            while n >= _HARDLY_MORE * rung.n:
                found = replace(self.splits.rung(n), exact=exact)
                if self.evaluator.seconds(some, found) <= left:
                    return found
                n = int(0.7 * n)
            for folds in range(len(self.splits.folds), rung.folds - 1, -1):  # no more images, but more folds
                found = replace(rung, folds=folds, exact=exact)
                if (folds == rung.folds or rung.m * folds <= MOST_HELD) and self.evaluator.seconds(some, found) <= left:
                    return found
        return rung

    def _try(
        self,
        phase: str,
        settings: Iterable[Setting],
        rung: Rung,
        until: tuple[float, float] | None = None,
        most: float = math.inf,
    ) -> int:
        """Try settings, the most important first, as far as the budget of the phase goes; how many were new.

        most : of them
        """
        ends = until or _ENDS[phase]
        wanted = self._affordable(dict.fromkeys(settings), rung, ends, most)
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
                if self.budget.is_used or self.budget.seconds_until(ends[0]) <= 0:
                    break
            self._update = silent
        for setting in wanted:  # in an order that does not depend on what the store knew
            if (setting, rung.key) in self.trials:
                self.trials[setting, rung.key] = self.trials.pop((setting, rung.key))
        return len(wanted)

    def _affordable(self, settings: Iterable[Setting], rung: Rung, ends: tuple[float, float], most: float) -> list[Setting]:
        """Those that are new, allowed, and expected to fit into what the phase has left; of the first phase at least one."""
        count, seconds = min(most, self.budget.trials_until(ends[1])), self.budget.seconds_until(ends[0])
        wanted: list[Setting] = []
        taken: list[Setting] = []
        missed = 0
        for setting in settings:
            if len(wanted) >= count or missed == _MOST_MISSES:
                break
            if (setting, rung.key) in self.trials or not self._allowed(setting):
                continue
            if self.store.get(_key(setting, rung)) is not None:
                wanted.append(setting)
                continue
            fits_in = math.isinf(seconds) or self.evaluator.seconds([*taken, setting], rung) <= _RESERVE * seconds
            if fits_in or not (self.trials or wanted):
                wanted.append(setting)
                taken.append(setting)
                missed = 0
            else:
                missed += 1
        return wanted

    def _allowed(self, setting: Setting) -> bool:
        return self.limits.allow(setting, len(self.task.images), self._estimate, self._measure)

    def _estimate(self, setting: Setting) -> float:
        """Milliseconds, by those that were measured so far."""
        shape = self.task.image_shape
        nominal = sum(nominal_milliseconds(one, shape) for one in self._measured)
        ratio = sum(self._measured.values()) / nominal if nominal > 0 else self.evaluator.pace.ratio("images")
        return nominal_milliseconds(setting, shape) * ratio

    def _measure(self, setting: Setting) -> float:
        if setting not in self._measured:
            self._measured[setting] = measured_milliseconds(setting, self._timed, self.engine.local)
        return self._measured[setting]

    @cached_property
    def _timed(self) -> Array:
        """A few images in memory, to measure milliseconds on."""
        return np.asarray(self.task.images[np.sort(self.splits.folds[0][0][:_TIMED])])

    def with_milliseconds(self, trials: Sequence[Trial], settings: Sequence[Setting]) -> list[Trial]:
        """The trials, those of some settings with milliseconds that were measured."""
        with self.stages.stage("milliseconds", len(settings)) as update:
            for number, setting in enumerate(settings):
                update(number)
                self._measure(setting)
        return [
            replace(trial, milliseconds=self._measured[trial.setting], measured=True)
            if trial.setting in self._measured
            else replace(trial, milliseconds=self._estimate(trial.setting))
            for trial in trials
        ]

    def _add(self, setting: Setting, rung: Rung, each: Array) -> None:
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
        self._update(self._done, f"{best}{self.budget.words}{', ' + note if note else ''}")


def _key(setting: Setting, rung: Rung) -> str:
    return f"{setting.key} {rung.key}"
