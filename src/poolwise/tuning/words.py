"""A search as text: the table, what mattered, what was left out."""

from typing import Any

from poolwise.tuning.effects import Effect
from poolwise.tuning.result import Search, Trial
from poolwise.tuning.space import FACTORS

_VALUES = {None: "none", True: "two sides", False: "one side", "root": "second order, root", "power": "second order, power"}


def table_lines(search: Search, rows: int) -> list[str]:
    """The chosen setting, the best others and the frontier (marked *), with the options of `poolwise fit`."""
    ranking, on_frontier = search.ranking, {id(trial) for trial in search.frontier}
    shown = ranking[:rows] + [trial for trial in ranking[rows:] if id(trial) in on_frontier]
    name = "R²" if search.numbers else "accuracy"
    lines = [f"  {name:<14} {'ms/image':>8} {'features':>8} {'images':>7}  options of poolwise fit"]
    for trial in shown:
        mark = "*" if id(trial) in on_frontier else " "
        about = " " if trial.measured else "~"
        options = trial.setting.short_options or "(the defaults)"
        lines.append(
            f"{mark} {score_text(trial, search.numbers):<14} {about}{trial.milliseconds:>7.3f} {trial.features:>8,} "
            f"{trial.images:>7,}  {options}"
        )
    lines.append(
        "  the chosen one first; * none is better and cheaper; ~ estimated; scores of fewer images are lower for that alone"
    )
    return lines


def score_text(trial: Trial, numbers: bool) -> str:
    if numbers:
        return f"{trial.score:.3f} ± {trial.error:.3f}"
    return f"{100 * trial.score:.1f} ± {100 * trial.error:.1f} %"


def what_mattered(search: Search, matters: bool) -> str:
    """The factors with a value that made a difference, and what it was; or those without one.

    A factor is listed with the value that gave most.
    """
    by_factor: dict[str, list[Effect]] = {}
    for effect in search.effects:
        by_factor.setdefault(effect.factor, []).append(effect)
    found = []
    for factor, effects in by_factor.items():
        decisive = [effect for effect in effects if effect.matters]
        if bool(decisive) is not matters:
            continue
        name = "order" if factor == "order" else FACTORS[factor]
        if not matters:
            found.append(name)
            continue
        best = max(decisive, key=lambda effect: effect.difference)
        worst = min(decisive, key=lambda effect: effect.difference)
        shown = best if best.difference > 0 else worst
        found.append(f"{name} {_effect_text(shown, search.numbers)}")
    return "; ".join(found) if matters else ", ".join(found)


def _effect_text(effect: Effect, numbers: bool) -> str:
    unit = 1 if numbers else 100
    digits = 3 if numbers else 1
    sign = "+" if effect.difference >= 0 else "−"
    return (
        f"{value_text(effect.value)} {sign}{abs(unit * effect.difference):.{digits}f} ± {unit * effect.error:.{digits}f} "
        f"against {value_text(effect.reference)}"
    )


def value_text(value: Any) -> str:
    """
    >>> value_text((1, 2)), value_text(None), value_text(0.1), value_text("max")
    ('1,2', 'none', '0.1', 'max')
    """
    if isinstance(value, tuple):
        return ",".join(f"{one:g}" for one in value)
    if value is None or isinstance(value, bool):
        return _VALUES[value]
    return f"{value:g}" if isinstance(value, int | float) else _VALUES.get(value, str(value))


def left_out_lines(search: Search, most: int) -> list[str]:
    """One line for each kind of setting, with the reason of its first one."""
    seen: dict[str, str] = {}
    for one in search.left_out:
        setting = one.setting
        codes = f"{setting.n_codes} code{'s' * (setting.n_codes > 1)}"
        kind = "second order" if setting.is_second_order else setting.pool
        what = f"{codes}, {kind}, grid {value_text(setting.grid)}{', two sides' * setting.two_sided}"
        seen.setdefault(what, one.reason)
    lines = [f"{what}: {reason}" for what, reason in seen.items()]
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more kinds of settings"]
