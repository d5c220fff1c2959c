"""The parameters of an estimator as JSON, and back."""

import inspect
from typing import Any

from sklearn.base import BaseEstimator

from poolwise.modelfile.strict_json import anything, decode, encode, fields


def to_json(estimator: BaseEstimator) -> tuple[dict[str, Any], list[str]]:
    """All parameters; one that JSON cannot hold, such as a RandomState, becomes its default, and a note says so.

    >>> import numpy as np
    >>> from poolwise import PooledFeatures
    >>> parameters, notes = to_json(PooledFeatures(8, grid=(1, 2), random_state=np.random.RandomState(0)))
    >>> parameters["grid"], parameters["random_state"], notes
    ({'tuple': [1, 2]}, None, ['random_state was a RandomState, which JSON cannot hold; saved as None'])
    """
    parameters, notes = {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            parameters[name] = encode(value)
        except TypeError:
            default = inspect.signature(type(estimator)).parameters[name].default
            parameters[name] = encode(default)
            notes.append(f"{name} was a {type(value).__name__}, which JSON cannot hold; saved as {default!r}")
    return parameters, notes


def from_json(cls: type[BaseEstimator], value: Any) -> dict[str, Any]:
    """What `to_json` was given; exactly the names that the class has now."""
    fields(value, f"{cls.__name__}'s parameters", dict.fromkeys(inspect.signature(cls).parameters, anything))
    return {name: decode(entry) for name, entry in value.items()}
