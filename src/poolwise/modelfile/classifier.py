"""A fitted linear classifier as JSON and arrays, and back.

A class of ours is added as one line in CLASSIFIERS. It has `classes_`, `coef_`, `intercept_`, `gamma_`, `n_iter_`,
`converged_`, `objective_` and `n_features_in_`; if it searched for gamma also `gammas_` (G,), `scores_` (G, folds), and, unless
it was saved before these existed, `held_out_` and `slope_`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from poolwise.estimators import LinearSVM, LinearSVMCV
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.parameters import from_json, to_json
from poolwise.modelfile.strict_json import ModelFileError, anything, fields, flag, many, maybe, one_of, real, text, whole
from poolwise.support.types import Array


@dataclass(frozen=True)
class Classifier:
    """How a class is saved: whether it has searched for gamma, and the check that its `fit` makes of parameters."""

    cls: type[BaseEstimator]
    searched: bool = False
    check_parameters: Callable[[dict[str, Any]], None] = lambda parameters: None


CLASSIFIERS = {  # by name, as in the file
    "LinearSVM": Classifier(LinearSVM, check_parameters=LinearSVM.check_parameters),
    "LinearSVMCV": Classifier(LinearSVMCV, searched=True, check_parameters=LinearSVMCV.check_parameters),
}

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_REAL = ("float16", "float32", "float64")
_TEXT = ("str", "object")  # object: text in an object array, as pandas gives it
_FITTED = {
    "classes": lambda value, where: fields(
        value, where, {"dtype": one_of("bool", *_WHOLE, *_REAL, *_TEXT), "values": many(anything, 2)}
    ),
    "features": whole(1),
    "rows": whole(1),
    "searched": maybe(many(whole(1), 2, 2)),
    "gamma": real,
    "n_iter": whole(),
    "converged": flag,
    "objective": real,
    "held_out": maybe(many(real, 3, 3)),  # accuracy, its standard error, slope of the probabilities
}


def take(model: BaseEstimator, slim: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is written of a fitted classifier; there is nothing to slim."""
    parameters, notes = to_json(model)
    arrays = {"coef": model.coef_, "intercept": model.intercept_}
    if CLASSIFIERS[type(model).__name__].searched:
        arrays |= {"gammas": model.gammas_, "scores": model.scores_}
    fitted = {
        "classes": classes_to_json(model.classes_),
        "features": int(model.n_features_in_),
        "rows": len(model.coef_),
        "searched": list(model.scores_.shape) if "scores" in arrays else None,
        "gamma": float(model.gamma_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "objective": float(model.objective_),
        "held_out": [*model.held_out_, model.slope_] if hasattr(model, "slope_") else None,
    }
    part = {"estimator": type(model).__name__, "parameters": parameters, "fitted": fitted, "notes": notes}
    return part, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def expect(part: Any) -> dict[str, Tensor]:
    """Check all of a classifier's JSON; the arrays that follow from it."""
    known = {"estimator": one_of(*CLASSIFIERS), "parameters": anything, "fitted": anything, "notes": many(text)}
    fields(part, "classifier", known)
    fitted = _with_held_out(part["fitted"])
    fields(fitted, "classifier.fitted", _FITTED)
    kind = CLASSIFIERS[part["estimator"]]
    kind.check_parameters(from_json(kind.cls, part["parameters"]))
    n_classes, rows, searched = len(classes_from_json(fitted["classes"])), fitted["rows"], fitted["searched"]
    if rows != (1 if n_classes == 2 else n_classes):
        raise ModelFileError(f"classifier.fitted.rows is {rows}, for {n_classes} classes")
    if (searched is not None) != kind.searched:
        raise ModelFileError(f"classifier.fitted.searched contradicts {part['estimator']}")
    tensors = {"coef": Tensor("F64", (rows, fitted["features"])), "intercept": Tensor("F64", (rows,))}
    if fitted["held_out"] is not None:
        if not kind.searched:
            raise ModelFileError(f"classifier.fitted.held_out contradicts {part['estimator']}")
        accuracy, error, slope = fitted["held_out"]
        if not (0 <= accuracy <= 1 and 0 <= error <= 1 and slope > 0):
            raise ModelFileError(f"classifier.fitted.held_out is {fitted['held_out']}: not an accuracy, its error and a slope")
    if searched is not None:
        tensors |= {"gammas": Tensor("F64", (searched[0],)), "scores": Tensor("F64", tuple(searched))}
    return tensors


def build(part: dict[str, Any], arrays: dict[str, Array]) -> BaseEstimator:
    """The classifier as it was before it was saved."""
    kind, fitted = CLASSIFIERS[part["estimator"]], _with_held_out(part["fitted"])
    model = kind.cls(**from_json(kind.cls, part["parameters"]))
    model.classes_ = classes_from_json(fitted["classes"])
    model.coef_, model.intercept_, model.n_features_in_ = arrays["coef"], arrays["intercept"], fitted["features"]
    model.gamma_, model.objective_ = float(fitted["gamma"]), float(fitted["objective"])
    model.n_iter_, model.converged_ = fitted["n_iter"], fitted["converged"]
    if kind.searched:
        model.gammas_, model.scores_ = arrays["gammas"], arrays["scores"]
    if fitted["held_out"] is not None:
        accuracy, error, slope = fitted["held_out"]
        model.held_out_, model.slope_ = (float(accuracy), float(error)), float(slope)
    return model


def _with_held_out(fitted: Any) -> Any:
    """Files from before `held_out` existed have none."""
    return {"held_out": None, **fitted} if isinstance(fitted, dict) else fitted


def classes_to_json(classes: Array) -> dict[str, Any]:
    """Labels and the name of their type.

    >>> classes_to_json(np.array(["cat", "dog"]))
    {'dtype': 'str', 'values': ['cat', 'dog']}
    """
    name, values = "str" if classes.dtype.kind == "U" else classes.dtype.name, classes.tolist()
    spelled = {"dtype": name, "values": values}
    if name not in ("bool", *_WHOLE, *_REAL, *_TEXT) or (name == "object" and {type(value) for value in values} != {str}):
        raise TypeError(f"classes of {classes.dtype} cannot be saved; labels can be whole or real numbers, booleans or text")
    if not np.array_equal(classes_from_json(spelled), classes):
        raise ValueError(f"classes {values[:5]} of {classes.dtype} do not survive being saved")
    return spelled


def classes_from_json(spelled: dict[str, Any]) -> Array:
    """What `classes_to_json` was given: ascending and each different, as scikit-learn's classifiers have them."""
    name, values = spelled["dtype"], spelled["values"]
    kind = str if name in _TEXT else bool if name == "bool" else int if name in _WHOLE else float
    if any(type(value) is not kind for value in values):
        raise ModelFileError(f"classifier.fitted.classes are not all {name}")
    if kind is int and not all(np.iinfo(name).min <= value <= np.iinfo(name).max for value in values):
        raise ModelFileError(f"classifier.fitted.classes are not all {name}")
    if any(a >= b for a, b in pairwise(values)):
        raise ModelFileError("classifier.fitted.classes do not ascend")
    return np.array(values, name)
