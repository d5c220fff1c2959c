"""What a search gives: trials, the best, the frontier, what mattered, what was left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poolwise.estimators import PooledFeatures
from poolwise.support.types import Array
from poolwise.tuning.settings import Setting
from poolwise.tuning.splits import Rung, compare

if TYPE_CHECKING:
    from poolwise.tuning.effects import Effect

_FAR_MORE_IMAGES = 2  # times as many as scores are from: what pays with more images is preferred


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting, tried on some images.

    score, error : accuracy or R² on held-out images, a fraction, and its standard error
    milliseconds : per image on this machine; estimated from the products it takes unless `measured`
    features : numbers per image    rung : how many images    cost : what decides between equals, the same on every machine
    each : (m,) float32, the score of every held-out image
    """

    setting: Setting
    score: float
    error: float
    milliseconds: float
    features: int
    rung: Rung
    cost: float
    each: Array = field(repr=False)
    measured: bool = False

    @property
    def images(self) -> int:
        """Images that it was learned from."""
        return self.rung.n


@dataclass(frozen=True)
class LeftOut:
    """A setting that was not tried, and why."""

    setting: Setting
    reason: str


@dataclass(frozen=True)
class Search:
    """What `tune` gives.

    Attributes
    ----------
    trials : tuple of Trial
        All, in the order in which they were tried; a setting may be among them with several numbers of images.
    chosen : Trial
        The best one.
    best : PooledFeatures
        Its setting, not fitted.
    frontier : tuple of Trial
        Settings such that none is better and cheaper, by what each reached on its largest number of images; the cheapest first.
    effects : tuple of Effect
        What the values of each factor made of the score; `effect.matters`.
    left_out : tuple of LeftOut
    numbers : bool
        Whether scores are R² and not accuracies.
    n_images : int
        Images given.
    interrupted : bool
        Whether it was stopped by hand before its budget was used.
    """

    trials: tuple[Trial, ...]
    chosen: Trial
    best: PooledFeatures
    frontier: tuple[Trial, ...]
    effects: "tuple[Effect, ...]"
    left_out: tuple[LeftOut, ...]
    numbers: bool
    n_images: int
    interrupted: bool = False

    @property
    def ranking(self) -> list[Trial]:
        """Each setting once, with its largest number of images: the chosen one, then by number of images and score."""
        others = [trial for trial in latest(self.trials) if trial.setting != self.chosen.setting]
        return [self.chosen, *sorted(others, key=lambda trial: (trial.rung.size, trial.score), reverse=True)]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and text."""
        on_frontier = {id(trial) for trial in self.frontier}
        return {
            "score": "r2" if self.numbers else "accuracy",
            "images": self.n_images,
            "interrupted": self.interrupted,
            "tried": len(self.trials),
            "options": self.chosen.setting.options,
            "trials": [
                {
                    "score": trial.score,
                    "error": trial.error,
                    "milliseconds": trial.milliseconds,
                    "measured": trial.measured,
                    "features": trial.features,
                    "images": trial.images,
                    "held_out": len(trial.each),
                    "frontier": id(trial) in on_frontier,
                    "setting": trial.setting.words,
                    "options": trial.setting.short_options,
                }
                for trial in self.ranking
            ],
            "effects": [
                {
                    "factor": effect.factor,
                    "value": effect.value,
                    "reference": effect.reference,
                    "difference": effect.difference,
                    "error": effect.error,
                    "pairs": effect.pairs,
                    "matters": effect.matters,
                }
                for effect in self.effects
            ],
            "left_out": [{"setting": one.setting.words, "reason": one.reason} for one in self.left_out],
        }


def latest(trials: Iterable[Trial]) -> list[Trial]:
    """Of each setting the trial with the most images."""
    found: dict[Setting, Trial] = {}
    for trial in trials:
        if trial.setting not in found or trial.rung.size > found[trial.setting].rung.size:
            found[trial.setting] = trial
    return list(found.values())


def best_of(trials: Sequence[Trial], n_images: int = 0) -> Trial:
    """The best of the largest rung, the cheapest of equal scores.

    n_images : of a fit. Where these are several times as many as the rung had, of those within one standard error of the best
    the ones with more products come first, then those whose codes labels chose, then those with more codes: what pays with
    more images.
    """
    top = max(trial.rung.size for trial in trials)
    last = [trial for trial in trials if trial.rung.size == top]
    best = max(last, key=lambda trial: (trial.score, -trial.cost))
    if n_images < _FAR_MORE_IMAGES * best.rung.n:
        return best

    def order(trial: Trial) -> tuple[float, ...]:
        own = trial.setting
        return own.multiplied, own.n_candidates is not None, own.n_codes, trial.score, -trial.cost

    return max(_near(last, best), key=order)


def _near(trials: Sequence[Trial], best: Trial) -> list[Trial]:
    """Those within one standard error of the best."""
    found = []
    for trial in trials:
        difference, error = compare(best.each, trial.each)
        if difference <= error:
            found.append(trial)
    return found


def keep(trials: Sequence[Trial], share: float = 1 / 3) -> list[Trial]:
    """The best share of trials on the same images, and the cheapest within one standard error of the best; the best first."""
    ranked = sorted(trials, key=lambda trial: (-trial.score, trial.cost))
    kept = ranked[: max(1, round(share * len(ranked)))]
    cheapest = min(_near(ranked, ranked[0]), key=lambda trial: trial.cost)
    return kept if cheapest in kept else [*kept, cheapest]


def frontier_of(trials: Iterable[Trial]) -> list[Trial]:
    """Those such that none is at least as good and cheaper; by milliseconds.

    trials : each setting once
    """
    found: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: (trial.milliseconds, -trial.score)):
        if not found or trial.score > found[-1].score:
            found.append(trial)
    return found
