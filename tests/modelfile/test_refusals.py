"""What `load` refuses: everything that is not a model file of ours, whole and as it was written."""

import io
import json
import os
import pickle
import socket
import subprocess
import sys
import tracemalloc
import zipfile

import joblib
import numpy as np
import pytest
from safetensors.numpy import save as to_safetensors

from poolwise import Patches, Threshold, load, save
from poolwise.modelfile import ModelFileError, describe

from forge import canonical, forged, join, put_together, read, sign, split
from settings import paper_features


def refused(tmp_path, content, match=None):
    """One line, with the file's name; no crumb of another error."""
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def npz():
    file = io.BytesIO()
    np.savez(file, a=np.arange(3))
    return file.getvalue()


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.pkl", "x")
    return file.getvalue()


def through_joblib():
    file = io.BytesIO()
    joblib.dump({"a": np.arange(100)}, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (pickle.dumps({"a": 1}), "it is a pickle, which poolwise never opens"),
        (pickle.dumps({"a": 1}, protocol=2), "a pickle"),
        (pickle.dumps({"a": 1}, protocol=0), "not a safetensors file"),
        (through_joblib(), "a pickle"),
        (npz(), "a zip archive"),
        (zipped(), "a zip archive"),
        (b"\x89HDF\r\n\x1a\n" + bytes(2000), "an HDF5 file"),
        (b"\x93NUMPY\x01\x00" + bytes(100), r"a \.npy file"),
        (b"\x08\x07\x12\x04test:\xb1\x02" + bytes(300), "not a safetensors file"),  # ONNX
        (b"", "not a safetensors file"),
        (b"\x10", "not a safetensors file"),
        (bytes(8), "not a safetensors file"),
        (b"A model, in words.\n" * 50, "not a safetensors file"),
        (b'{"format": 1}', "not a safetensors file"),
        (join(b"{}", b""), "its header has no metadata"),
        (join(b"[]", b""), "its header has no metadata"),
        (join(b"\xff\xff\xff", b""), "not UTF-8"),
        (to_safetensors({"a": np.arange(3.0)}), "its header has no metadata"),
        (to_safetensors({"a": np.arange(3.0)}, metadata={"format": "pt"}), "its metadata has no 'poolwise'"),
        (to_safetensors({}, metadata={"poolwise": "{}"}), "its JSON lacks the key 'format'"),
        (to_safetensors({}, metadata={"poolwise": "[]"}), "its JSON is not a JSON object"),
        (to_safetensors({}, metadata={"poolwise": "1"}), "its JSON is not a JSON object"),
    ],
)
def test_other_formats(tmp_path, content, match):
    refused(tmp_path, content, match)


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 10**9, 300_000, 0, 1])
def test_header_lengths_that_cannot_be(raw, tmp_path, length):
    refused(tmp_path, length.to_bytes(8, "little") + raw[8:], "not a safetensors file, or cut short")


def edit_header(raw, change):
    header, data = split(raw)
    change(header)
    return join(header, data)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda h: h["features.selection.label"].update(shape=[2**62, 4]), "does not fit its place"),
        (lambda h: h["features.selection.label"].update(shape=[2**63]), "must be a whole number"),
        (lambda h: h["features.selection.label"].update(shape=[-16]), "must be a whole number"),
        (lambda h: h["features.selection.label"].update(shape=[16.0]), "must be a whole number"),
        (lambda h: h["features.selection.label"].update(shape=[True]), "must be a whole number"),
        (lambda h: h["features.selection.label"].update(shape=[2, 2, 2, 2, 1]), "must be a list"),
        (lambda h: h["features.selection.label"].update(shape=None), "must be a list"),
        (lambda h: h["features.selection.label"].update(shape=[4, 4]), r"is I64 \[4, 4\]; its parameters want I64 \[16\]"),
        (lambda h: h["features.selection.label"].update(dtype="F64"), r"is F64 \[16\]; its parameters want I64 \[16\]"),
        (lambda h: h["features.selection.label"].update(dtype="F32"), "does not fit its place"),
        (lambda h: h["features.selection.label"].update(dtype="BF16"), "must be one of"),
        (lambda h: h["features.selection.label"].update(dtype=["F32"]), "must be one of"),
        (lambda h: h["features.selection.label"].update(data_offsets=[8, 136]), "does not fit its place"),
        (lambda h: h["features.selection.label"].update(data_offsets=[10**18, 10**18 + 128]), "does not fit its place"),
        (lambda h: h["features.selection.label"].update(data_offsets=[0]), "must be a list of 2 entries"),
        (lambda h: h["features.selection.label"].update(more=1), "has the unknown key 'more'"),
        (lambda h: h["features.selection.label"].pop("dtype"), "lacks the key 'dtype'"),
        (lambda h: h.update({"features.selection.label": 5}), "is not a JSON object"),
        (lambda h: h.pop("features.selection.label"), "does not fit its place|arrays end at"),
        (
            lambda h: h.update({"features.other": h.pop("features.selection.label")}),
            "it has the unknown array 'features.other'",
        ),
        (lambda h: h["__metadata__"].update(more="x"), "the metadata has the unknown key 'more'"),
        (lambda h: h["__metadata__"].update(poolwise=1), "must be text"),
        (lambda h: h.update(__metadata__=[]), "its metadata has no 'poolwise'"),
    ],
)
def test_headers_that_do_not_agree(raw, tmp_path, change, match):
    refused(tmp_path, edit_header(raw, change), match)


