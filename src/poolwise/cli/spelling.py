"""Errors and warnings of the library name its parameters; a command spells these as its own options."""

from typing import Any

import click

from poolwise.method.recipe import PARAMETERS
from poolwise.support.parameters import NAME, Example, Spell, Spelled, as_keyword, flat_names


def option_value(value: Any) -> str:
    """A value as it is written behind an option, with all digits that it has.

    >>> option_value(None), option_value((6, 8)), option_value([1, (2, 3)]), option_value(0.0001), option_value(True)
    ('none', '6x8', '1,2x3', '0.0001', '')
    >>> option_value(-9999.0), option_value(-3.4028234663852886e38)
    ('-9999', '-3.4028234663852886e+38')
    """
    if value is None:
        return "none"
    if isinstance(value, Example):
        return value.option
    if isinstance(value, bool):
        return ""
    if isinstance(value, tuple):
        if any(isinstance(one, str) for one in value):
            return ",".join(one for one in value if one is not None)
        if any(isinstance(one, float) for one in value):
            return ",".join(map(option_value, value))
        return "x".join(map(option_value, value))
    if isinstance(value, list):
        return ",".join(map(option_value, value))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return repr(value) if isinstance(value, float) and float(short) != value else short


def speller(command: click.Command) -> Spell:
    """How a command spells parameters: its own words first, then its options; others stay as in Python."""
    words: dict[str, str] = {"data_home": "POOLWISE_DATA"} | getattr(command, "spellings", {})
    if any(param.name == "model" for param in command.params):  # it has its own, which no option changes
        words["nodata"] = "--nodata of `poolwise fit`"
    if any("--data" in param.opts for param in command.params):
        words["data_home"] = "--data"
    own = {option: param for param in command.params for option in param.opts}
    options = {key: option for key, option in flat_names(PARAMETERS).items() if option in own}
    options |= {param.name: param.opts[0] for param in command.params if param.name and param.opts}

    def spell(name: str, value: Any) -> str:
        if name in words:
            return words[name]
        if name not in options:
            return as_keyword(name, value)
        if value is False and own[options[name]].secondary_opts:
            return own[options[name]].secondary_opts[0]
        return options[name] if value is NAME else f"{options[name]} {option_value(value)}".rstrip()

    return spell


def in_options(message: Exception | str, command: click.Command) -> str:
    """An error's or a warning's message as a command says it."""
    return message.spelled(speller(command)) if isinstance(message, Spelled) else str(message)
