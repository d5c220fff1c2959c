"""Files of format 1, brought to format 2: one flat list of parameters and facts becomes parts, a layer and its candidates."""

from typing import Any

from poolwise.method.dictionaries import KMeans
from poolwise.method.encoders import Threshold
from poolwise.method.scale import Standardize
from poolwise.method.whitening import ZCA
from poolwise.modelfile.strict_json import (
    Check,
    ModelFileError,
    anything,
    decode,
    encode,
    fields,
    flag,
    many,
    maybe,
    named,
    one_of,
    real,
    text,
    whole,
)

_KEPT = (
    "n_codes",
    "n_candidates",
    "selection",
    "n_patches",
    "n_super_patches",
    "image_shape",
    "random_state",
    "n_jobs",
    "verbose",
)
_PARAMETERS = (
    *_KEPT, "transform", "patch_size", "stride", "dictionary", "init", "max_iter", "tol", "contrast", "contrast_offset",
    "whitening", "whitening_offset", "encoder", "alpha", "two_sided", "pool", "grid", "scale", "scale_offset",
)  # fmt: skip
_ENCODERS = {"threshold": "Threshold", "triangle": "Triangle", "vq": "Nearest"}
_FITTED: dict[str, Check] = {
    "image_shape": many(whole(1), 3, 3),
    "patch_size": many(whole(1), 2, 2),
    "grids": many(many(whole(1), 2, 2), 1),
    "pixel_range": real,
    "feature_names": maybe(many(text)),
    "stride": whole(1),
    "contrast": one_of("std", "variance", None),
    "contrast_offset": real,
    "encoder": one_of(*_ENCODERS),
    "alpha": real,
    "two_sided": flag,
    "pool": one_of("average", "max", "sum", "rms"),
    "per_cell": flag,
    "rounds": whole(),
    "converged": flag,
    "codes": whole(1),
    "candidates": maybe(whole(1)),
    "transform": one_of("nystrom", "pca", None),
    "projected": maybe(whole(1)),
    "choice_seed": whole(0, 2**32 - 1),
    "messages": anything,
    "timings": named(real),
}
_ARRAYS = {
    "objective": "objective",
    "layers.0.whitening_mean": "whitening_mean",
    "layers.0.whitening_matrix": "whitening_matrix",
    "layers.0.codes": "codes",
    "layers.0.mean": "pooled_mean",
    "layers.0.spread": "pooled_scale",
    "layers.0.projection": "transform",
    "candidates.codes": "candidates",
    "candidates.covariance": "covariance",
    "candidates.mean": "candidate_mean",
    "candidates.spread": "candidate_scale",
    "selection.selected": "selected",
    "selection.label": "label",
    "selection.exemplars": "messages_exemplars",
    "selection.message_label": "messages_label",
    "selection.net_similarity": "net_similarity",
}


def upgrade(part: Any) -> dict[str, Any]:
    """The JSON of `features` in format 2; what it does not check, the checks of format 2 do."""
    fields(part, "features", {"slim": flag, "parameters": anything, "fitted": anything, "notes": many(text)})
    old, fitted = part["parameters"], part["fitted"]
    fields(old, "features.parameters", dict.fromkeys(_PARAMETERS, anything))
    fields(fitted, "features.fitted", _FITTED)
    for values in (old, {**old, **fitted}):
        _check_unused(values)
    M, is_slim, kind = fitted["candidates"], part["slim"], fitted["transform"]
    possible = {
        "projected": (fitted["projected"] is None) == (kind is None),
        "transform": M is not None or kind is None,
        "candidates": M is not None or not is_slim,
        "codes": kind != "pca" or M == fitted["codes"],
        "messages": fitted["messages"] is None or (M is not None and not is_slim and kind != "pca"),
    }
    for name, agrees in possible.items():
        if not agrees:
            raise ModelFileError(f"features.fitted.{name} contradicts the rest")
    layer = {
        "image_shape": fitted["image_shape"],
        "descriptor": _patches(encode(tuple(fitted["patch_size"])), fitted),
        "encoder": _encoder(fitted),
        "pooling": {"part": "Pool", "how": fitted["pool"], "grid": encode([tuple(grid) for grid in fitted["grids"]])},
        "codes": fitted["codes"],
        "rank": None,
        "per_cell": fitted["per_cell"],
        "projection": None if kind is None else {"kind": kind, "rows": fitted["projected"]},
        "symmetry": None,
    }
    candidates = {"codes": M, "samples": 0, "seed": fitted["choice_seed"], "per_cell": fitted["per_cell"], "labelled": None}
    selection = {"candidates": M, "labels": not is_slim, "messages": fitted["messages"]}
    return {
        "parameters": _parameters(old),
        "notes": part["notes"],
        "fitted": {name: fitted[name] for name in ("pixel_range", "feature_names", "rounds", "converged", "timings")},
        "layers": [layer],
        "candidates": None if M is None or is_slim else candidates,
        "selection": None if M is None or kind == "pca" else selection,
    }


def _check_unused(old: dict[str, Any]) -> None:
    """Parameters that the chosen parts do not have are left behind; they must have had a meaning all the same."""
    Threshold(decode(old["alpha"]), decode(old["two_sided"])).checked()
    KMeans("kmeans", *(decode(old[name]) for name in ("init", "max_iter", "tol"))).checked()
    ZCA("std", decode(old["whitening_offset"])).checked()
    Standardize("shared", decode(old["scale_offset"])).checked()
    if old["two_sided"] and old["encoder"] != "threshold":
        raise ModelFileError("two_sided contradicts the encoder, which has one side")


def old_name(name: str) -> str:
    """What format 1 calls an array of format 2.

    >>> old_name("layers.0.mean")
    'pooled_mean'
    """
    return _ARRAYS[name]


def _parameters(old: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `PooledFeatures`, those of parts gathered in them."""
    whitening, scale, dictionary = old["whitening"], old["scale"], old["dictionary"]
    kmeans = {"part": "KMeans", "method": dictionary, **{name: old[name] for name in ("init", "max_iter", "tol")}}
    return {
        **{name: old[name] for name in _KEPT},
        "projection": old["transform"],
        "symmetry": None,
        "descriptor": _patches(old["patch_size"], old),
        "whitening": None
        if whitening is None
        else {"part": "ZCA", "form": whitening, "offset": old["whitening_offset"], "rank": None},
        "dictionary": {"part": "RandomCodes", "kind": dictionary} if dictionary in ("patches", "gaussian") else kmeans,
        "encoder": _encoder(old),
        "pooling": {"part": "Pool", "how": old["pool"], "grid": old["grid"]},
        "scale": None if scale is None else {"part": "Standardize", "form": scale, "offset": old["scale_offset"]},
    }


def _patches(size: Any, old: dict[str, Any]) -> dict[str, Any]:
    rest = {"stride": old["stride"], "contrast": old["contrast"], "offset": old["contrast_offset"]}
    return {"part": "Patches", "size": size, **rest}


def _encoder(old: dict[str, Any]) -> dict[str, Any]:
    name = _ENCODERS.get(old["encoder"]) if isinstance(old["encoder"], str) else None
    if name == "Threshold":
        return {"part": name, "alpha": old["alpha"], "two_sided": old["two_sided"]}
    return {"part": name}