def test_two_arrays_that_change_places(raw, tmp_path):
    def change(header):
        a, b = header["features.layers.0.mean"], header["features.layers.0.spread"]
        header["features.layers.0.mean"], header["features.layers.0.spread"] = b, a

    refused(tmp_path, edit_header(raw, change), "damaged: its checksum")


def test_files_that_are_cut_short_or_longer(raw, tmp_path):
    refused(tmp_path, raw + b"\0", "something was added")
    refused(tmp_path, raw[:-1], "cut short")


def test_a_flipped_bit_in_an_array(raw, tmp_path):
    refused(tmp_path, raw[:-3] + bytes([raw[-3] ^ 1]) + raw[-2:], "damaged: its checksum does not agree")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda text: text.replace('"kind":', '"kind":"features","kind":'), "has the key 'kind' twice"),
        (lambda text: text.replace('"alpha":0.25', '"alpha":NaN'), "has NaN, which is not a number"),
        (lambda text: text.replace('"alpha":0.25', '"alpha":-Infinity'), "has -Infinity, which is not a number"),
        (lambda text: text.replace('"alpha":0.25', '"alpha":1e999'), "has 1e999, which is beyond float64"),
        (lambda text: text.replace('"alpha":0.25', f'"alpha":{"9" * 5000}'), "a whole number of 5000 digits"),
        (lambda text: text.replace('"alpha":0.25', f'"alpha":{"[" * 4000}{"]" * 4000}'), "nested too deep"),
        (lambda text: text.replace('"alpha":0.25', f'"alpha":{"[" * 4000}'), "nested too deep|cannot be read"),
        (lambda text: text.replace('"alpha":0.25', f'"alpha":{"[" * 50_000}'), "more than 10000 brackets"),
        (lambda text: text[:-1], "its JSON cannot be read"),
        (lambda text: text + " ", "not spelled as poolwise does"),
        (lambda text: text.replace('"alpha":0.25', '"alpha":0.250'), "not spelled as poolwise does"),
        (lambda text: text.replace("+00:00", "\\ud800"), "half a character"),
        (lambda text: "", "its JSON cannot be read"),
    ],
)
def test_json_that_means_nothing_or_two_things(raw, tmp_path, change, match):
    document, arrays = read(raw)
    refused(tmp_path, put_together(change(canonical(document)), arrays), match)


def test_a_header_with_a_name_twice(raw, tmp_path):
    n = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + n].rstrip()
    entry = json.dumps(split(raw)[0]["features.selection.label"])
    refused(
        tmp_path,
        join(header[:-1] + f',"features.selection.label":{entry}}}'.encode(), raw[8 + n :]),
        "'features.selection.label' twice",
    )


@pytest.mark.parametrize("number", [3, 10**18])
def test_a_newer_format_asks_for_a_newer_poolwise(raw, tmp_path, number):
    def change(document, arrays):
        document.update(format=number, something="new")

    refused(tmp_path, forged(raw, change), f"has format {number}, made by a newer poolwise.*Upgrade")


def features(**changes):
    return lambda document, arrays: document["parts"]["features"].update(changes)


def inside(*path):
    """A function like `features`, for what is below it."""

    def changes(*gone, **changed):
        def change(document, arrays):
            value = document["parts"]["features"]
            for key in path:
                value = value[key]
            value.update(changed)
            for key in gone:
                del value[key]

        return change

    return changes


fitted, parameter = inside("fitted"), inside("parameters")
layer, candidates, selection = inside("layers", 0), inside("candidates"), inside("selection")
descriptor, encoder, pooling = (inside("layers", 0, name) for name in ("descriptor", "encoder", "pooling"))
projection, messages = inside("layers", 0, "projection"), inside("selection", "messages")
of_encoder, of_dictionary, of_descriptor = (inside("parameters", name) for name in ("encoder", "dictionary", "descriptor"))
second_order = {"part": "SecondOrder", "grid": 2, "normalize": "root", "offset": 0.1}
labelled = {"cells": 4, "targets": 3, "images": 40, "variance": 2.5}
threshold = {"part": "Threshold", "alpha": 0.25, "two_sided": True}


def array(name, change):
    return lambda document, arrays: change(arrays[f"features.{name}"])


def put(name, place, value):
    return array(name, lambda numbers: numbers.__setitem__(place, value))


