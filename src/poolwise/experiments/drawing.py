"""One look for all charts of the experiments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from poolwise.experiments.results import Mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: told apart by all eyes
MARKS = {"#0072B2": "o", "#D55E00": "s", "#009E73": "^", "#CC79A7": "D", "#E69F00": "v", "#56B4E9": "P"}
_DPI = 150


def axes(title: str, x: str, y: str, size: tuple[float, float] = (6.4, 4.4)) -> "tuple[Figure, Any]":
    """An empty chart."""
    figure, (ax,) = panels(1, size)
    ax.set_title(title, fontsize=11)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return figure, ax


def panels(n: int, size: tuple[float, float]) -> "tuple[Figure, Sequence[Any]]":
    """n charts side by side."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ValueError("charts need matplotlib: pip install 'poolwise[report]'") from error
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    all_axes = figure.subplots(1, n, squeeze=False)[0]
    for ax in all_axes:
        ax.grid(color="0.9", lw=0.8)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return figure, all_axes


def band(ax: Any, points: Sequence[tuple[float, Mean]], label: str, colour: str) -> None:
    """A line through means with the standard deviation as a shade."""
    if not points:
        return
    x = [at for at, _ in points]
    y, spread = [found.mean for _, found in points], [found.std for _, found in points]
    ax.plot(x, y, color=colour, marker=MARKS[colour], ms=4.5, lw=1.6, label=label, zorder=3)
    low, high = ([a - s for a, s in zip(y, spread, strict=True)], [a + s for a, s in zip(y, spread, strict=True)])
    ax.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, zorder=2)
