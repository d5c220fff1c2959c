"""A fitted `PooledFeatures` as JSON and arrays, and back.

Parameters are what the next `fit` would use; "fitted" is what the last one used, which `set_params` may have changed since.
What follows from the rest (the folded dictionary, codes among candidates, clusters, float32 copies) is made again, to the same
bits.

K : codes    M : candidates    d : numbers in a patch    outputs : K, or 2K two-sided    cells : of all grids
"""

import math
from typing import Any

import numpy as np

from poolwise.affinity import Propagation
from poolwise.arrays import Array
from poolwise.encoding import ENCODERS
from poolwise.estimators import PooledFeatures
from poolwise.estimators.images import as_image_shape, check_pair
from poolwise.estimators.parameters import check_parameters
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.parameters import from_json, to_json
from poolwise.modelfile.strict_json import (
    ModelFileError,
    anything,
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
from poolwise.patches import position_grid
from poolwise.pooling import POOLS, as_grids, cell_edges
from poolwise.selection import Selection

_MOST_CELLS = 1 << 16
_MOST_THREADS = 4096
_MESSAGES = {
    "preference": real,
    "damping": real,
    "converged": flag,
    "oscillations": whole(),
    "tries": whole(),
    "merges": whole(),
    "splits": whole(),
    "swaps": whole(),
}
_FITTED = {
    "image_shape": many(whole(1), 3, 3),
    "patch_size": many(whole(1), 2, 2),
    "grids": many(many(whole(1, _MOST_CELLS), 2, 2), 1),
    "pixel_range": real,
    "feature_names": maybe(many(text)),
    "stride": whole(1),
    "contrast": one_of("std", "variance", None),
    "contrast_offset": real,
    "encoder": one_of(*ENCODERS),
    "alpha": real,
    "two_sided": flag,
    "pool": one_of(*POOLS),
    "per_cell": flag,
    "rounds": whole(),
    "converged": flag,
    "codes": whole(1),
    "candidates": maybe(whole(1)),
    "transform": one_of("nystrom", "pca", None),
    "projected": maybe(whole(1)),
    "choice_seed": whole(0, 2**32 - 1),
    "messages": maybe(lambda value, where: fields(value, where, {**_MESSAGES, "codes": whole(1), "rounds": whole()})),
    "timings": named(real),
}


def take(model: PooledFeatures, slim: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """What is written of a fitted model."""
    parameters, notes = to_json(model)
    encoder, alpha, two_sided = model._encoding
    stride, contrast, contrast_offset, pool = model._pooling
    loaded_slim = model.candidates_ is None
    selects = loaded_slim or model.covariance_ is not None  # a plain model has nothing to leave out
    slim = selects and (slim or loaded_slim)
    messages = model.selection_.propagation if selects and not slim and model.selection_ is not None else None
    fitted = {
        "image_shape": list(model.image_shape_in_),
        "patch_size": list(model.patch_size_),
        "grids": [list(grid) for grid in model.grids_],
        "pixel_range": float(model._pixel_range),
        "feature_names": [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None,
        "stride": stride,
        "contrast": contrast,
        "contrast_offset": contrast_offset,
        "encoder": encoder,
        "alpha": alpha,
        "two_sided": two_sided,
        "pool": pool,
        "per_cell": model.pooled_mean_.ndim == 2,
        "rounds": len(model.objective_),
        "converged": bool(model.converged_),
        "codes": len(model.codes_),
        "candidates": (model._n_candidates if loaded_slim else len(model.candidates_)) if selects else None,
        "transform": model._transform if selects else None,
        "projected": None if model.transform_ is None else len(model.transform_),
        "choice_seed": int(model._choice_seed.entropy),
        "messages": None if messages is None else _of_messages(messages),
        "timings": {name: float(seconds) for name, seconds in model.timings_.items()},
    }
    part = {"slim": slim, "parameters": parameters, "fitted": fitted, "notes": notes}
    arrays = {
        "whitening_mean": model.whitening_mean_,
        "whitening_matrix": model.whitening_matrix_,
        "pooled_mean": model.pooled_mean_,
        "pooled_scale": model.pooled_scale_,
        "objective": np.array(model.objective_, np.float64),
        "codes": model.codes_,
        "selected": model.selected_,
        "transform": model.transform_,
    }
    if selects and not slim:
        arrays |= {
            "candidates": model.candidates_,
            "covariance": model.covariance_,
            "candidate_mean": model._candidate_mean,
            "candidate_scale": model._candidate_scale,
            "label": None if model.selection_ is None else model.selection_.label,
        }
    if messages is not None:
        arrays |= {
            "messages_exemplars": messages.exemplars,
            "messages_label": messages.label,
            "net_similarity": np.array(messages.net_similarity, np.float64),
        }
    return part, {name: np.ascontiguousarray(arrays[name]) for name in expect(part)}


def _of_messages(messages: Propagation) -> dict[str, Any]:
    told = {name: getattr(messages, name) for name in _MESSAGES}
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in told.items()}
    return {**plain, "codes": len(messages.label), "rounds": messages.rounds}


def expect(part: Any) -> dict[str, Tensor]:
    """Check all that JSON tells of a model; the arrays that follow from it."""
    fields(part, "features", {"slim": flag, "parameters": anything, "fitted": anything, "notes": many(text)})
    fitted, slim = part["fitted"], part["slim"]
    fields(fitted, "features.fitted", _FITTED)
    _check_parameters(from_json(PooledFeatures, part["parameters"]))
    (H, W, c), (ph, pw), K, M = fitted["image_shape"], fitted["patch_size"], fitted["codes"], fitted["candidates"]
    cells = _check_fitted(fitted, slim)
    d, sides = ph * pw * c, 2 if fitted["two_sided"] else 1
    if fitted["feature_names"] is not None and len(fitted["feature_names"]) != H * W * c:
        raise ModelFileError(
            f"features.fitted.feature_names are {len(fitted['feature_names'])}; its images have {H * W * c} numbers"
        )

    def pooled(codes: int, **bounds: float) -> Tensor:
        return Tensor("F64", (cells, sides * codes) if fitted["per_cell"] else (sides * codes,), **bounds)  # type: ignore[arg-type]

    tensors = {
        "whitening_mean": Tensor("F64", (d,)),
        "whitening_matrix": Tensor("F64", (d, d)),
        "pooled_mean": pooled(K),
        "pooled_scale": pooled(K, above=0),
        "objective": Tensor("F64", (fitted["rounds"],)),
    }
    if M is None or slim:
        tensors["codes"] = Tensor("F32", (K, d))
    if M is not None and fitted["transform"] != "pca":
        tensors["selected"] = Tensor("I64", (K,), least=0, below=M, ascending=True)
    if fitted["transform"] is not None:
        tensors["transform"] = Tensor("F64", (fitted["projected"], sides * K))
    if M is not None and not slim:
        tensors["candidates"] = Tensor("F32", (M, d))
        tensors["covariance"] = Tensor("F64", (sides * M, sides * M))
        tensors["candidate_mean"], tensors["candidate_scale"] = pooled(M), pooled(M, above=0)
        if fitted["transform"] != "pca":
            tensors["label"] = Tensor("I64", (M,), least=0, below=K)
    if fitted["messages"] is not None:
        codes = fitted["messages"]["codes"]
        tensors["messages_exemplars"] = Tensor("I64", (K,), least=0, below=codes, ascending=True)
        tensors["messages_label"] = Tensor("I64", (codes,), least=0, below=K)
        tensors["net_similarity"] = Tensor("F64", (fitted["messages"]["rounds"],), holes=True)
    return tensors


def n_outputs(part: dict[str, Any]) -> int:
    """Features per image."""
    fitted = part["fitted"]
    per_cell = fitted["projected"] or fitted["codes"] * (2 if fitted["two_sided"] else 1)
    return per_cell * sum(rows * columns for rows, columns in fitted["grids"])


def _check_parameters(parameters: dict[str, Any]) -> None:
    """All that `fit` would refuse, and what only images tell."""
    check_parameters(parameters)
    check_pair("patch_size", parameters["patch_size"])
    as_grids(parameters["grid"])
    if parameters["image_shape"] is not None:
        as_image_shape(parameters["image_shape"])
    maybe(whole(0, 2**32 - 1))(parameters["random_state"], "random_state")
    maybe(whole(-_MOST_THREADS, _MOST_THREADS))(parameters["n_jobs"], "n_jobs")
    if parameters["verbose"] not in (True, False):
        whole()(parameters["verbose"], "verbose")


def _check_fitted(fitted: dict[str, Any], slim: bool) -> int:
    """Numbers that contradict each other; the number of cells."""
    names = ("stride", "contrast", "contrast_offset", "encoder", "alpha", "two_sided", "pool")
    check_parameters({**PooledFeatures().get_params(), **{name: fitted[name] for name in names}})
    (H, W, _), (ph, pw) = fitted["image_shape"], fitted["patch_size"]
    h, w = position_grid((H, W), (ph, pw), fitted["stride"])
    grids = as_grids([tuple(grid) for grid in fitted["grids"]])
    cells = sum(rows * columns for rows, columns in grids)
    if cells > _MOST_CELLS:
        raise ModelFileError(f"features.fitted.grids have {cells} cells; a file may have {_MOST_CELLS}")
    for rows, columns in grids:
        cell_edges(h, rows)
        cell_edges(w, columns)
    K, M, way, n, told = (fitted[name] for name in ("codes", "candidates", "transform", "projected", "messages"))
    sides = 2 if fitted["two_sided"] else 1
    right = {
        "codes": M is None or K == M or (K < M and way != "pca"),
        "transform": M is not None or way is None,
        "projected": n is None if way is None else n is not None and (n == sides * K if way == "nystrom" else n <= sides * K),
        "candidates": M is not None or not slim,
        "messages": told is None or (M is not None and not slim and way != "pca" and K <= told["codes"] <= M),
    }
    for name, agrees in right.items():
        if not agrees:
            raise ModelFileError(
                f"features.fitted.{name} contradicts the codes, candidates, transform or slimness that it tells of"
            )
    return cells


def build(part: dict[str, Any], arrays: dict[str, Array]) -> PooledFeatures:
    """The model as it was before it was saved; `part` and `arrays` have been checked."""
    fitted = part["fitted"]
    model = PooledFeatures(**from_json(PooledFeatures, part["parameters"]))
    model.image_shape_in_, model.n_features_in_ = tuple(fitted["image_shape"]), math.prod(fitted["image_shape"])
    if fitted["feature_names"] is not None:
        model.feature_names_in_ = np.array(fitted["feature_names"], object)
    model.patch_size_, model.grids_ = tuple(fitted["patch_size"]), tuple(tuple(grid) for grid in fitted["grids"])
    model._pixel_range = float(fitted["pixel_range"])
    model._choice_seed = np.random.SeedSequence(fitted["choice_seed"], spawn_key=(0,))
    model._encoding = fitted["encoder"], float(fitted["alpha"]), fitted["two_sided"]
    model._pooling = fitted["stride"], fitted["contrast"], float(fitted["contrast_offset"]), fitted["pool"]
    model.objective_, model.n_iter_, model.converged_ = arrays["objective"].tolist(), fitted["rounds"], fitted["converged"]
    model.whitening_mean_, model.whitening_matrix_ = arrays["whitening_mean"], arrays["whitening_matrix"]
    model.pooled_mean_, model.pooled_scale_ = arrays["pooled_mean"], arrays["pooled_scale"]
    model.timings_ = {name: float(seconds) for name, seconds in fitted["timings"].items()}
    model.transform_ = T = arrays.get("transform")
    model._right = None if T is None else np.ascontiguousarray(T.T, np.float32)
    model.selected_ = arrays["selected"] if "selected" in arrays else np.arange(fitted["codes"])
    nothing: Any = None
    model.cluster_ = model.covariance_ = model.selection_ = model.candidates_ = nothing
    if fitted["candidates"] is None:
        model.codes_ = model.candidates_ = arrays["codes"]
        model.cluster_ = model.selected_
        return model
    model._transform = fitted["transform"]
    if part["slim"]:
        model.codes_, model._n_candidates = arrays["codes"], fitted["candidates"]
        return model
    model.candidates_, model.covariance_ = arrays["candidates"], arrays["covariance"]
    model._candidate_mean, model._candidate_scale = arrays["candidate_mean"], arrays["candidate_scale"]
    model.codes_ = model.candidates_[model.selected_]
    model.selection_ = _selection(model.selected_, fitted["messages"], arrays)
    model.cluster_ = model.selected_ if model.selection_ is None else model.selection_.cluster
    return model


def _selection(selected: Array, messages: dict[str, Any] | None, arrays: dict[str, Array]) -> Selection | None:
    """How selection went; nothing was selected for "pca"."""
    if "label" not in arrays:
        return None
    if (arrays["label"][selected] != np.arange(len(selected))).any():
        raise ModelFileError("the array 'features.label' has a selected candidate that stands with another")
    if messages is None:
        return Selection(selected, arrays["label"])
    told = Propagation(
        exemplars=arrays["messages_exemplars"],
        label=arrays["messages_label"],
        net_similarity=arrays["net_similarity"].tolist(),
        **{name: messages[name] for name in _MESSAGES},
    )
    return Selection(selected, arrays["label"], told)