def several(*all_of_them):
    def change(document, arrays):
        for one in all_of_them:
            one(document, arrays)

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d, a: d.update(format=0), "format must be a whole number"),
        (lambda d, a: d.update(format=-1), "format must be a whole number"),
        (lambda d, a: d.update(format="2"), "format must be a whole number"),
        (lambda d, a: d.update(format=True), "format must be a whole number"),
        (lambda d, a: d.update(format=2.0), "format must be a whole number"),
        (lambda d, a: d.update(format=1), "features has the unknown key"),
        (lambda d, a: d.update(kind="svm"), "kind must be one of"),
        (lambda d, a: d.update(kind="pipeline"), "parts lacks the key 'classifier'"),
        (lambda d, a: d.update(names=["a"]), "do not make a pipeline"),
        (lambda d, a: d.update(verbose=True), "do not make a pipeline"),
        (lambda d, a: d.update(extra=1), "unknown key 'extra'"),
        (lambda d, a: d.pop("libraries"), "lacks the key 'libraries'"),
        (lambda d, a: d["libraries"].update(torch="2"), "unknown key 'torch'"),
        (lambda d, a: d["provenance"]["told"].update(a=[1]), "must be text, a number"),
        (lambda d, a: d["parts"].update(classifier={}), "unknown key 'classifier'"),
        (lambda d, a: d["parts"].update(features=[]), "features is not a JSON object"),
        (features(slim=True), "features has the unknown key 'slim'"),
        (features(notes="x"), "notes must be a list"),
        (features(notes=[1]), "notes must be text"),
        (features(fitted=[]), "fitted is not a JSON object"),
        (inside()("candidates"), "features lacks the key 'candidates'"),
        (inside()("selection"), "features lacks the key 'selection'"),
        (inside()("layers"), "features lacks the key 'layers'"),
        # Layers
        (features(layers=[]), "layers must be a list of 1 entries"),
        (features(layers={}), "layers must be a list of 1 entries"),
        (features(layers=None), "layers must be a list of 1 entries"),
        (features(layers=[None]), "layers.0 is not a JSON object"),
        (features(layers=[[]]), "layers.0 is not a JSON object"),
        (lambda d, a: d["parts"]["features"]["layers"].append({}), "layers must be a list of 1 entries"),
        (lambda d, a: d["parts"]["features"].update(layers=2 * d["parts"]["features"]["layers"]), "a list of 1 entries"),
        (layer(more=1), "unknown key 'more'"),
        (layer("codes"), "lacks the key 'codes'"),
        (layer("encoder"), "lacks the key 'encoder'"),
        (layer(codes=6), "10 rows, for 12 numbers per cell"),
        (several(layer(codes=6), projection(rows=12)), "its parameters want"),
        (several(layer(codes=17), projection(rows=34)), "contradict|are about"),
        (layer(codes=0), "must be a whole number"),
        (layer(codes=5.0), "must be a whole number"),
        (layer(codes=True), "must be a whole number"),
        (layer(codes=2**40), "must be a whole number"),
        (layer(per_cell=True), "its parameters want"),
        (layer(per_cell=0), "must be true or false"),
        (layer(image_shape=[12, 12, 3]), "its parameters want"),
        (layer(image_shape=[12, 12]), "must be a list of 3"),
        (layer(image_shape=[12, 12, 0]), "must be a whole number"),
        (layer(image_shape=[12, 12.0, 1]), "must be a whole number"),
        (layer(image_shape={"tuple": [12, 12, 1]}), "must be a list of 3"),
        (layer(image_shape=[3, 12, 1]), "images of 3×12 pixels are smaller than the patch"),
        (layer(image_shape=[4, 12, 1]), "a grid of 2 cells does not fit"),
        (layer(projection=None), "unknown array 'features.layers.0.projection'"),
        (layer(projection="nystrom"), "projection is not a JSON object"),
        (projection(kind="pca"), "projection contradicts the rest"),
        (projection(kind=None), "kind must be one of"),
        (projection(kind="whiten"), "kind must be one of"),
        (projection(rows=11), "projection has 11 rows, for 10 numbers per cell"),
        (projection(rows=9), "projection has 9 rows, for 10 numbers per cell"),
        (projection(rows=0), "must be a whole number"),
        (projection(rows=None), "must be a whole number"),
        (projection(more=1), "unknown key 'more'"),
        (projection("rows"), "lacks the key 'rows'"),
        (layer("rank"), "lacks the key 'rank'"),
        (layer("symmetry"), "lacks the key 'symmetry'"),
        (layer(rank=0), "must be a whole number"),
        (layer(rank="auto"), "must be a whole number"),
        (layer(rank=5), r"is F64 \[16, 16\]; its parameters want F64 \[16, 5\]"),
        (layer(rank=16), "rank is 16, for local vectors of 16 numbers"),
        (layer(rank=2**31 - 1), "rank is 2147483647, for local vectors of 16 numbers"),
        (layer(symmetry="rotation"), "symmetry must be one of"),
        (layer(symmetry=False), "symmetry must be one of"),
        (layer(symmetry=["mirror"]), "symmetry must be one of"),
        (layer(symmetry="dihedral", image_shape=[12, 13, 1]), "turns images by 90°, which needs square ones"),
        (layer(pooling={"part": "SecondOrder", "grid": 2, "normalize": "root"}), "lacks the key 'offset'"),
        (layer(pooling=second_order), "10 rows, for 55 numbers per cell"),
        (layer(pooling={**second_order, "normalize": "sqrt"}), "normalize must be one of"),
        (layer(pooling={**second_order, "offset": -1}), "offset must be a finite number"),
        (layer(pooling=second_order, projection=None), "its parameters want|unknown array"),
        # Parts of the layer
        (layer(descriptor=None), "descriptor must be one of the parts Patches, Sift, Hog, Own; it is None"),
        (layer(descriptor="patches"), "descriptor must be one of the parts Patches"),
        (layer(descriptor=threshold), "descriptor must be one of the parts Patches"),
        (layer(encoder=[threshold]), "encoder must be one of the parts Threshold, Triangle, Nearest"),
        (layer(encoder={}), "encoder must be one of the parts"),
        (layer(encoder={"part": "Ridge"}), "encoder must be one of the parts"),
        (layer(encoder={"part": "threshold"}), "encoder must be one of the parts"),
        (layer(encoder={"part": ["Threshold"]}), "encoder must be one of the parts"),
        (layer(encoder={"part": "Part"}), "encoder must be one of the parts"),
        (layer(encoder={"part": "__class__"}), "encoder must be one of the parts"),
        (layer(encoder={"part": "Triangle"}), "10 rows, for 5 numbers per cell"),
        (layer(encoder={"part": "Nearest", "two_sided": True}), "unknown key 'two_sided'"),
        (encoder(more=1), "unknown key 'more'"),
        (encoder(coupled=True), "unknown key 'coupled'"),
        (encoder("alpha"), "lacks the key 'alpha'"),
        (encoder("part"), "encoder must be one of the parts"),
        (encoder(two_sided=False), "10 rows, for 5 numbers per cell"),
        (encoder(two_sided=0), "two_sided must be True or False"),
        (encoder(alpha=-1.0), "alpha must be a finite number"),
        (encoder(alpha=True), "alpha must be a finite number"),
        (encoder(alpha=None), "alpha must be a finite number"),
        (encoder(alpha="0.25"), "alpha must be a finite number"),
        (encoder(alpha=1e300), "alpha must be a finite number"),
        (encoder(alpha={"tuple": []}), "alpha must be a number, or 1 to 16 different ones"),
        (encoder(alpha={"tuple": [0.25, 0.25]}), "alpha must be a number, or 1 to 16 different ones"),
        (encoder(alpha={"tuple": list(range(17))}), "alpha must be a number, or 1 to 16 different ones"),
        (encoder(alpha={"tuple": [0.25, "1"]}), "alpha must be a finite number"),
        (encoder(alpha={"tuple": [0.25, {"tuple": [1]}]}), "alpha must be a finite number"),
        (encoder(alpha={"tuple": [0.25, 1.0]}), "10 rows, for 20 numbers per cell"),
        (encoder(alpha={"list": [0.25]}), "is not a parameter"),
        (encoder(alpha={"part": "Threshold"}), "is not a parameter"),
        (descriptor(size={"tuple": [4, 5]}), "its parameters want"),
        (descriptor(size={"tuple": [13, 4]}), "images of 12×12 pixels are smaller than the patch"),
        (descriptor(size={"tuple": [4, 4, 1]}), "size must be"),
        (descriptor(size={"tuple": [2**31, 4]}), "size must be at most"),
        (descriptor(size=0), "size must be"),
        (descriptor(size=-4), "size must be"),
        (descriptor(size="4"), "size must be"),
        (descriptor(size=4.0), "size must be"),
        (descriptor(size=[[4], [4]]), "size must be"),
        (descriptor(size={"dict": [[4, 4]]}), "size must be"),
        (descriptor(stride=0), "stride must be a whole number"),
        (descriptor(stride=1.0), "stride must be a whole number"),
        (descriptor(stride=2**40), "stride must be at most"),
        (descriptor(contrast="sd"), "contrast must be one of"),
        (descriptor(contrast=False), "contrast must be one of"),
        (descriptor(offset=-1), "offset must be a finite number"),
        (descriptor(offset=None), "offset must be a finite number"),
        (descriptor("stride"), "lacks the key 'stride'"),
        (pooling(how="median"), "how must be one of"),
        (pooling(how=None), "how must be one of"),
        (pooling(grid=[]), "grid must be at least one grid"),
        (pooling(grid=0), "grid must be"),
        (pooling(grid=True), "grid must be"),
        (pooling(grid="2"), "grid must be"),
        (pooling(grid=[[2, 2]]), "grid must be"),
        (pooling(grid={"tuple": [2, 2, 2]}), "grid must be"),
        (pooling(grid={"tuple": [10, 1]}), "a grid of 10 cells does not fit"),
        (pooling(grid=[2, {"tuple": [2, 2]}]), "each a different one"),
        (pooling(grid=10**19), "cells; a file may have"),
        (several(pooling(grid=60_000), layer(image_shape=[2**31 - 1, 2**31 - 1, 1])), "has 3600000000 cells"),
        (several(layer(per_cell=True), pooling(grid=3)), "its parameters want"),
        # Candidates
        (features(candidates=None), "selection contradicts the rest|lacks the array 'features.layers.0.codes'"),
        (features(candidates={}), "candidates lacks the key"),
        (features(candidates=[]), "candidates is not a JSON object"),
        (candidates(more=1), "unknown key 'more'"),
        (candidates("seed"), "lacks the key 'seed'"),
        (candidates(codes=17), "contradicts the rest: 5 codes, 17 candidates"),
        (candidates(codes=4), "contradicts the rest: 5 codes, 4 candidates"),
        (several(candidates(codes=17), selection(candidates=17)), "its parameters want"),
        (candidates(codes=2**40), "must be a whole number"),
        (candidates(codes=16.0), "must be a whole number"),
        (candidates(samples=-1), "must be a whole number"),
        (candidates(samples=2**54), "must be a whole number"),
        (candidates(samples="many"), "must be a whole number"),
        (candidates(seed=-1), "must be a whole number"),
        (candidates(seed=2**32), "must be a whole number"),
        (candidates(seed=None), "must be a whole number"),
        (candidates(per_cell=True), "its parameters want"),
        (candidates(per_cell=1), "must be true or false"),
        (candidates("labelled"), "lacks the key 'labelled'"),
        (candidates(labelled=True), "labelled is not a JSON object"),
        (candidates(labelled={}), "labelled lacks the key"),
        (candidates(labelled=labelled), "its parameters want|lacks the array 'features.candidates.gram'"),
        (candidates(labelled={**labelled, "cells": 0}), "must be a whole number"),
        (candidates(labelled={**labelled, "cells": (1 << 16) + 1}), "must be a whole number"),
        (candidates(labelled={**labelled, "targets": 0}), "must be a whole number"),
        (candidates(labelled={**labelled, "images": 0}), "must be a whole number"),
        (candidates(labelled={**labelled, "variance": "much"}), "must be a number"),
        (candidates(labelled={**labelled, "more": 1}), "unknown key 'more'"),
        # Selection
        (features(selection=None), "contradicts the rest"),
        (features(selection={}), "selection lacks the key"),
        (features(selection=5), "selection is not a JSON object"),
        (selection(more=1), "unknown key 'more'"),
        (selection("labels"), "lacks the key 'labels'"),
        (selection(candidates=17), "selection contradicts the rest"),
        (selection(candidates=4), "contradicts the rest|are about"),
        (selection(candidates=0), "must be a whole number"),
        (selection(candidates=None), "must be a whole number"),
        (selection(labels=False), "contradicts the rest|are about"),
        (several(selection(labels=False), selection(messages=None)), "selection contradicts the rest"),
        (selection(labels=1), "must be true or false"),
        (selection(messages=None), "unknown array 'features.selection.(exemplars|message_label|net_similarity)'"),
        (selection(messages={}), "lacks the key"),
        (selection(messages=[]), "is not a JSON object"),
        (messages(codes=4), "messages are about 4 codes, for 5 of 16"),
        (messages(codes=17), "messages are about 17 codes, for 5 of 16"),
        (messages(codes=15), "its parameters want"),
        (messages(rounds=1), "its parameters want"),
        (messages(rounds=-1), "must be a whole number"),
        (messages(preference="low"), "must be a number"),
        (messages(damping=None), "must be a number"),
        (messages(converged=1), "must be true or false"),
        (messages(merges=-1), "must be a whole number"),
        (messages("swaps"), "lacks the key 'swaps'"),
        (messages(more=1), "unknown key 'more'"),
        # What fit saw
        (fitted(rounds=4), "its parameters want"),
        (fitted(rounds=-1), "must be a whole number"),
        (fitted(converged=1), "must be true or false"),
        (fitted(pixel_range="255"), "must be a number"),
        (fitted(pixel_range=None), "must be a number"),
        (fitted(feature_names=["a"]), "feature_names are 1; its images have 144 numbers"),
        (fitted(feature_names=[]), "feature_names are 0; its images have 144 numbers"),
        (fitted(feature_names=144 * [1]), "feature_names must be text"),
        (fitted(feature_names="a" * 144), "feature_names must be a list"),
        (fitted(timings={"a": "b"}), "must be a number"),
        (fitted(timings=[]), "must be a JSON object"),
        (fitted(codes=5), "unknown key 'codes'"),
        (fitted("rounds"), "lacks the key 'rounds'"),
        # Parameters
        (features(parameters=None), "parameters is not a JSON object"),
        (parameter(n_codes=0), "n_codes must be a whole number of at least 1; got 0"),
        (parameter(n_codes="5"), "n_codes must be a whole number"),
        (parameter(n_codes={"dict": [[1, 2]]}), "n_codes must be a whole number"),
        (parameter(n_codes={"object": []}), "is not a parameter"),
        (parameter(n_codes=threshold), "is not a parameter"),
        (parameter(n_codes=17), "n_codes=17 codes cannot be selected from n_candidates=16"),
        (parameter(n_patches=15), "n_patches=15 patches cannot give n_candidates=16"),
        (parameter(n_super_patches=1), "n_super_patches must be"),
        (several(parameter(n_super_patches=5), parameter(scale="cell")), "a super-patch belongs to no cell"),
        (parameter(selection="best"), "selection must be one of"),
        (parameter(projection="whiten"), "projection must be one of"),
        (parameter(projection={"kind": "pca", "rows": 3}), "is not a parameter"),
        (parameter(pooling="median"), "pooling must be one of"),
        (parameter(pooling="x" * 5000), "pooling must be one of"),
        (parameter(pooling=["average"]), "pooling must be one of"),
        (parameter(pooling={"part": "Pool", "how": "average", "grid": [[1, 2]]}), "grid must be"),
        (parameter(pooling={"part": "Pool", "how": "average", "grid": {"tuple": [1, 2, 3]}}), "grid must be"),
        (parameter(pooling={"part": "Pool", "how": "average"}), "pooling lacks the key 'grid'"),
        (parameter(pooling=None), "pooling must be one of"),
        (parameter(encoder=None), "encoder must be one of"),
        (parameter(encoder="vq"), "encoder must be one of"),
        (parameter(encoder=0.25), "encoder must be one of"),
        (parameter(encoder={"tuple": ["threshold"]}), "encoder must be one of the parts"),
        (parameter(encoder={"part": "Pool", "how": "max", "grid": 2}), "encoder must be one of the parts"),
        (of_encoder(alpha=-1), "alpha must be"),
        (of_encoder(more=1), "unknown key 'more'"),
        (of_encoder("two_sided"), "lacks the key 'two_sided'"),
        (of_encoder(two_sided="no"), "two_sided must be"),
        (of_dictionary(max_iter=0), "max_iter must be"),
        (of_dictionary(tol=[]), "tol must be"),
        (of_dictionary(init="random"), "init must be one of"),
        (of_dictionary(method="patches"), "method must be one of"),
        (of_dictionary(part="RandomCodes"), "unknown key"),
        (parameter(dictionary=None), "dictionary must be one of"),
        (of_descriptor(size=[1, 2, 3]), "size must be"),
        (of_descriptor(stride=0), "stride must be"),
        (parameter(descriptor=None), "descriptor must be one of"),
        (parameter(whitening=False), "whitening must be one of"),
        (parameter(whitening={"part": "ZCA", "form": None, "offset": 0.1, "rank": None}), "form must be one of"),
        (parameter(whitening={"part": "ZCA", "form": "std", "offset": 0.1}), "lacks the key 'rank'"),
        (parameter(whitening={"part": "ZCA", "form": "std", "offset": 0.1, "rank": 0}), "rank must be a whole number"),
        (parameter(whitening={"part": "ZCA", "form": "std", "offset": 0.1, "rank": "all"}), "rank must be a whole number"),
        (parameter(symmetry="both"), "symmetry must be one of"),
        (parameter("symmetry"), "lacks the key 'symmetry'"),
        (parameter(selection="supervised", n_super_patches=50), "looks at whole images with their labels"),
        (parameter(scale={"part": "Standardize", "form": "shared", "offset": -1}), "offset must be"),
        (parameter(image_shape=3), "image_shape must be"),
        (parameter(random_state=-1), "random_state must be"),
        (parameter(random_state="a"), "random_state must be"),
        (parameter(n_jobs=10**6), "n_jobs must be"),
        (parameter(n_jobs=0), "n_jobs=0 has no meaning"),
        (parameter(verbose="yes"), "verbose must be"),
        (parameter(other=1), "unknown key 'other'"),
        (parameter(alpha=0.25), "unknown key 'alpha'"),
        (parameter(transform="nystrom"), "unknown key 'transform'"),
        (parameter(encoder__alpha=0.25), "unknown key 'encoder__alpha'"),
        (parameter("encoder"), "lacks the key 'encoder'"),
        # Arrays
        (lambda d, a: a.update({"features.more": np.zeros(3)}), "unknown array 'features.more'"),
        (
            lambda d, a: a.update({"features.layers.1.codes": np.zeros((3, 16), "<f4")}),
            "unknown array 'features.layers.1.codes'",
        ),
        (
            lambda d, a: a.update({"features.layers.0.codes": np.zeros((5, 16), "<f4")}),
            "unknown array 'features.layers.0.codes'",
        ),
        (lambda d, a: a.update({"features.codes": np.zeros((5, 16), "<f4")}), "unknown array 'features.codes'"),
        (lambda d, a: a.pop("features.selection.selected"), "lacks the array 'features.selection.selected'"),
        (lambda d, a: a.pop("features.candidates.codes"), "lacks the array 'features.candidates.codes'"),
        (lambda d, a: a.pop("features.layers.0.mean"), "lacks the array 'features.layers.0.mean'"),
        (
            lambda d, a: a.update({"features.selection.selected": a["features.selection.selected"].astype(np.float64)}),
            "want I64",
        ),
        (
            lambda d, a: a.update({"features.candidates.codes": a["features.candidates.codes"].astype(np.float64)}),
            "want F32",
        ),
        (put("selection.selected", -1, 16), "'features.selection.selected' has values out of range"),
        (put("selection.selected", 0, -1), "'features.selection.selected' has values out of range"),
        (array("selection.selected", lambda n: n.__setitem__(0, n[1])), "has a number twice"),
        (array("selection.selected", lambda n: n.__setitem__(slice(None), n[::-1].copy())), "that another one represents"),
        (put("selection.label", 0, 5), "'features.selection.label' has values out of range"),
        (put("selection.label", 0, -1), "'features.selection.label' has values out of range"),
        (array("selection.label", lambda n: n.__iadd__(1).__imod__(5)), "a selected candidate that another one represents"),
        (put("selection.exemplars", -1, 16), "'features.selection.exemplars' has values out of range"),
        (array("selection.exemplars", lambda n: n.__setitem__(0, n[1])), "'features.selection.exemplars' does not ascend"),
        (put("selection.message_label", 0, 5), "'features.selection.message_label' has values out of range"),
        (put("selection.net_similarity", 0, np.inf), "not finite"),
        (put("selection.net_similarity", 0, np.nan), "not finite"),
        (put("layers.0.spread", 0, 0), "'features.layers.0.spread' has values out of range"),
        (put("layers.0.spread", 0, -1), "'features.layers.0.spread' has values out of range"),
        (put("layers.0.mean", 0, np.nan), "not finite"),
        (put("layers.0.projection", (3, 3), np.inf), "not finite"),
        (put("layers.0.whitening_matrix", (3, 3), -np.inf), "not finite"),
        (put("candidates.codes", (3, 3), np.nan), "not finite"),
        (put("candidates.covariance", (3, 3), np.inf), "not finite"),
        (put("candidates.spread", 0, 0), "'features.candidates.spread' has values out of range"),
        (put("candidates.mean", 0, np.nan), "not finite"),
        (put("objective", 0, np.nan), "not finite"),
    ],
)
def test_content_that_contradicts_itself_though_the_checksum_is_right(raw, tmp_path, change, match):
    refused(tmp_path, forged(raw, change), match)


