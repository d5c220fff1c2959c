"""What an exported graph can express. Anything else is refused by name, also what a later version of a part may hold.

A part that is not listed here, or a parameter that is not listed and does not have its default, would be left out of the graph
without a word: its features would be wrong.
"""

from dataclasses import MISSING, Field, fields
from inspect import signature
from typing import Any

import numpy as np

from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.method.bands import Bands
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Linear, Nearest, Threshold, Triangle
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import BothOrders, Pool, SecondOrder
from poolwise.method.pooling.second_order import LEAST_OFFSET_OF_PRODUCTS
from poolwise.method.scale import Scale
from poolwise.method.whitening import Whitening


class ExportError(ValueError):
    """A model, or a wish, that a graph cannot express."""


_Products = SecondOrder | BothOrders
_PLACES = ("descriptor", "whitening", "encoder", "pooling", "scale", "projection", "statistics")
_FIELDS: dict[type, tuple[str, ...]] = {
    Layer: ("image_shape", "codes", "symmetry", "pictures", *_PLACES),
    Patches: ("size", "stride", "contrast", "offset"),
    Whitening: ("m", "W"),
    Threshold: ("alpha", "two_sided"),
    Linear: ("two_sided",),
    Triangle: (),
    Nearest: (),
    Pool: ("how", "grid", "root"),
    SecondOrder: ("grid", "normalize", "offset", "directions", "directions_by"),
    BothOrders: ("grid", "pairs", "first", "normalize", "offset"),
    Scale: ("mean", "spread"),
    Projection: ("kind", "T"),
    Bands: ("gain", "shift"),
}
_WORDS: dict[tuple[type, str], tuple[str | None, ...]] = {
    (Layer, "symmetry"): (None, "mirror", "dihedral"),
    (Patches, "contrast"): ("std", "variance", None),
    (Pool, "how"): ("average", "max", "sum", "rms", "both"),
    (SecondOrder, "normalize"): ("root", "power", None),
    (BothOrders, "first"): ("average", "max"),
    (BothOrders, "normalize"): ("root", "power", None),
    (Projection, "kind"): ("nystrom", "pca", "direction"),
}
_OF_THEIR_OWN = "every patch has an optimisation of its own, which no operator of ONNX solves"
_REASONS = {
    "llc": _OF_THEIR_OWN,
    "omp": _OF_THEIR_OWN,
    "lasso": _OF_THEIR_OWN,
    "sift": "its histograms of gradients are loops of ours",
    "hog": "its histograms of gradients are loops of ours",
    "own": "a function of your own is code, and a graph holds none",
    "max_products": "it is computed by a loop of ours",
}
_INSTEAD = {
    "descriptor": "patches",
    "encoder": "threshold, triangle, nearest or linear",
    "pooling": "average, max, sum, rms, both, second_order or both_orders",
}
_PARAMETERS: dict[type, set[str]] = {
    PooledFeatures: {
        *("n_codes", "n_candidates", "descriptor", "whitening", "dictionary", "encoder", "pooling", "scale", "selection"),
        *("projection", "symmetry", "bands", "statistics", "n_patches", "n_super_patches", "image_shape", "random_state"),
        *("n_jobs", "verbose"),
    },
    StackedFeatures: {"layers", "map_cells", "output", "random_state", "n_jobs", "verbose"},
}
_LEARNED = {
    *("layer_", "candidates_", "selection_", "objective_", "n_iter_", "converged_", "timings_", "bands_", "_pixel_range"),
    *("_ready", "image_shape_in_", "n_features_in_", "feature_names_in_", "layers_", "maps_"),
}


def check_features(model: Any) -> None:
    """An ExportError where a fitted PooledFeatures or StackedFeatures holds what a graph cannot express."""
    kind = type(model)
    if getattr(model, "nodata", None) is not None:
        raise ExportError(
            f"nodata={model.nodata!r} cannot be exported: a graph pools the same patches of every image, whatever has no "
            f"data. Fill these, and fit without nodata"
        )
    for name, value in model.get_params(deep=False).items():
        if name not in _PARAMETERS[kind] and not _same(value, signature(kind).parameters[name].default):
            raise _unknown(f"{kind.__name__}({name}={value!r})")
    for name, value in vars(model).items():
        if name in _LEARNED or name in model.get_params(deep=False) or name.startswith("_sklearn"):
            continue
        if value is not None and value is not False:
            raise _unknown(f"{kind.__name__}.{name}")
    layers = [model.layer_] if kind is PooledFeatures else [*model.maps_, *(one.layer_ for one in model.layers_)]
    for layer in layers:
        check_layer(layer)
    if kind is PooledFeatures:
        if model.bands_ is not None:
            _check_fields(model.bands_)
        return
    for number, one in enumerate(model.layers_):
        check_features(one)
        if number and one.bands_ is not None:
            raise ExportError(f"layer {number} of the stack has bands={one.bands!r}, which only the first layer can have")


def check_layer(layer: Layer) -> None:
    """An ExportError where a part of the layer, or a parameter of one, has no form in a graph."""
    pooling = layer.pooling
    if isinstance(pooling, _Products) and pooling.normalize == "log":
        raise ExportError(
            f"pooling={pooling.word!r} with normalize='log' cannot be exported: a matrix logarithm needs eigenvectors, which "
            f"no operator of ONNX gives. Fit with normalize='root', 'power' or None"
        )
    _check_fields(layer)
    for place in _PLACES:
        part = getattr(layer, place)
        if part is not None:
            _check_fields(part, place)
    if isinstance(pooling, _Products) and pooling.normalize == "root" and pooling.offset < LEAST_OFFSET_OF_PRODUCTS:
        raise ExportError(
            f"pooling={pooling.word!r} with offset={pooling.offset!r} cannot be exported: a graph takes matrix roots by "
            f"products, which need an offset of at least {LEAST_OFFSET_OF_PRODUCTS:g}"
        )


def _check_fields(part: Any, place: str = "") -> None:
    kind = type(part)
    word = getattr(part, "word", kind.__name__)
    if kind not in _FIELDS:
        reason = _REASONS.get(word, "this version of the export does not know it")
        instead = f". Fit with {_INSTEAD[place]}" if place in _INSTEAD else ""
        raise ExportError(f"{place}={word!r} cannot be exported to ONNX: {reason}{instead}")
    for (owner, name), words in _WORDS.items():
        if owner is kind and getattr(part, name) not in words:
            raise _unknown(f"{kind.__name__}({name}={getattr(part, name)!r})")
    for one in fields(part):
        if one.name not in _FIELDS[kind] and not _is_default(one, getattr(part, one.name)):
            raise _unknown(f"{kind.__name__}({one.name}={getattr(part, one.name)!r})")


def _unknown(what: str) -> ExportError:
    return ExportError(f"{what} is not known to the export, so its graph would be wrong")


def _is_default(one: Field[Any], value: Any) -> bool:
    return one.default is not MISSING and _same(value, one.default)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.all(value == default))
