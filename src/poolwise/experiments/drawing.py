"""Means over runs in a chart."""

from collections.abc import Sequence
from typing import Any

from poolwise.experiments.results import Mean
from poolwise.report.look import MARKS


def band(ax: Any, points: Sequence[tuple[float, Mean]], label: str, colour: str) -> None:
    """A line through means with the standard deviation as a shade."""
    if not points:
        return
    x = [at for at, _ in points]
    y, spread = [found.mean for _, found in points], [found.std for _, found in points]
    ax.plot(x, y, color=colour, marker=MARKS[colour], ms=4.5, lw=1.6, label=label, zorder=3)
    low, high = ([a - s for a, s in zip(y, spread, strict=True)], [a + s for a, s in zip(y, spread, strict=True)])
    ax.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, zorder=2)