@pytest.mark.parametrize("place", ['"alpha":', '"n_codes":', '"samples":', '"images":', '"rounds":', '"labels":', '"kind":'])
def test_json_nested_to_any_depth(raw, tmp_path, place):
    """What `parse` can still hold, every check after it must be able to hold."""
    document, arrays = read(raw)
    text = canonical(document)
    at = text.index(place)
    at = text.index(":", at) + 1
    end = min(text.index(mark, at) for mark in ",}")
    for depth in (1, 50, 150, *range(200, 1100, 20)):
        for opening, closing in ("[]", ('{"tuple":[', "]}"), ('{"a":', "}")):
            value = opening * depth + "1" + closing * depth
            refused(tmp_path, put_together(text[:at] + value + text[end:], arrays))


@pytest.mark.parametrize("kind", ["describe", "load"])
def test_a_product_of_sizes_that_wraps_around_is_not_their_product(raw, tmp_path, kind):
    """2^30 × 2^30 × 16 is 0 in 64 bits, and there are 0 names; patches of 1×1×16 have the 16 numbers of 4×4×1."""
    change = several(layer(image_shape=[2**30, 2**30, 16]), descriptor(size={"tuple": [1, 1]}), fitted(feature_names=[]))
    path = tmp_path / "bad.safetensors"
    path.write_bytes(forged(raw, change))
    with pytest.raises(ModelFileError, match="feature_names are 0; its images have 18446744073709551616 numbers"):
        {"describe": describe, "load": load}[kind](path)


