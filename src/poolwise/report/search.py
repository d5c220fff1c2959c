"""The settings that a search tried, as `poolwise tune --json` prints them, for the page of the model that it chose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poolwise.report.draw.svg import Line

_SHAPE = "expected what `poolwise tune --json` prints"
_ROWS_SHOWN = 12


@dataclass(frozen=True)
class Tried:
    """rows : trials, the best first    frontier : score over milliseconds    tried : how many trials there were"""

    rows: list[Mapping[str, Any]]
    frontier: Line
    score: str
    tried: int


def read_search(given: Any) -> Tried:
    """
    >>> row = {"score": 0.8, "error": 0.01, "milliseconds": 0.2, "features": 8, "images": 9, "frontier": True, "options": ""}
    >>> read_search({"score": "accuracy", "tried": 1, "trials": [row]}).frontier.x
    [0.2]
    """
    needed = {"score", "error", "milliseconds", "features", "images", "frontier", "options"}
    rows = given.get("trials") if isinstance(given, Mapping) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) and needed <= row.keys() for row in rows):
        raise ValueError(f"the search has no trials; {_SHAPE}")
    best = sorted((row for row in rows if row["frontier"]), key=lambda row: row["milliseconds"])
    name = "R²" if given.get("score") == "r2" else "accuracy"
    line = Line(name, [float(row["milliseconds"]) for row in best], [float(row["score"]) for row in best], True)
    return Tried(rows, line, name, int(given.get("tried", len(rows))))


def search_section(tried: Tried) -> dict[str, Any]:
    """The table of the page."""
    percent = tried.score != "R²"
    rows = [
        {
            "score": _spoken(row, percent),
            "milliseconds": f"{'' if row.get('measured', True) else '~'}{row['milliseconds']:.3g}",
            "features": f"{row['features']:,}",
            "images": f"{row['images']:,}",
            "options": row["options"],
        }
        for row in tried.rows[:_ROWS_SHOWN]
    ]
    text = (
        f"Settings were tried on images held out of those to learn from, {tried.tried:,} trials in all; the first row was "
        f"chosen. Scores of rows with fewer images are lower for that reason alone. The best of many is a little too high. "
        f"~ marks times that are estimated."
    )
    return {"text": text, "name": tried.score, "rows": rows}


def _spoken(row: Mapping[str, Any], percent: bool) -> str:
    if percent:
        return f"{100 * row['score']:.1f} ± {100 * row['error']:.1f} %"
    return f"{row['score']:.3f} ± {row['error']:.3f}"
