"""Accuracy over the number of codes, as `poolwise plan --json` prints it or as you measured it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHAPE = "expected what `poolwise plan --json` prints, or a dictionary of codes to accuracy (a fraction)"


@dataclass(frozen=True)
class Curve:
    """codes, accuracy, measured : of one method, by codes; what is not measured is predicted"""

    name: str
    codes: list[int]
    accuracy: list[float]
    measured: list[bool]


def read_budget(told: Any) -> list[Curve]:
    """
    >>> read_budget({100: 0.7, 50: 0.6})
    [Curve(name='accuracy', codes=[50, 100], accuracy=[0.6, 0.7], measured=[True, True])]
    """
    if isinstance(told, Mapping) and "methods" in told:
        methods = told["methods"]
        if not isinstance(methods, list) or not methods:
            raise ValueError(f"the budget has no methods; {_SHAPE}")
        return [_curve(_field(method, "name"), _field(method, "rows")) for method in methods]
    if isinstance(told, Mapping) and told:
        return [_curve("accuracy", [{"codes": codes, "accuracy": value} for codes, value in told.items()])]
    raise ValueError(f"the budget is {type(told).__name__}; {_SHAPE}")


def _curve(name: Any, rows: Any) -> Curve:
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"the budget's rows of {name!r} are none; {_SHAPE}")
    points = []
    for row in rows:
        codes, accuracy = _field(row, "codes"), _field(row, "accuracy")
        is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (codes, accuracy))
        if not is_number or not math.isfinite(codes) or codes < 1 or not -1 <= accuracy <= 2:  # a law may leave 0..1
            raise ValueError(f"the budget has {codes!r} codes with an accuracy of {accuracy!r}; {_SHAPE}")
        points.append((int(codes), float(accuracy), row.get("kind", "measured") == "measured"))
    points.sort()
    return Curve(str(name), *(list(column) for column in zip(*points, strict=True)))


def _field(row: Any, name: str) -> Any:
    if not isinstance(row, Mapping) or name not in row:
        raise ValueError(f"the budget has an entry without {name!r}; {_SHAPE}")
    return row[name]
