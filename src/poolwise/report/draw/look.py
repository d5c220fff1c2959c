"""One look for all charts. matplotlib is an extra, `poolwise[report]`, so it is imported where a chart is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: distinct to all eyes,
MARKS = dict(zip(COLOURS, ("o", "s", "^", "D", "v", "P"), strict=True))  # and in grey
INK, FAINT = "#333333", "#e4e4e4"
_DPI = 150


def blank(size: tuple[float, float]) -> "Figure":
    """A figure without charts, of a size in inches, outside of any window or global state."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ValueError("charts need matplotlib: pip install 'poolwise[report]'") from error
    return Figure(figsize=size, dpi=_DPI, layout="constrained", facecolor="white")


def panels(n: int, size: tuple[float, float]) -> "tuple[Figure, Sequence[Any]]":
    """n charts side by side."""
    figure = blank(size)
    all_axes = figure.subplots(1, n, squeeze=False)[0]
    for ax in all_axes:
        dress(ax)
    return figure, all_axes


def axes(x: str, y: str, title: str = "", size: tuple[float, float] = (6.4, 4.4)) -> "tuple[Figure, Any]":
    """One empty chart with named axes."""
    figure, (ax,) = panels(1, size)
    ax.set_title(title, fontsize=11, color=INK)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return figure, ax


def dress(ax: Any, without: Sequence[str] = ("top", "right")) -> None:
    """A faint grid behind the data, no frame at some sides."""
    ax.grid(color=FAINT, lw=0.8)
    ax.set_axisbelow(True)
    for side in without:
        ax.spines[side].set_visible(False)
