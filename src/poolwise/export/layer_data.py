"""What a page needs of a layer: the folded dictionary and all that comes behind it, as JSON with arrays in base64.

    z = [p - centre, 1] B           or with a rank r  [R [p - centre, 1], 1] B
    margins = coef x + intercept    x : (cells · width) standardised outputs, and behind them statistics of bands

B : (d + 1, columns), whitening and thresholds folded in
coef : (rows, cells · width + statistics), a projection folded into those of outputs, Tᵀ coef

A layer is taken only if every field of every part is one that the page's script computes: anything newer is refused by name.
"""

import base64
from dataclasses import fields
from typing import Any

import numpy as np

from poolwise.estimators import PooledFeatures
from poolwise.estimators.linear_svm import LinearClassifier
from poolwise.method.bands import Bands
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Folded
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import BothOrders, Pool, Pooling, SecondOrder
from poolwise.method.pooling.second_order import LEAST_OFFSET_OF_PRODUCTS
from poolwise.method.scale import Scale
from poolwise.method.whitening import Whitening
from poolwise.support.parameters import AUTO
from poolwise.support.types import Array

_KNOWN: dict[type, set[str]] = {  # what the script computes; the rest of a layer's parts go through `Folded`
    Layer: {
        "image_shape", "descriptor", "whitening", "codes", "encoder", "pooling", "scale", "projection", "symmetry", "pictures",
        "statistics",
    },
    Patches: {"size", "stride", "contrast", "offset"},
    Whitening: {"m", "W"},
    Folded: {"F", "b", "activation", "signs", "thetas", "together"},
    Pool: {"how", "grid", "root"},
    SecondOrder: {"grid", "normalize", "offset", "directions", "directions_by"},
    BothOrders: {"grid", "pairs", "first", "normalize", "offset"},
    Scale: {"mean", "spread"},
    Projection: {"kind", "T"},
    Bands: {"gain", "shift"},
}  # fmt: skip
_LEARNED = {
    "layer_", "candidates_", "selection_", "objective_", "n_iter_", "converged_", "image_shape_in_", "n_features_in_",
    "timings_", "bands_", "feature_names_in_",
}  # fmt: skip
_PARAMETERS = {
    "n_codes", "n_candidates", "descriptor", "whitening", "dictionary", "encoder", "pooling", "scale", "selection",
    "projection", "symmetry", "bands", "statistics", "n_patches", "n_super_patches", "image_shape", "random_state", "n_jobs",
    "verbose",
}  # fmt: skip
_PRIVATE = {"_pixel_range", "_ready"}
_VALUES = {  # what fields of these names may be
    "activation": ("threshold", "triangle", "nearest"),
    "contrast": ("std", "variance", None),
    "how": ("average", "max", "sum", "rms", "both"),
    "first": ("average", "max"),
    "normalize": ("root", "power", None),
    "symmetry": (None, "mirror", "dihedral"),
}
_CHANNELS = {1: "grey", 3: "colour"}
_ELSEWHERE = "Use `poolwise predict` for it"


def page_data(features: PooledFeatures, classifier: LinearClassifier | None, names: list[str] | None) -> dict[str, Any]:
    """The layer and the classifier for `numerics.js`; a ValueError that names what a page cannot run, and the remedy."""
    layer, bands, folded = features.layer_, features.bands_, check_layer(features)
    kept = _in_float32(np.vstack([folded.F.T, folded.b]))
    pooling, encoded = layer.pooling, layer.whitening.reduction
    data = {
        "shape": list(layer.image_shape),
        **_patches(layer),
        "bands": None
        if bands is None
        else [list(pair) for pair in zip(bands.gain.tolist(), bands.shift.tolist(), strict=True)],
        "centre": kept_as(layer.whitening.centre),
        "R": kept_as(encoded) if len(encoded) else None,
        "B": kept_as(kept),
        "D": kept_as(layer.codes) if folded.activation == "triangle" else None,
        "codes": len(layer.codes),
        "inner": layer.codes.shape[1],
        "activation": folded.activation,
        "signs": list(folded.signs),
        "thetas": list(folded.thetas),
        "grids": [list(grid) for grid in pooling.grids],
        **_pooled(pooling, layer.n_outputs),
        "mean": kept_as(layer.scale.mean),
        "spread": kept_as(layer.scale.spread),
        "bandMean": None if layer.statistics is None else kept_as(layer.statistics.mean),
        "bandSpread": None if layer.statistics is None else kept_as(layer.statistics.spread),
        "symmetry": layer.symmetry,
        "T": None,
        "coef": None,
        "classes": names,
    }
    if classifier is not None:
        data |= {"coef": kept_as(_unprojected(classifier.coef_, layer)), "intercept": np.ravel(classifier.intercept_).tolist()}
    elif layer.projection is not None:
        data["T"] = kept_as(layer.projection.T)
    return data


def check_layer(features: PooledFeatures) -> Folded:
    """The encoder, folded; a ValueError that names what a page cannot run, and the remedy."""
    _check_estimator(features)
    if features.bands_ is not None:
        _check_fields(features.bands_, "bands")
    return _checked(features.layer_)


