"""Parameters and parts as JSON, and back."""

import inspect
from typing import Any

from sklearn.base import BaseEstimator

from poolwise.method.recipe import FAMILIES, PARAMETERS
from poolwise.modelfile.strict_json import ModelFileError, anything, decode, encode, fields
from poolwise.support.parameters import Family, Part

# Parameters that files of this format may lack: they were added later, and their defaults mean what the part did before.
_ADDED = {"SecondOrder": ("directions", "directions_by"), "LLC": ("two_sided",), "Pool": ("root",)}

_ADDED_TO_ESTIMATORS: dict[str, dict[str, Any]] = {"PooledFeatures": {"bands": None, "nodata": None, "statistics": False}}


def part_to_json(part: Part) -> dict[str, Any]:
    """A part with the name of its class and all its parameters.

    >>> from poolwise.method.encoders import ENCODERS, Threshold
    >>> part_to_json(Threshold(alpha=0.5))
    {'part': 'Threshold', 'alpha': 0.5, 'two_sided': False}
    >>> part_from_json(ENCODERS, part_to_json(Threshold(alpha=0.5)), "encoder")
    Threshold(alpha=0.5)
    """
    return {"part": type(part).__name__, **{name: encode(value) for name, value in part.plain_params().items()}}


def part_from_json(family: Family[Any], value: Any, where: str) -> Any:
    """What `part_to_json` was given, checked; exactly the parameters that the class has now, but for those of `_ADDED`."""
    name = value.get("part") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in family.by_class:
        raise ModelFileError(f"{where} must be one of the parts {', '.join(family.by_class)}; it is {repr(value)[:80]}")
    cls = family.by_class[name]
    added = {key: cls.described()[key].default for key in _ADDED.get(name, ())}
    fields({**added, **value}, where, dict.fromkeys(("part", *cls.described()), anything))
    return cls(**{name: decode(entry) for name, entry in value.items() if name != "part"}).checked()


def to_json(estimator: BaseEstimator) -> tuple[dict[str, Any], list[str]]:
    """All parameters; one that JSON cannot hold, such as a RandomState, becomes its default, and a note says so.

    >>> import numpy as np
    >>> from poolwise import PooledFeatures
    >>> parameters, notes = to_json(PooledFeatures(8, image_shape=(4, 4), random_state=np.random.RandomState(0)))
    >>> parameters["image_shape"], parameters["random_state"], notes
    ({'tuple': [4, 4]}, None, ['random_state was a RandomState, which JSON cannot hold; saved as None'])
    """
    parameters, notes = {}, []
    for name, value in estimator.get_params(deep=False).items():
        if name in FAMILIES and callable(value) and not isinstance(value, Part):
            value = FAMILIES[name].check(name, value)  # a function becomes the part that names it
        if name == "nodata":
            value = PARAMETERS[name].kind.check(name, value)  # NaN becomes the word for it
        try:
            parameters[name] = part_to_json(value) if isinstance(value, Part) else encode(value)
        except TypeError:
            default = inspect.signature(type(estimator)).parameters[name].default
            parameters[name] = encode(default)
            notes.append(f"{name} was a {type(value).__name__}, which JSON cannot hold; saved as {default!r}")
    return parameters, notes


def from_json(cls: type[BaseEstimator], value: Any) -> dict[str, Any]:
    """What `to_json` was given; exactly the names that the class has now, but for those of `_ADDED_TO_ESTIMATORS`."""
    added = _ADDED_TO_ESTIMATORS.get(cls.__name__, {})
    value = {**added, **value} if isinstance(value, dict) else value
    fields(value, f"{cls.__name__}'s parameters", dict.fromkeys(inspect.signature(cls).parameters, anything))
    return {
        name: part_from_json(FAMILIES[name], entry, name) if name in FAMILIES and isinstance(entry, dict) else decode(entry)
        for name, entry in value.items()
    }
