"""How long a search may go on: seconds, a number of trials, or both. Without seconds no clock decides anything."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from poolwise.support.parameters import Choice, Number, Whole

SECONDS = 120.0


@dataclass
class Budget:
    """What is left of it.

    seconds, trials : None for no limit

    >>> budget = Budget(None, 10)
    >>> budget.used = 4
    >>> budget.trials_until(0.5), budget.seconds_until(0.5)
    (1, inf)
    """

    seconds: float | None
    trials: int | None
    clock: Callable[[], float] = time.perf_counter
    used: int = 0
    begun: float = field(default=0.0)

    @classmethod
    def of(cls, seconds: float | str | None, trials: int | None) -> Self:
        """As given; "auto" is 120 seconds, or none where trials are given."""
        if isinstance(seconds, str):
            Choice(("auto",)).check("seconds", seconds)
            seconds = SECONDS if trials is None else None
        return cls(seconds, trials)

    def start(self) -> None:
        Number(0.0, none=True).check("seconds", self.seconds)
        Whole(1, none=True).check("trials", self.trials)
        if self.seconds is None and self.trials is None:
            raise ValueError("a search needs an end: give seconds, trials, or both")
        if self.seconds is not None:
            self.begun = self.clock()

    def seconds_until(self, share: float) -> float:
        """Seconds left until that share of all has passed; inf without a limit."""
        if self.seconds is None:
            return math.inf
        return self.begun + share * self.seconds - self.clock()

    def trials_until(self, share: float) -> float:
        """Trials left until that share of all is used; inf without a limit."""
        return math.inf if self.trials is None else max(0, math.ceil(share * self.trials) - self.used)

    @property
    def is_used(self) -> bool:
        return self.trials_until(1.0) <= 0 or self.seconds_until(1.0) <= 0

    @property
    def words(self) -> str:
        """What is left, for people."""
        parts = []
        if self.seconds is not None:
            parts.append(f"{max(0.0, self.seconds_until(1.0)):.0f} s left")
        if self.trials is not None:
            parts.append(f"{self.trials - self.used} trials left")
        return ", ".join(parts)
