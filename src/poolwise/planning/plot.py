"""Charts. matplotlib is an extra, `poolwise[report]`, so this module is imported only where a chart is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator, PercentFormatter

from poolwise.report.draw.look import COLOURS, INK, MARKS, blank, dress

if TYPE_CHECKING:
    from poolwise.planning.measuring import Curve

_BEYOND = 1.08  # times the largest that was measured: where the prediction's ground begins
_GROUND = "#f6f6f6"


def draw_plan(curves: "Sequence[Curve]", predict: Sequence[int]) -> Figure:
    """Accuracy and cost over the number of codes: what was measured, and what the laws predict for more.

    Parameters
    ----------
    curves : at most three, as `poolwise.planning.measuring.measure` gives them
    predict : numbers of codes that were not measured

    Returns
    -------
    matplotlib.figure.Figure
        Two panels, one above the other, with one logarithmic axis of codes. Measured: filled marks with error bars (one
        standard deviation of the runs). Predicted: hollow marks on the law, in the shade of its 95 % interval.
    """
    figure = blank((7.2, 6.6))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.7, 1))
    seen = np.unique(np.concatenate([*(curve.codes for curve in curves), np.asarray(predict, np.int64)]))
    K = np.geomspace(seen[0], seen[-1], 200)
    for number, curve in enumerate(curves):
        _draw_accuracy(top, curve, predict, K, number)
        _draw_cost(bottom, curve, predict, K, number)
    largest = max(int(curve.codes[-1]) for curve in curves)
    for panel in (top, bottom):
        _dress(panel, seen, largest)
    low, high = _accuracy_range(curves, predict)
    top.set_ylim(low, high)
    top.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    top.set_ylabel("accuracy")
    bottom.set_yscale("log")
    bottom.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    bottom.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    bottom.yaxis.set_minor_locator(NullLocator())
    bottom.set_ylabel("milliseconds per image")
    bottom.set_xlabel("codes K")
    if seen[-1] > largest:
        for word, side, ground, aside in (("measured", "right", "white", -6), ("predicted", "left", _GROUND, 6)):
            top.annotate(
                word,
                (largest * _BEYOND, 1),
                xycoords=("data", "axes fraction"),
                xytext=(aside, -13),
                textcoords="offset points",
                ha=side,
                fontsize=9,
                color="#777777",
                bbox={"facecolor": ground, "edgecolor": "none", "pad": 1.5},
            )
    top.set_title("What more codes would give", loc="left", fontsize=13, fontweight="bold", color=INK, pad=10)
    top.legend(handles=_keys(curves), loc="lower right", frameon=False, labelcolor=INK, fontsize=9, ncols=1)
    return figure


def _draw_accuracy(panel: Any, curve: "Curve", predict: Sequence[int], K: Any, number: int) -> None:
    colour = COLOURS[number]
    mark = MARKS[colour]
    law, ahead = curve.law, K >= curve.codes[-1]
    panel.fill_between(K, *law.interval(K), color=colour, alpha=0.12, linewidth=0)
    panel.plot(K[~ahead], law.at(K[~ahead]), color=colour, linewidth=1.6)
    panel.plot(K[ahead], law.at(K[ahead]), color=colour, linewidth=1.6, linestyle=(0, (4, 2)))
    panel.errorbar(
        curve.codes, curve.mean, curve.std, color=colour, marker=mark, markersize=6, linestyle="none", capsize=3, zorder=4
    )
    if len(predict):
        at = np.asarray(predict)
        panel.plot(at, law.at(at), color=colour, marker=mark, markersize=6, linestyle="none", markerfacecolor="white", zorder=3)


def _draw_cost(panel: Any, curve: "Curve", predict: Sequence[int], K: Any, number: int) -> None:
    colour = COLOURS[number]
    mark = MARKS[colour]
    ahead = K >= curve.codes[-1]
    panel.plot(K[~ahead], curve.cost.at(K[~ahead]), color=colour, linewidth=1.6)
    panel.plot(K[ahead], curve.cost.at(K[ahead]), color=colour, linewidth=1.6, linestyle=(0, (4, 2)))
    panel.plot(curve.codes, curve.milliseconds, color=colour, marker=mark, markersize=6, linestyle="none", zorder=4)
    if len(predict):
        at = np.asarray(predict)
        panel.plot(at, curve.cost.at(at), color=colour, marker=mark, markersize=6, linestyle="none", markerfacecolor="white")


def _accuracy_range(curves: "Sequence[Curve]", predict: Sequence[int]) -> tuple[float, float]:
    """Room for what was measured, for the laws and for the intervals, as far as these lie between 0 and 100 %."""
    at = np.concatenate([curves[0].codes, np.asarray(predict, np.int64)])
    values = [value for curve in curves for value in (*curve.law.interval(at), curve.mean - curve.std, curve.law.at(at))]
    low, high = max(0.0, min(v.min() for v in values)), min(1.0, max(v.max() for v in values))
    return max(0.0, low - 0.02), min(1.02, high + 0.02)


def _dress(panel: Any, seen: Any, largest: int) -> None:
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(FixedLocator(seen.tolist()))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.set_xlim(seen[0] / 1.15, seen[-1] * 1.15)
    if seen[-1] > largest:
        panel.axvspan(largest * _BEYOND, seen[-1] * 1.15, color=_GROUND, zorder=-2, linewidth=0)
    dress(panel, without=("top", "right", "left"))
    panel.tick_params(length=0, labelsize=9, colors=INK)
    panel.yaxis.label.set_color(INK)
    panel.xaxis.label.set_color(INK)
    panel.spines["bottom"].set_color("#999999")


def _keys(curves: "Sequence[Curve]") -> list[Any]:
    lines: list[Any] = [
        Line2D([], [], color=colour, marker=MARKS[colour], linewidth=1.6, label=curve.name)
        for curve, colour in zip(curves, COLOURS, strict=False)
    ]
    grey: dict[str, Any] = {"color": "#777777", "marker": "o", "linestyle": "none"}
    return [
        *lines,
        Line2D([], [], **grey, label="measured, ± one standard deviation"),
        Line2D([], [], **grey, markerfacecolor="white", label="predicted by the law a + b K$^{-1/4}$"),
        Patch(color="#777777", alpha=0.2, linewidth=0, label="95 % of single runs, if it holds"),
    ]
