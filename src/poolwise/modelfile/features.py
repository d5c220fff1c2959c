"""A fitted PooledFeatures as JSON and arrays, and back.

    {"parameters", "notes", "fitted": what `fit` saw and how it went, "layers": [layer], "candidates": ... or null,
     "selection": ... or null}

Arrays are named after their place: `layers.0.codes`, `candidates.covariance`, `selection.label`, `objective`. A layer is as
it was fitted, whatever `set_params` has changed since. What follows from the rest (codes among candidates, clusters, the
folded dictionary, float32 copies) is made again, to the same bits.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from poolwise.engine.blas import thread_count
from poolwise.estimators import PooledFeatures
from poolwise.estimators.images import Seen, as_image_shape, remember
from poolwise.method.bands import Bands
from poolwise.method.descriptors import Own
from poolwise.method.layer import Layer
from poolwise.method.recipe import PARAMETERS, Recipe
from poolwise.modelfile import candidates as chosen_from
from poolwise.modelfile import layer as of_layer
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.parameters import from_json, to_json
from poolwise.modelfile.strict_json import (
    Check,
    ModelFileError,
    anything,
    fields,
    flag,
    many,
    maybe,
    named,
    real,
    text,
    whole,
)
from poolwise.support.types import Array

_MOST_THREADS = 4096
_PART: dict[str, Check] = {
    "parameters": anything,
    "notes": many(text),
    "fitted": anything,
    "layers": many(anything, 1, 1),
    "candidates": anything,
    "selection": anything,
}
_FITTED: dict[str, Check] = {
    "pixel_range": real,
    "feature_names": maybe(many(text)),
    "rounds": whole(),
    "converged": flag,
    "timings": named(real),
}

_BANDS: dict[str, Check] = {"bands": many(many(real, 2, 2), 1)}  # gain and shift of each, where they are scaled


def take(model: PooledFeatures, slim: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is written of a fitted model."""
    parameters, notes = to_json(model)
    layer, candidates, selection = model.layer_, None if slim else model.candidates_, model.selection_
    part: dict[str, Any] = {
        "parameters": parameters,
        "notes": notes,
        "fitted": {
            "pixel_range": float(model._pixel_range),
            "feature_names": [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
            "rounds": len(model.objective_),
            "converged": bool(model.converged_),
            "timings": {name: float(seconds) for name, seconds in model.timings_.items()},
            **_bands_to_json(model.bands_),
        },
        "layers": [of_layer.to_json(layer)],
        "candidates": None,
        "selection": None,
    }
    arrays = {"objective": np.array(model.objective_, np.float64)}
    arrays |= {f"layers.0.{name}": array for name, array in of_layer.to_arrays(layer).items()}
    if candidates is not None:
        part["candidates"], own = chosen_from.candidates_to_json(candidates)
        arrays |= {f"candidates.{name}": array for name, array in own.items()}
    if selection is not None:
        part["selection"], own = chosen_from.selection_to_json(selection, candidates is None)
        arrays |= {f"selection.{name}": array for name, array in own.items()}
    return part, {name: np.ascontiguousarray(arrays[name]) for name in expect(part)}


def expect(part: Any) -> dict[str, Tensor]:
    """Check all of a model's JSON; the arrays that follow from it."""
    fields(part, "features", _PART)
    fitted = part["fitted"]
    scales = isinstance(fitted, dict) and "bands" in fitted
    fields(fitted, "features.fitted", {**_FITTED, **_BANDS} if scales else _FITTED)
    _check_parameters(from_json(PooledFeatures, part["parameters"]))
    layer = shell(part)
    names, size = part["fitted"]["feature_names"], math.prod(layer.image_shape)
    if names is not None and len(names) != size:
        raise ModelFileError(f"features.fitted.feature_names are {len(names)}; its images have {size} numbers")
    if scales and len(fitted["bands"]) != layer.image_shape[2]:
        raise ModelFileError(
            f"features.fitted.bands are {len(fitted['bands'])}; its images have {layer.image_shape[2]} channels"
        )
    tensors = {"objective": Tensor("F64", (part["fitted"]["rounds"],))}
    tensors |= {f"layers.0.{name}": tensor for name, tensor in of_layer.tensors(layer).items()}
    candidates, selection = part["candidates"], part["selection"]
    if candidates is not None:
        own = chosen_from.expect_candidates(candidates, layer)
        tensors |= {f"candidates.{name}": tensor for name, tensor in own.items()}
        del tensors["layers.0.codes"]  # they are among the candidates
    if selection is not None:
        own = chosen_from.expect_selection(selection, len(layer.codes))
        tensors |= {f"selection.{name}": tensor for name, tensor in own.items()}
    _check_agreement(layer, candidates, selection)
    return tensors


def shell(part: dict[str, Any]) -> Layer:
    """The layer that the JSON describes, without its numbers."""
    return of_layer.shell(part["layers"][0], "features.layers.0")


def n_features(part: dict[str, Any]) -> int:
    """Numbers per image."""
    return shell(part).n_features


def n_candidates(part: dict[str, Any]) -> int | None:
    """M; None where nothing was selected."""
    if part["candidates"] is not None:
        return int(part["candidates"]["codes"])
    if part["selection"] is not None:
        return int(part["selection"]["candidates"])
    projection = part["layers"][0]["projection"]
    return int(part["layers"][0]["codes"]) if projection is not None and projection["kind"] == "pca" else None


def chosen_by(part: dict[str, Any]) -> str:
    """How codes were selected; "auto" where a slim file does not hold it."""
    given, candidates = str(part["parameters"]["selection"]), part["candidates"]
    if given != "auto" or candidates is None:
        return given
    return "affinity" if candidates["labelled"] is None else "supervised"


def is_slim(part: dict[str, Any]) -> bool:
    """Whether candidates were left out."""
    return part["candidates"] is None and n_candidates(part) is not None


def _check_parameters(parameters: dict[str, Any]) -> None:
    """All that `fit` would refuse before it sees images."""
    Recipe(**{name: parameters[name] for name in PARAMETERS}).checked()
    if parameters["image_shape"] is not None:
        as_image_shape(parameters["image_shape"])
    maybe(whole(0, 2**32 - 1))(parameters["random_state"], "random_state")
    maybe(whole(-_MOST_THREADS, _MOST_THREADS))(parameters["n_jobs"], "n_jobs")
    thread_count(parameters["n_jobs"])
    if parameters["verbose"] not in (True, False):
        whole()(parameters["verbose"], "verbose")


def _check_agreement(layer: Layer, candidates: dict[str, Any] | None, selection: dict[str, Any] | None) -> None:
    """Layer, candidates and selection must be possible together."""
    K, kind = len(layer.codes), None if layer.projection is None else layer.projection.kind
    M = None if candidates is None else candidates["codes"]
    possible = {
        "projection": kind in (None, "direction") or (selection is None) == (kind == "pca"),
        "candidates": M is None or (selection is not None or (kind == "pca" and K == M)),
        "selection": selection is None
        or (K <= selection["candidates"] and selection["labels"] == (M is not None) and M in (None, selection["candidates"])),
    }
    for name, agrees in possible.items():
        if not agrees:
            raise ModelFileError(f"features.{name} contradicts the rest: {K} codes, {M} candidates, projection {kind}")


def build(part: dict[str, Any], arrays: dict[str, Array]) -> PooledFeatures:
    """The model as it was before it was saved; `part` and `arrays` have been checked."""

    def below(place: str) -> dict[str, Array]:
        return {name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)}

    fitted, layer = part["fitted"], shell(part)
    model = PooledFeatures(**from_json(PooledFeatures, part["parameters"]))
    names = fitted["feature_names"]
    nothing = np.empty((0, *layer.image_shape))
    known = None if names is None else np.array(names, object)
    bands = _bands_from_json(fitted.get("bands"))
    remember(model, Seen(nothing, layer.image_shape, False, float(fitted["pixel_range"]), known, bands=bands))
    selection = None
    if part["selection"] is not None:
        selection = chosen_from.build_selection(part["selection"], below("selection."))
    own = below("layers.0.")
    if part["candidates"] is not None:
        own["codes"] = arrays["candidates.codes"][slice(None) if selection is None else selection.selected]
    layer = of_layer.filled(layer, own)
    candidates = None
    if part["candidates"] is not None:
        candidates = chosen_from.build_candidates(part["candidates"], below("candidates."), layer)
    model._store(layer, candidates, selection)
    model.objective_, model.n_iter_, model.converged_ = arrays["objective"].tolist(), fitted["rounds"], fitted["converged"]
    model.timings_ = {name: float(seconds) for name, seconds in fitted["timings"].items()}
    return model


def _bands_to_json(bands: Bands | None) -> dict[str, Any]:
    return {} if bands is None else {"bands": [[float(a), float(b)] for a, b in zip(bands.gain, bands.shift, strict=True)]}


def _bands_from_json(value: list[list[float]] | None) -> Bands | None:
    return None if value is None else Bands(*np.array(value, np.float32).T.copy())


def give_descriptor(model: PooledFeatures, function: Callable[[Any], Any]) -> None:
    """Make the function that a model describes images by the one given: a file holds its name alone."""
    own = model.layer_.descriptor
    if not isinstance(own, Own):
        raise ModelFileError(f"its descriptor is {own!r}, not a function of yours; load it without `descriptor`")
    own, candidates = own.but(function=function), model.candidates_
    if candidates is not None:
        candidates = replace(candidates, layer=replace(candidates.layer, descriptor=own))
    model.descriptor = Own(function)
    model._store(replace(model.layer_, descriptor=own), candidates, model.selection_)