MOST = 2**31 - 1


@pytest.mark.parametrize(
    "change",
    [
        layer(codes=MOST),
        several(layer(codes=MOST), projection(rows=MOST)),
        several(layer(codes=MOST, projection=None), features(candidates=None, selection=None)),
        candidates(codes=MOST),
        several(candidates(codes=MOST), selection(candidates=MOST)),
        several(selection(candidates=MOST), messages(codes=MOST)),
        messages(rounds=MOST),
        fitted(rounds=MOST),
        layer(image_shape=[MOST, MOST, MOST]),
        several(layer(image_shape=[MOST, MOST, 1]), descriptor(size=MOST), pooling(grid=1)),
        several(layer(image_shape=[MOST, MOST, MOST]), descriptor(size=MOST), pooling(grid=1)),
        several(layer(image_shape=[MOST, MOST, MOST], per_cell=True), pooling(grid=256)),
        several(layer(image_shape=[MOST, MOST, 1]), pooling(grid=256)),
        several(layer(image_shape=[MOST, MOST, 1]), pooling(grid=list(range(1, 57)))),
        several(layer(image_shape=[MOST, MOST, 1]), pooling(grid={"tuple": [4096, 1]})),
        several(layer(image_shape=[MOST, MOST, 1]), pooling(grid={"tuple": [1, 4096]})),
        parameter(n_codes=MOST, n_candidates=MOST, n_patches=MOST),
        of_descriptor(size=MOST),
        several(parameter(pooling={"part": "Pool", "how": "max", "grid": MOST})),
        layer(codes=MOST, pooling=second_order, projection=None),
        several(layer(codes=MOST, pooling=second_order), projection(rows=MOST)),
        several(
            layer(codes=MOST, pooling={**second_order, "grid": 256}, projection=None, image_shape=[MOST, MOST, 1]),
            encoder(alpha={"tuple": list(range(16))}),
        ),
        several(
            layer(codes=MOST, projection=None, per_cell=True, image_shape=[MOST, MOST, 1]),
            pooling(grid=256),
            encoder(alpha={"tuple": list(range(16))}),
        ),
        candidates(labelled={**labelled, "cells": 1 << 16, "targets": MOST}),
        several(candidates(codes=MOST, labelled={**labelled, "cells": 1 << 16, "targets": MOST}), selection(candidates=MOST)),
    ],
)
def test_sizes_that_are_only_declared_take_no_memory(raw, tmp_path, change):
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(forged(raw, change))
    for look in (describe, load):
        assert peak(path, look) < 8 << 20, look


