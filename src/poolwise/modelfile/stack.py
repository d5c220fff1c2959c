"""A fitted StackedFeatures as JSON and arrays, and back.

    {"features": [as in `features`, for each layer], "maps": [a layer, after each but the last], "cells", "output", "verbose"}

Arrays are named after their place: `features.0.layers.0.codes`, `maps.0.spread`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from poolwise.estimators import StackedFeatures
from poolwise.estimators.stacked_features import MOST_LAYERS
from poolwise.method.layer import Layer
from poolwise.modelfile import features
from poolwise.modelfile import layer as of_layer
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.strict_json import ModelFileError, anything, fields, flag, many, one_of, whole
from poolwise.support.types import Array

_PART = {
    "features": many(anything, 1, MOST_LAYERS),
    "maps": many(anything, 0, MOST_LAYERS - 1),
    "cells": whole(1),
    "output": one_of("all", "last"),
    "verbose": flag,
}


def take(model: StackedFeatures, slim: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is written of a fitted stack."""
    arrays: dict[str, Array] = {}
    parts = []
    for number, layer in enumerate(model.layers_):
        part, own = features.take(layer, slim)
        parts.append(part)
        arrays |= {f"features.{number}.{name}": array for name, array in own.items()}
    for number, layer in enumerate(model.maps_):
        arrays |= {f"maps.{number}.{name}": np.ascontiguousarray(array) for name, array in of_layer.to_arrays(layer).items()}
    return {
        "features": parts,
        "maps": [of_layer.to_json(layer) for layer in model.maps_],
        "cells": int(model.map_cells),
        "output": model.output,
        "verbose": bool(model.verbose),
    }, arrays


def expect(part: Any) -> dict[str, Tensor]:
    """Check all of a stack's JSON; the arrays that follow from it."""
    fields(part, "stack", _PART)
    tensors: dict[str, Tensor] = {}
    for number, own in enumerate(part["features"]):
        tensors |= {f"features.{number}.{name}": tensor for name, tensor in features.expect(own).items()}
    if len(part["maps"]) != len(part["features"]) - 1:
        raise ModelFileError(f"stack.maps are {len(part['maps'])}, between {len(part['features'])} layers")
    for number, layer in enumerate(_maps(part)):
        before, after = (features.shell(part["features"][number + i]) for i in range(2))
        same = (layer.image_shape, layer.n_outputs, layer.projection) == (before.image_shape, before.n_outputs, None)
        grids = layer.pooling.grids
        if not same or len(grids) != 1 or after.image_shape != (*grids[0], layer.n_outputs):
            raise ModelFileError(f"stack.maps.{number} contradicts the layers before and after it")
        tensors |= {f"maps.{number}.{name}": tensor for name, tensor in of_layer.tensors(layer).items()}
    return tensors


def build(part: dict[str, Any], arrays: dict[str, Array]) -> StackedFeatures:
    """The stack as it was before it was saved; `part` and `arrays` have been checked."""

    def below(place: str) -> dict[str, Array]:
        return {name.removeprefix(place): array for name, array in arrays.items() if name.startswith(place)}

    layers = [features.build(own, below(f"features.{number}.")) for number, own in enumerate(part["features"])]
    stack = StackedFeatures(layers, map_cells=part["cells"], output=part["output"], verbose=int(part["verbose"]))
    stack.layers_ = layers
    stack.maps_ = [of_layer.filled(layer, below(f"maps.{number}.")) for number, layer in enumerate(_maps(part))]
    stack.remember_images()
    return stack


def give_descriptor(model: StackedFeatures, function: Callable[[Any], Any]) -> None:
    """Make the function that the first layer describes images by the one given; its maps are made by it too."""
    features.give_descriptor(model.layers_[0], function)
    own = model.layers_[0].layer_.descriptor
    model.maps_ = [replace(layer, descriptor=own) if number == 0 else layer for number, layer in enumerate(model.maps_)]


def n_features(part: dict[str, Any]) -> int:
    """Numbers per image."""
    each = [features.n_features(own) for own in part["features"]]
    return sum(each) if part["output"] == "all" else each[-1]


def passes(part: dict[str, Any]) -> list[Layer]:
    """All layers that `transform` runs, without their numbers; as `StackedFeatures.passes_`."""
    given = part["features"][0 if part["output"] == "all" else -1 :]
    return [*_maps(part), *map(features.shell, given)]


def _maps(part: dict[str, Any]) -> list[Layer]:
    """The layers between, without their numbers."""
    return [of_layer.shell(own, f"stack.maps.{number}") for number, own in enumerate(part["maps"])]
