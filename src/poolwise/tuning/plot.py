"""Score over cost of a search. matplotlib is an extra, `poolwise[report]`: this module is imported only where it is drawn."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from poolwise.report.draw.look import COLOURS, INK, MARKS, axes
from poolwise.tuning.result import Search, Trial

_FAINT, _CLEAR = 0.35, 0.95


def draw_search(search: Search) -> Figure:
    """Every setting with its largest number of images: first and second order, the frontier, the chosen one.

    Faint marks are of settings that were tried on fewer images than the chosen one.
    """
    figure, ax = axes("milliseconds per image", "R²" if search.numbers else "accuracy", size=(7.2, 4.8))
    ranking, most = search.ranking, search.chosen.rung.size
    for second, colour in zip((False, True), COLOURS, strict=False):
        own = [trial for trial in ranking if trial.setting.is_second_order is second]
        _marks(ax, [trial for trial in own if trial.rung.size < most], colour, _FAINT, None)
        last = [trial for trial in own if trial.rung.size == most]
        _marks(ax, last, colour, _CLEAR, "second order" if second else "first order")
        if last:
            ms, score, error = zip(*((trial.milliseconds, trial.score, trial.error) for trial in last), strict=True)
            ax.errorbar(ms, score, error, color=colour, linestyle="none", linewidth=1, capsize=2, alpha=0.5)
        elif own:
            _marks(ax, [], colour, _CLEAR, "second order" if second else "first order")
    if any(trial.rung.size < most for trial in ranking):
        ax.plot([], [], "o", color="#777777", alpha=_FAINT, markersize=4.5, label="tried on fewer images")
    line = [(trial.milliseconds, trial.score) for trial in search.frontier]
    ax.plot(*zip(*line, strict=True), color=INK, linewidth=1.2, zorder=2, label="none is better and cheaper")
    chosen = search.chosen
    ax.plot(
        [chosen.milliseconds], [chosen.score], "o", markersize=15, markerfacecolor="none", color=INK, label="chosen", zorder=5
    )
    _scales(ax, ranking, search.numbers)
    ax.set_title("What the search found", loc="left", fontsize=13, fontweight="bold", color=INK, pad=10)
    ax.legend(loc="lower right", facecolor="white", framealpha=0.85, edgecolor="none", labelcolor=INK, fontsize=9)
    return figure


def _marks(ax: Any, trials: list[Trial], colour: str, alpha: float, label: str | None) -> None:
    ax.plot(
        [trial.milliseconds for trial in trials],
        [trial.score for trial in trials],
        MARKS[colour],
        color=colour,
        alpha=alpha,
        markersize=6 if alpha == _CLEAR else 4.5,
        markeredgewidth=0,
        label=label,
        zorder=4 if alpha == _CLEAR else 3,
    )


def _scales(ax: Any, ranking: list[Trial], numbers: bool) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if not numbers:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=None, symbol=" %"))
    scores = sorted(trial.score for trial in ranking)
    low = max(scores[len(scores) // 10], scores[-1] - 0.5 * max(1.0, abs(scores[-1])))  # the worst would squeeze the others
    room = max(0.01, 0.06 * (scores[-1] - low))
    ax.set_ylim(low - room, scores[-1] + 2 * room)
