"""JSON in which nothing is doubled, nested without end, or not a number; and parameters as JSON.

What is read has exactly one spelling (`canonical`), so a text and its meaning have the same checksum.
"""

import json
import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

_LONGEST_WHOLE = 20  # digits of 2**64


class ModelFileError(ValueError):
    """A file that is not a model of ours, is damaged, or was made by a newer poolwise."""


def canonical(value: Any) -> bytes:
    """The one spelling: sorted keys, no spaces, UTF-8.

    >>> canonical({"b": [1, 0.5], "a": "α"}).decode()
    '{"a":"α","b":[1,0.5]}'
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ModelFileError("it has text with half a character (a lone surrogate), which UTF-8 cannot hold") from None


def parse(text: str) -> Any:
    """Text to objects.

    >>> parse('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    poolwise.modelfile.strict_json.ModelFileError: its JSON has the key 'a' twice
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_constant, parse_int=_whole, parse_float=_real)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"its JSON cannot be read: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ModelFileError("its JSON is nested too deep") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ModelFileError(f"its JSON has the key {key!r} twice")
        result[key] = value
    return result


def _constant(name: str) -> Any:
    raise ModelFileError(f"its JSON has {name}, which is not a number")


def _whole(digits: str) -> int:
    if digits == "-0":
        raise ModelFileError("its JSON has -0, which is not a whole number to everybody")
    if len(digits) > _LONGEST_WHOLE:
        raise ModelFileError(f"its JSON has a whole number of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ModelFileError(f"its JSON has {digits[:30]}, which is beyond float64")
    return value


Check = Callable[[Any, str], None]


def fields(value: Any, where: str, checks: Mapping[str, Check]) -> None:
    """`value` is an object with exactly these keys, each as its check wants it.

    >>> fields({"n": 3, "m": 1}, "it", {"n": whole()})
    Traceback (most recent call last):
    ...
    poolwise.modelfile.strict_json.ModelFileError: it has the unknown key 'm'
    """
    if not isinstance(value, dict):
        raise ModelFileError(f"{where} is not a JSON object")
    for key in value:
        if key not in checks:
            raise ModelFileError(f"{where} has the unknown key {key!r}")
    for key, check in checks.items():
        if key not in value:
            raise ModelFileError(f"{where} lacks the key {key!r}")
        check(value[key], f"{where}.{key}")


def _refuse(where: str, expected: str, value: Any) -> ModelFileError:
    return ModelFileError(f"{where} must be {expected}; it is {repr(value)[:80]}")


def whole(least: int = 0, most: int = 2**31 - 1) -> Check:
    """A whole number within bounds."""

    def check(value: Any, where: str) -> None:
        if type(value) is not int or not least <= value <= most:
            raise _refuse(where, f"a whole number in {least}..{most}", value)

    return check


def real(value: Any, where: str) -> None:
    """A number; `parse` lets only finite ones through."""
    if type(value) not in (int, float):
        raise _refuse(where, "a number", value)


def text(value: Any, where: str) -> None:
    if type(value) is not str:
        raise _refuse(where, "text", value)


def flag(value: Any, where: str) -> None:
    if type(value) is not bool:
        raise _refuse(where, "true or false", value)


def anything(value: Any, where: str) -> None:
    """Checked elsewhere."""


def one_of(*choices: str | None) -> Check:
    def check(value: Any, where: str) -> None:
        if not (value is None or type(value) is str) or value not in choices:
            raise _refuse(where, f"one of {', '.join(map(repr, choices))}", value)

    return check


def maybe(check: Check) -> Check:
    """null, or what `check` wants."""
    return lambda value, where: None if value is None else check(value, where)


def many(check: Check, least: int = 0, most: int | None = None) -> Check:
    """A list of what `check` wants."""

    def check_all(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) < least or (most is not None and len(value) > most):
            raise _refuse(where, f"a list of {least if most == least else f'at least {least}'} entries", value)
        for entry in value:
            check(entry, where)

    return check_all


def named(check: Check) -> Check:
    """An object of any keys, each with what `check` wants."""

    def check_all(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _refuse(where, "a JSON object", value)
        for key, entry in value.items():
            check(entry, f"{where}[{key!r}]")

    return check_all


def scalar(value: Any, where: str) -> None:
    if value is not None and type(value) not in (str, int, float, bool):
        raise _refuse(where, "text, a number, true, false or null", value)


def encode(value: Any) -> Any:
    """A parameter as JSON: tuples as {"tuple": [...]}, dictionaries as {"dict": [[key, value], ...]}; TypeError for the rest.

    >>> encode((1, None)), encode({0: 2.5})
    ({'tuple': [1, None]}, {'dict': [[0, 2.5]]})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):  # a Fraction, say
        value = int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{value} is not a number in JSON")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(entry) for entry in value]
    if type(value) is tuple:
        return {"tuple": [encode(entry) for entry in value]}
    if type(value) is dict:
        return {"dict": [[encode(key), encode(entry)] for key, entry in value.items()]}
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


def decode(value: Any) -> Any:
    """What `encode` was given.

    >>> decode(encode([1, (2, 3)]))
    [1, (2, 3)]
    """
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(decode(entry) for entry in value["tuple"])
    if value.keys() == {"dict"} and isinstance(value["dict"], list):
        pairs = value["dict"]
        if all(isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list | dict) for pair in pairs):
            return {key: decode(entry) for key, entry in pairs}
    raise ModelFileError(f"{repr(value)[:80]} is not a parameter")
