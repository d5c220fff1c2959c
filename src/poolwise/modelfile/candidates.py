"""Candidates and selection as JSON and arrays, and back.

K : codes    M : candidates    outputs : sides · M
"""

from dataclasses import replace
from typing import Any

import numpy as np

from poolwise.method.candidates import Candidates, Statistics
from poolwise.method.layer import Layer
from poolwise.method.scale import Scale
from poolwise.method.selection.choosing import Propagation, Selection
from poolwise.method.selection.supervised import Labelled
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.strict_json import Check, ModelFileError, fields, flag, maybe, real, whole
from poolwise.support.types import Array

_MESSAGES: dict[str, Check] = {
    "preference": real,
    "damping": real,
    "converged": flag,
    "oscillations": whole(),
    "tries": whole(),
    "merges": whole(),
    "splits": whole(),
    "swaps": whole(),
}
_CANDIDATES: dict[str, Check] = {
    "codes": whole(1),
    "samples": whole(0, 2**53),
    "seed": whole(0, 2**32 - 1),
    "per_cell": flag,
    "labelled": maybe(
        lambda value, where: fields(
            value, where, {"cells": whole(1, 1 << 16), "targets": whole(1), "images": whole(1, 2**53), "variance": real}
        )
    ),
}
_SELECTION: dict[str, Check] = {
    "candidates": whole(1),
    "labels": flag,
    "messages": maybe(lambda value, where: fields(value, where, {**_MESSAGES, "codes": whole(1), "rounds": whole()})),
}


def candidates_to_json(candidates: Candidates) -> tuple[dict[str, Any], dict[str, Array]]:
    layer, statistics = candidates.layer, candidates.statistics
    part: dict[str, Any] = {
        "codes": len(layer.codes),
        "samples": statistics.n,
        "seed": candidates.seed,
        "per_cell": layer.scale.is_per_cell,
        "labelled": None,
    }
    arrays = {
        "codes": layer.codes,
        "covariance": statistics.covariance,
        "mean": layer.scale.mean,
        "spread": layer.scale.spread,
    }
    if layer.pictures is not None:
        arrays["pictures"] = layer.pictures
    labelled = statistics.labelled
    if labelled is not None:
        p, targets = labelled.products.shape
        cells = p // len(layer.codes)
        part["labelled"] = {"cells": cells, "targets": targets, "images": labelled.n, "variance": labelled.variance}
        arrays |= {"gram": labelled.gram, "products": labelled.products}
    return part, arrays


def selection_to_json(selection: Selection, slim: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    messages, label = (None, None) if slim else (selection.propagation, selection.label)
    part: dict[str, Any] = {"candidates": selection.n_candidates, "labels": label is not None, "messages": None}
    arrays = {"selected": selection.selected}
    if label is not None:
        arrays["label"] = label
    if messages is not None:
        facts = {name: getattr(messages, name) for name in _MESSAGES}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in facts.items()}
        part["messages"] = {**plain, "codes": len(messages.label), "rounds": messages.rounds}
        arrays |= {
            "exemplars": messages.exemplars,
            "message_label": messages.label,
            "net_similarity": np.array(messages.net_similarity, np.float64),
        }
    return part, arrays


def expect_candidates(part: Any, layer: Layer) -> dict[str, Tensor]:
    """Check the JSON; the arrays that follow from it. `layer` is that of the codes kept."""
    fields(part, "features.candidates", _CANDIDATES)
    M, outputs = part["codes"], layer.encoder.sides * part["codes"]
    scale = (layer.pooling.n_cells, outputs) if part["per_cell"] else (outputs,)
    labelled = part["labelled"]
    seen = outputs if labelled is None else M  # with labels, codes are judged by one output each
    tensors = {
        "codes": Tensor("F32", (M, layer.codes.shape[1])),
        "covariance": Tensor("F64", (seen, seen)),
        "mean": Tensor("F64", scale),
        "spread": Tensor("F64", scale, above=0),
    }
    if layer.pictures is not None:
        tensors["pictures"] = Tensor("U8", (M, *layer.pictures.shape[1:]))
    if labelled is not None:
        p = labelled["cells"] * M
        tensors |= {"gram": Tensor("F32", (p, p)), "products": Tensor("F64", (p, labelled["targets"]))}
    return tensors


def expect_selection(part: Any, K: int) -> dict[str, Tensor]:
    """Check the JSON; the arrays that follow from it."""
    fields(part, "features.selection", _SELECTION)
    M, messages = part["candidates"], part["messages"]
    tensors = {"selected": Tensor("I64", (K,), least=0, below=M, different=True)}
    if part["labels"]:
        tensors["label"] = Tensor("I64", (M,), least=0, below=K)
    if messages is not None:
        codes = messages["codes"]
        if not part["labels"] or not K <= codes <= M:
            raise ModelFileError(f"features.selection.messages are about {codes} codes, for {K} of {M}")
        tensors["exemplars"] = Tensor("I64", (K,), least=0, below=codes, ascending=True)
        tensors["message_label"] = Tensor("I64", (codes,), least=0, below=K)
        tensors["net_similarity"] = Tensor("F64", (messages["rounds"],), holes=True)
    return tensors


def build_candidates(part: dict[str, Any], arrays: dict[str, Array], layer: Layer) -> Candidates:
    """`layer` is that of the codes kept: the candidates share its parts."""
    first, facts, labelled = layer.pooling.first_order(), part["labelled"], None
    all_of_them = replace(
        layer,
        codes=arrays["codes"],
        pooling=first,
        scale=Scale(arrays["mean"], arrays["spread"]),
        projection=None,
        pictures=arrays.get("pictures"),
    )
    if facts is not None:
        labelled = Labelled(arrays["gram"], arrays["products"], float(facts["variance"]), facts["images"])
    statistics = Statistics(arrays["covariance"], part["samples"], labelled)
    return Candidates(all_of_them, statistics, part["seed"], None if first == layer.pooling else layer.pooling)


def build_selection(part: dict[str, Any], arrays: dict[str, Array]) -> Selection:
    selected, label, messages = arrays["selected"], arrays.get("label"), part["messages"]
    if label is not None and (label[selected] != np.arange(len(selected))).any():
        raise ModelFileError("the array 'features.selection.label' has a selected candidate that another one represents")
    propagation = None
    if messages is not None:
        propagation = Propagation(
            exemplars=arrays["exemplars"],
            label=arrays["message_label"],
            net_similarity=arrays["net_similarity"].tolist(),
            **{name: messages[name] for name in _MESSAGES},
        )
    return Selection(selected, part["candidates"], label, propagation)