@pytest.fixture(scope="module")
def with_labels(images, tmp_path_factory):
    """The file of a model whose codes were chosen with labels: 5 of 16, by 4 cells, for 3 classes."""
    cut, path = Patches(4), tmp_path_factory.mktemp("labels") / "m.safetensors"
    model = paper_features(
        5, 16, descriptor=cut, encoder=Threshold((0.1, 0.5), two_sided=False), selection="supervised", n_patches=500
    )
    save(model.fit(images, np.arange(40) % 3), path)
    return path.read_bytes()


of_labels = inside("candidates", "labelled")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (candidates(labelled=None), "unknown array 'features.candidates.(gram|products)'|its parameters want"),
        (of_labels(cells=3), r"'features.candidates.gram' is F32 \[64, 64\]; its parameters want F32 \[48, 48\]"),
        (of_labels(targets=2), r"'features.candidates.products' is F64 \[64, 3\]; its parameters want F64 \[64, 2\]"),
        (of_labels(variance=None), "must be a number"),
        (of_labels("images"), "lacks the key 'images'"),
        (encoder(alpha=0.1), "its parameters want"),
        (put("candidates.gram", (3, 3), np.nan), "'features.candidates.gram' has values that are not finite"),
        (put("candidates.products", (3, 1), np.inf), "'features.candidates.products' has values that are not finite"),
        (lambda d, a: a.pop("features.candidates.gram"), "lacks the array 'features.candidates.gram'"),
        (
            lambda d, a: a.update({"features.candidates.gram": a["features.candidates.gram"].astype(np.float64)}),
            "want F32",
        ),
    ],
)
def test_what_contradicts_itself_in_a_model_chosen_with_labels(with_labels, tmp_path, change, match):
    refused(tmp_path, forged(with_labels, change), match)


