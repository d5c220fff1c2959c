"""Line charts as SVG: light, sharp in print, and coloured by the page, so that they follow light and dark.

A chart has no colours of its own: its parts have classes (`line-0`, `axis`, `grid`), which the page's style sheet paints.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 440, 350
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 44  # at least so far from the left: longer numbers get more room
_LETTER = 7.2  # is what a letter of a number takes on average, or less
_MOST_POINTS = 240


@dataclass(frozen=True)
class Line:
    """A named line through points; `marks` draws them, hollow where `measured` is False."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    marks: bool = False
    measured: Sequence[bool] | None = None


def line_chart(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    alt: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    percent: bool = False,
) -> str:
    """An SVG element with `alt` for readers who cannot see it. Points without a logarithm are left out if one is taken."""
    kept = [_drawable(line, log_x, log_y) for line in lines]
    xs, ys = ([value for points in kept for value in (point[axis] for point in points)] for axis in (0, 1))
    if not xs:
        return ""
    up, y_ticks = _axis(min(ys), max(ys), log_y, _HEIGHT - _BOTTOM, _TOP)
    texts = [f"{100 * value:.3g} %" if percent else _short(value) for value in y_ticks]
    left = max(_LEFT, math.ceil(24 + _LETTER * max(map(len, texts), default=0)))
    across, x_ticks = _axis(min(xs), max(xs), log_x, left, _WIDTH - _RIGHT)
    parts, floor = [], _HEIGHT - _BOTTOM
    for value, text in zip(y_ticks, texts, strict=True):
        parts.append(f'<line class="grid" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 7}" y="{up(value) + 4:.1f}" text-anchor="end">{text}</text>')
    for value in x_ticks:
        parts.append(f'<text class="tick middle" x="{across(value):.1f}" y="{floor + 17}">{_short(value)}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{floor}" y2="{floor}"/>')
    parts.append(f'<text class="label" x="{(left + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}">{escape(x_label)}</text>')
    middle = (_TOP + floor) / 2
    parts.append(f'<text class="label" transform="translate(13 {middle}) rotate(-90)">{escape(y_label)}</text>')
    for number, (line, points) in enumerate(zip(lines, kept, strict=True)):
        parts.extend(_draw(line, points, number, across, up))
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'


def _drawable(line: Line, log_x: bool, log_y: bool) -> list[tuple[float, float, bool]]:
    measured = line.measured or [True] * len(line.x)
    points = [
        (float(x), float(y), bool(known))
        for x, y, known in zip(line.x, line.y, measured, strict=True)
        if math.isfinite(x) and math.isfinite(y) and (x > 0 or not log_x) and (y > 0 or not log_y)
    ]
    if len(points) <= _MOST_POINTS:
        return points
    last = len(points) - 1  # evenly over the axis: on a logarithmic one the first are far apart, the last close
    at = [i / (_MOST_POINTS - 1) for i in range(_MOST_POINTS)]
    chosen = {round(math.exp(t * math.log(last + 1)) - 1) if log_x else round(t * last) for t in at}
    return [points[i] for i in sorted(chosen)]


def _draw(line: Line, points: list[tuple[float, float, bool]], number: int, across: "Scale", up: "Scale") -> list[str]:
    places = [(across(x), up(y)) for x, y, _ in points]
    drawn = [f'<polyline class="line-{number}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>']
    if line.marks:
        for (x, y), (value, height, known) in zip(places, points, strict=True):
            title = f"<title>{escape(line.name)}: {_short(value)}, {height:.4g}</title>"
            kind = "mark" if known else "mark hollow"
            shape = f'<circle class="{kind} mark-{number}" cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>'
            if number % 2:
                place = f'x="{x - 3.7:.1f}" y="{y - 3.7:.1f}" width="7.4" height="7.4"'
                shape = f'<rect class="{kind} mark-{number}" {place}>{title}</rect>'
            drawn.append(shape)
    return drawn


class Scale:
    """Values to pixels, linear or logarithmic."""

    def __init__(self, low: float, high: float, log: bool, start: float, stop: float) -> None:
        self.log, self.start, self.stop = log, start, stop
        self.low, self.high = (math.log(low), math.log(high)) if log else (low, high)

    def __call__(self, value: float) -> float:
        at = math.log(value) if self.log else value
        return self.start + (self.stop - self.start) * (at - self.low) / (self.high - self.low)


def _axis(low: float, high: float, log: bool, start: float, stop: float) -> tuple[Scale, list[float]]:
    """A scale that holds both ends, and a few round values on it."""
    if high <= low:
        low, high = (low / 1.5, high * 1.5) if log else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
    ticks = _log_ticks(low, high) if log else _ticks(low, high)
    if not log:
        step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        ticks = [low + step * i for i in range(round((high - low) / step) + 1)]
    return Scale(low, high, log, start, stop), ticks


def _ticks(low: float, high: float) -> list[float]:
    """
    >>> _ticks(0, 10)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """
    >>> _log_ticks(1, 1000)
    [1.0, 10.0, 100.0, 1000.0]
    >>> [round(tick, 3) for tick in _log_ticks(0.12, 0.18)]
    [0.12, 0.14, 0.16, 0.18]
    """
    for factors in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [factor * 10.0**power for power in powers for factor in factors]
        found = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(found) >= 3:
            break
    if len(found) < 2:  # a narrow range has no such values
        found = _ticks(low, high)
    return found[:: math.ceil(len(found) / 7)]


def _short(value: float) -> str:
    """
    >>> _short(12800), _short(0.0001), _short(0.25), _short(1.5e7)
    ('12,800', '10⁻⁴', '0.25', '1.5·10⁷')
    """
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    if -3 <= power <= 5:
        return f"{value:,.4g}" if power < 3 else f"{value:,.0f}"
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    digits = f"{value / 10.0**power:.3g}"
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"
