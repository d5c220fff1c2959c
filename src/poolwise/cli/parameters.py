"""Every parameter of the recipe as an option of `poolwise fit`, and of `poolwise plan` but for the numbers of codes.

Options stay flat: `--encoder threshold --alpha 0.1`. They follow from the descriptions in `poolwise.method.recipe`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from poolwise.cli.options import Choice, ChoiceOrNone, Command, Grids, Integers, OrNone, Pair, Reals
from poolwise.cli.spelling import option_value
from poolwise.method.recipe import FAMILIES, PARAMETERS
from poolwise.support import parameters as kinds
from poolwise.support.missing import NodataKind
from poolwise.support.parameters import Family, Parameter

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures

_FIRST = ("n_codes", "n_candidates")


def first_parameters(command: Command) -> Command:
    """Those that nearly everybody sets."""
    return _add(command, [(name, PARAMETERS[name]) for name in _FIRST])


def other_parameters(command: Command) -> Command:
    """The rest, each family followed by the parameters of its parts; one that offers no choice has no option of its own."""
    options: list[tuple[str, Parameter]] = []
    for name, one in PARAMETERS.items():
        if isinstance(one.kind, Family):
            if len(one.kind.by_word) > 1 or one.kind.none:
                options.append((name, one))
            usual = one.kind.check(name, one.default)
            for inner in one.kind.described():
                known = usual is not None and inner.key == usual.described().get(inner.name, inner).key
                default = getattr(usual, inner.name, inner.default) if known else inner.default
                options.append((f"{name}__{inner.name}", replace(inner, default=default)))
        elif name not in _FIRST:
            options.append((name, one))
    return _add(command, options)


def nodata(command: Command) -> Command:
    """`--nodata` alone."""
    return _add(command, [("nodata", PARAMETERS["nodata"])])


def _add(command: Command, options: list[tuple[str, Parameter]]) -> Command:
    """Options that stay as the preset has them where they are not given: the defaults shown are for reading alone."""
    for name, one in reversed(options):
        spelling, default = one.option, option_value(one.default)
        settings: dict[str, Any] = {"default": None, "type": _type(one.kind), "metavar": _metavar(one.kind)}
        if isinstance(one.kind, kinds.Flag):
            spelling = f"{one.option}/{one.kind.off}"
            if isinstance(one.default, bool):
                default = (one.option if one.default else one.kind.off).removeprefix("--")
        if isinstance(one.kind, kinds.Grids):
            settings = {"multiple": True, "type": Grids(one.kind.word)}
        command = click.option(spelling, name, help=f"{one.help}  [default: {default}]", **settings)(command)
    return command


def _metavar(kind: kinds.Kind) -> str | None:
    """What stands for a value in help; None where click's type has a word of its own."""
    if isinstance(kind, kinds.Number):
        return "F"
    return "N" if isinstance(kind, kinds.Whole) and not kind.none else None


def _type(kind: kinds.Kind) -> Any:
    """What click converts with."""
    if isinstance(kind, kinds.Whole):
        return OrNone(click.INT, kind.word) if kind.none else click.INT
    if isinstance(kind, kinds.Number):
        return click.FLOAT
    if isinstance(kind, NodataKind):
        return OrNone(click.FLOAT, "nan")
    if isinstance(kind, kinds.Numbers):
        return Reals(kind.word)
    if isinstance(kind, kinds.Wholes):
        return Integers()
    if isinstance(kind, kinds.Size):
        return Pair()
    if isinstance(kind, Family | kinds.Choice):
        words = list(kind.by_word) if isinstance(kind, Family) else [word for word in kind.words if word is not None]
        none = kind.none if isinstance(kind, Family) else None in kind.words
        return ChoiceOrNone(*words) if none else Choice(words)
    return None


def given(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Take them out of a command's options; only those that the user wrote, `none` among them."""
    ours = [name for name in options if name.partition("__")[0] in PARAMETERS]
    values = {name: options.pop(name) for name in ours}
    written = {name: value for name, value in values.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    for name, value in written.items():
        if isinstance(value, tuple) and value and all(isinstance(part, list | str) for part in value):  # --grid, repeated
            words = [part for part in value if isinstance(part, str)]
            if words and len(value) > 1:
                raise click.UsageError(f"--grid {words[0]} cannot be combined with other grids; give one or the other")
            levels = words or [level for part in value for level in part]
            written[name] = levels[0] if len(levels) == 1 else levels
    return written


def set_given(features: "PooledFeatures", written: dict[str, Any]) -> None:
    """Change an estimator as options say: words of parts first, then the parameters of the parts that are there."""
    for name, value in written.items():
        if name in FAMILIES and value is not None:
            current = FAMILIES[name].check(name, getattr(features, name))
            features.set_params(**{name: FAMILIES[name].switched(current, value)})
        elif "__" not in name:
            features.set_params(**{name: value})
    for name, value in written.items():
        place, nested, inner = name.partition("__")
        if nested:
            part = FAMILIES[place].check(place, getattr(features, place))
            if part is None or inner not in part.described():
                raise click.UsageError(_not_for(place, inner, "none" if part is None else part.word))
            features.set_params(**{name: value})


def _not_for(place: str, inner: str, word: str) -> str:
    """An option of another part than the one chosen."""
    owners = [part for part in FAMILIES[place].parts if inner in part.described()]
    words = " or ".join(word for part in owners for word in part.words)
    option = PARAMETERS[place].option
    return f"{owners[0].described()[inner].option} is for {option} {words}; got {option} {word}"