def test_the_test_itself_can_forge_a_file(raw, tmp_path):
    (tmp_path / "good.safetensors").write_bytes(forged(raw, lambda document, arrays: None))
    load(tmp_path / "good.safetensors")


def test_pipes_folders_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", "/dev/null", tmp_path / "s"):
        with pytest.raises(ModelFileError, match="it is a folder, pipe or device, not a file"):
            load(path)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.safetensors")


def peak(path, look=load):
    tracemalloc.start()
    try:
        look(path)
    except ModelFileError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


def large(raw):
    """A model of 25 MB, nearly all of it codes: what folding would multiply."""
    document, arrays = read(raw)
    own, n = document["parts"]["features"], 400_000
    own.update(candidates=None, selection=None)
    own["layers"][0].update(projection=None, codes=n, encoder={**threshold, "two_sided": False})
    own["parameters"].update(n_candidates=None)
    kept = {name: arrays[name] for name in arrays if "whitening" in name or "objective" in name}
    made = {"codes": np.ones((n, 16), np.float32), "mean": np.zeros(n), "spread": np.ones(n)}
    arrays = {**kept, **{f"features.layers.0.{name}": array for name, array in made.items()}}
    return put_together(sign(document, arrays), arrays)


def test_loading_takes_the_memory_of_the_file(raw, tmp_path):
    path = tmp_path / "large.safetensors"
    path.write_bytes(large(raw))
    assert peak(path) < 1.3 * path.stat().st_size


