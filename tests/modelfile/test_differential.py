"""Whatever file we accept, the safetensors library opens, and finds the arrays that our model has."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.pipeline import Pipeline, make_pipeline

from poolwise import ZCA, KMeans, LinearSVM, LinearSVMCV, Patches, Pool, SecondOrder, Threshold, load, save
from poolwise.modelfile import ModelFileError

from forge import join, opened_by_others, same, split
from settings import paper_features

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.safetensors"))
SMALL = {"descriptor": Patches(4), "dictionary": KMeans(max_iter=3), "n_patches": 500, "random_state": 0}
LABELS = np.array(["elm", "oak", "yew"])[np.arange(40) % 3]
KINDS = {
    "plain": {},
    "no rounds": {"dictionary": "gaussian"},  # an array of length 0
    "no whitening or scale": {"whitening": None, "scale": None, "descriptor": Patches(4, contrast=None)},
    "affinity": {"n_candidates": 12},
    "authors": {"n_candidates": 12, "selection": "authors"},
    "greedy": {"n_candidates": 12, "selection": "greedy"},
    "all kept": {"n_candidates": 4},
    "as they are": {"n_candidates": 12, "projection": None},
    "pca": {"n_candidates": 12, "projection": "pca"},
    "two-sided": {"n_candidates": 12, "encoder": Threshold(0.25, two_sided=True)},
    "two-sided pca": {"n_candidates": 12, "encoder": Threshold(0.25, two_sided=True), "projection": "pca"},
    "triangle": {"n_candidates": 12, "encoder": "triangle", "pooling": Pool("max", grid=[1, (2, 3)])},
    "nearest": {"encoder": "nearest", "scale": "cell"},
    "cells": {"n_candidates": 12, "scale": "cell"},
    "super-patches": {"n_candidates": 12, "n_super_patches": 100},
    "rows": {"image_shape": (12, 12)},
    "thresholds": {"n_candidates": 12, "encoder": Threshold((0.1, 0.5), True), "symmetry": "dihedral"},
    "second order": {"pooling": SecondOrder(1), "whitening": ZCA(rank=5), "symmetry": "mirror"},
    "second order, chosen": {"n_candidates": 12, "pooling": SecondOrder([1, 2], "power"), "scale": "cell"},
    "supervised": {"n_candidates": 12, "selection": "supervised"},
    "supervised, two sides": {"n_candidates": 12, "selection": "supervised", "encoder": Threshold(0.25, two_sided=True)},
}
CLASSIFIERS = {"none": None, "one gamma": LinearSVM(), "searched": LinearSVMCV([0.01, 0.1], cv=3)}


def arrays_of_features(model):
    """What each array of format 2 means, by its name; those that the model does not have are None."""
    layer, candidates, selection = model.layer_, model.candidates_, model.selection_
    messages = None if selection is None else selection.propagation
    arrays = {
        "objective": np.array(model.objective_, np.float64),
        "layers.0.whitening_mean": layer.whitening.m,
        "layers.0.whitening_matrix": layer.whitening.W,
        "layers.0.codes": layer.codes if candidates is None else None,
        "layers.0.mean": layer.scale.mean,
        "layers.0.spread": layer.scale.spread,
        "layers.0.projection": None if layer.projection is None else layer.projection.T,
    }
    if layer.statistics is not None:
        arrays |= {"layers.0.statistics_mean": layer.statistics.mean, "layers.0.statistics_spread": layer.statistics.spread}
    if candidates is not None:
        arrays |= {
            "candidates.codes": candidates.codes,
            "candidates.covariance": candidates.statistics.covariance,
            "candidates.mean": candidates.layer.scale.mean,
            "candidates.spread": candidates.layer.scale.spread,
        }
        labelled = candidates.statistics.labelled
        arrays |= {} if labelled is None else {"candidates.gram": labelled.gram, "candidates.products": labelled.products}
    if selection is not None:
        arrays |= {"selection.selected": selection.selected, "selection.label": selection.label}
    if messages is not None:
        arrays |= {
            "selection.exemplars": messages.exemplars,
            "selection.message_label": messages.label,
            "selection.net_similarity": np.array(messages.net_similarity),
        }
    return {f"features.{name}": array for name, array in arrays.items() if array is not None}


FORMAT_1 = {
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


def arrays_of_model(model, number=2):
    """Of a pipeline too, by the names of format 2 or 1."""
    first = model[0] if isinstance(model, Pipeline) else model
    arrays = arrays_of_features(first)
    if number == 1:
        names = {f"features.{new}": f"features.{old}" for new, old in FORMAT_1.items()}
        arrays = {names.get(name, name): array for name, array in arrays.items()}
    if first is not model:
        last = model[1]
        arrays |= {"classifier.coef": last.coef_, "classifier.intercept": last.intercept_}
        if isinstance(last, LinearSVMCV):
            arrays |= {"classifier.gammas": last.gammas_, "classifier.scores": last.scores_}
    return arrays


def check(path, model):
    """The library's arrays are the model's, no more and no fewer, to the bit."""
    document, theirs = opened_by_others(path)
    ours = arrays_of_model(model, document["format"])
    assert theirs.keys() == ours.keys()
    for name, array in theirs.items():
        assert same(array, np.ascontiguousarray(ours[name])), name


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_frozen_files(path):
    check(path, load(path))


@pytest.mark.parametrize("slim", [False, True], ids=["whole", "slim"])
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_every_kind(images, tmp_path, kind, classifier, slim):
    X = pd.DataFrame(images.reshape(40, -1), columns=[f"p{i}" for i in range(144)]) if kind == "rows" else images
    model = paper_features(4, **{**SMALL, **KINDS[kind]})
    model = model.fit(X, LABELS) if classifier == "none" else make_pipeline(model, CLASSIFIERS[classifier]).fit(X, LABELS)
    path = tmp_path / "m.safetensors"
    save(model, path, slim=slim)
    again = load(path)
    check(path, again)
    if not slim:
        check(path, model)


def respelled(text):
    """Other spellings of a header that mean the same, or seem to."""
    first = text.index('"data_offsets":[0,')
    yield "same", text
    yield "spaces around", " " + text.strip() + " \n\t"
    yield "no padding", text.strip()
    yield "an escaped name", text.replace("features.objective", "features\\u002eobjective")
    yield "-0", text[:first] + text[first:].replace("[0,", "[-0,", 1)
    yield "0.0", text[:first] + text[first:].replace("[0,", "[0.0,", 1)
    yield "00", text[:first] + text[first:].replace("[0,", "[00,", 1)
    yield "a comma at the end", text.strip()[:-1] + ",}"
    yield "a byte order mark", "\ufeff" + text
    yield "a comment", text.replace("{", "{/**/", 1)
    yield "NUL at the end", text.strip() + "\0"
    yield "a form feed", text.strip() + "\f"


def test_a_header_that_we_accept_is_accepted_by_others(raw, tmp_path):
    n = int.from_bytes(raw[:8], "little")
    path = tmp_path / "m.safetensors"
    accepted = []
    for name, text in respelled(raw[8 : 8 + n].decode()):
        path.write_bytes(join(text.encode(), raw[8 + n :]))
        try:
            model = load(path)
        except ModelFileError:
            continue
        accepted.append(name)
        with safe_open(path, "numpy") as file:
            assert set(file.keys()) == arrays_of_model(model).keys(), name
        check(path, model)
    assert {"same", "no padding"} <= set(accepted)


def test_arrays_in_any_order(model, raw, tmp_path):
    header, data = split(raw)
    metadata = header.pop("__metadata__")
    path = tmp_path / "m.safetensors"
    rng = np.random.default_rng(0)
    for _ in range(5):
        shuffled, end, parts = {"__metadata__": metadata}, 0, []
        for name in rng.permutation(list(header)):
            first, last = header[name]["data_offsets"]
            shuffled[str(name)] = {**header[name], "data_offsets": [end, end + last - first]}
            parts.append(data[first:last])
            end += last - first
        path.write_bytes(join(shuffled, b"".join(parts)))
        check(path, load(path))
        check(path, model)