def kept_as(array: Array) -> str:
    """float32 in base64, the lowest byte first.

    >>> kept_as(np.array([1.0]))
    'AACAPw=='
    """
    return base64.b64encode(_in_float32(array).astype("<f4").tobytes()).decode("ascii")


def _in_float32(array: Array) -> Array:
    return np.ascontiguousarray(array, np.float32)


def _patches(layer: Layer) -> dict[str, Any]:
    cut = layer.descriptor
    assert isinstance(cut, Patches)  # noqa: S101  `_checked` has seen it
    return {"patch": list(cut.patch_size), "stride": cut.stride, "contrast": cut.contrast, "offset": float(cut.offset)}


def _pooled(pooling: Pooling, outputs: int) -> dict[str, Any]:
    """How each output is pooled by itself, if it is; how many are multiplied with each other, and what becomes of that."""
    found: dict[str, Any] = {"how": "none", "multiplied": pooling.multiplied(outputs)}
    alone = pooling.first_order() if isinstance(pooling, BothOrders) else pooling
    if isinstance(alone, Pool):
        found |= {"how": alone.how, "root": bool(alone.root)}
    if isinstance(pooling, SecondOrder | BothOrders):
        found |= {"normalize": pooling.normalize, "pairOffset": float(pooling.offset)}
    return found


def _unprojected(coef: Array, layer: Layer) -> Array:
    """(rows, n_features) weights of features as weights of the outputs that are projected on these, cell by cell.

    Weights of band statistics stay as they are.
    """
    if layer.projection is None:
        return coef
    T = np.asarray(layer.projection.T, np.float64)
    of_codes, of_bands = np.split(coef, [layer.n_code_features], axis=1)
    outputs = of_codes.reshape(len(coef), layer.n_cells, len(T)) @ T
    return np.hstack([outputs.reshape(len(coef), -1), of_bands])


def _checked(layer: Layer) -> Folded:
    """The encoder, folded; a ValueError for whatever the script does not compute."""
    _check_fields(layer, "layer")
    cut, pooling, c = layer.descriptor, layer.pooling, layer.image_shape[2]
    if c not in _CHANNELS:
        raise ValueError(f"a page reads pictures of 1 or 3 channels; this model is for {c}. {_ELSEWHERE}")
    if type(cut) is not Patches:
        raise ValueError(f"a page cannot compute the descriptor {cut!r}; fit with descriptor='patches'. {_ELSEWHERE}")
    if type(pooling) not in (Pool, SecondOrder, BothOrders):
        raise ValueError(f"a page cannot compute {pooling!r}; fit with Pool, SecondOrder or BothOrders. {_ELSEWHERE}")
    folded = layer.encoder.fused(layer.codes, layer.whitening.inner)
    if folded is None:
        raise ValueError(
            f"a page cannot compute {layer.encoder!r}; fit with encoder 'threshold', 'triangle' or 'nearest'. {_ELSEWHERE}"
        )
    if isinstance(pooling, SecondOrder | BothOrders):
        if pooling.normalize == "log":
            raise ValueError(f"a page has no matrix logarithm, for {pooling!r}; fit with normalize='root'. {_ELSEWHERE}")
        if pooling.normalize == "root" and pooling.offset < LEAST_OFFSET_OF_PRODUCTS:
            raise ValueError(
                f"a page takes matrix roots by products, which need an offset of at least {LEAST_OFFSET_OF_PRODUCTS:g}; the "
                f"model has {pooling!r}. Fit with a larger one. {_ELSEWHERE}"
            )
    parts = (cut, layer.whitening, folded, pooling, layer.scale, layer.projection, layer.statistics)
    for part in parts:
        if part is not None:
            _check_fields(part, type(part).__name__)
    return folded


def _check_fields(part: Any, name: str) -> None:
    """A field that the script does not know may only be None or False, and a subclass may compute anything."""
    known = next((names for kind, names in _KNOWN.items() if isinstance(part, kind)), set())
    unknown = {field.name for field in fields(part)} - known
    _refuse({field: getattr(part, field) for field in unknown}, f"{name}'s")
    _refuse(
        {field: getattr(part, field) for field in known & set(_VALUES) if getattr(part, field) not in _VALUES[field]},
        f"{name}'s",
    )
    if type(part) not in _KNOWN:
        raise ValueError(f"a page does not know {type(part).__name__}. {_ELSEWHERE}")


def _check_estimator(features: PooledFeatures) -> None:
    """What a fit has learned beyond the layer, and parameters beyond those known: they may change images before it."""
    if features.nodata is not None:
        raise ValueError(f"a page does not leave out pixels without data, for nodata={features.nodata!r}. {_ELSEWHERE}")
    params = set(features.get_params(deep=False))
    learned = {name: value for name, value in vars(features).items() if name not in params | _LEARNED | _PRIVATE}
    asked = {name: getattr(features, name) for name in params - _PARAMETERS}
    _refuse(learned | {name: value for name, value in asked.items() if value != AUTO}, "the model's")


def _refuse(unknown: dict[str, Any], whose: str) -> None:
    for name, value in sorted(unknown.items()):
        if value is not None and value is not False:
            raise ValueError(f"a page does not know {whose} {name} {str(value)[:60]!r}. {_ELSEWHERE}")