@pytest.mark.parametrize("size", [0, 1 << 20, 1 << 24])
@pytest.mark.parametrize(
    "filling", ["[],", "{},", "0.5,", '"ab",', '"a" ,', '{"a":0},', "[" * 400 + "]" * 400 + ","], ids=lambda text: text[:8]
)
def test_json_cannot_blow_up(tmp_path, filling, size):
    """Python's objects take up to 44 times the room of their text: a header is a small share of a file, with few brackets."""
    most = (1 << 18) + (size + (1 << 18)) // 32 - 200
    array = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
    more = f"[{(filling * (most // len(filling)))[:-1]}]"
    header = f'{{"__metadata__":{{"poolwise":"{{}}"}},"a":{json.dumps(array)},"b":{more}}}'
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(join(header.encode(), bytes(size)))
    with pytest.raises(ModelFileError, match=r"the array 'b' is not a JSON object|more than 10000 brackets"):
        load(path)
    assert peak(path) < max(2 * path.stat().st_size, 8 << 20)


def test_memory_of_a_process_that_loads(raw, tmp_path):
    (tmp_path / "large.safetensors").write_bytes(large(raw))
    size = (tmp_path / "large.safetensors").stat().st_size
    code = (
        "import resource, poolwise.modelfile; poolwise.modelfile.describe('large.safetensors');"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "poolwise.load('large.safetensors');"
        "print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 * size


def test_describing_reads_no_arrays(raw, tmp_path):
    path = tmp_path / "large.safetensors"
    path.write_bytes(large(raw))
    tracemalloc.start()
    describe(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
