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

from poolwise import load
from poolwise.modelfile import ModelFileError, describe

from forge import canonical, forged, join, put_together, read, sign, split


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
        (lambda h: h["features.label"].update(shape=[2**62, 4]), "does not fit its place"),
        (lambda h: h["features.label"].update(shape=[2**63]), "must be a whole number"),
        (lambda h: h["features.label"].update(shape=[-16]), "must be a whole number"),
        (lambda h: h["features.label"].update(shape=[16.0]), "must be a whole number"),
        (lambda h: h["features.label"].update(shape=[True]), "must be a whole number"),
        (lambda h: h["features.label"].update(shape=[4, 2, 2]), "must be a list"),
        (lambda h: h["features.label"].update(shape=None), "must be a list"),
        (lambda h: h["features.label"].update(shape=[4, 4]), r"is I64 \[4, 4\]; its parameters want I64 \[16\]"),
        (lambda h: h["features.label"].update(dtype="F64"), r"is F64 \[16\]; its parameters want I64 \[16\]"),
        (lambda h: h["features.label"].update(dtype="F32"), "does not fit its place"),
        (lambda h: h["features.label"].update(dtype="BF16"), "must be one of"),
        (lambda h: h["features.label"].update(dtype=["F32"]), "must be one of"),
        (lambda h: h["features.label"].update(data_offsets=[8, 136]), "does not fit its place"),
        (lambda h: h["features.label"].update(data_offsets=[10**18, 10**18 + 128]), "does not fit its place"),
        (lambda h: h["features.label"].update(data_offsets=[0]), "must be a list of 2 entries"),
        (lambda h: h["features.label"].update(more=1), "has the unknown key 'more'"),
        (lambda h: h["features.label"].pop("dtype"), "lacks the key 'dtype'"),
        (lambda h: h.update({"features.label": 5}), "is not a JSON object"),
        (lambda h: h.pop("features.label"), "does not fit its place|arrays end at"),
        (lambda h: h.update({"features.other": h.pop("features.label")}), "it has the unknown array 'features.other'"),
        (lambda h: h["__metadata__"].update(more="x"), "the metadata has the unknown key 'more'"),
        (lambda h: h["__metadata__"].update(poolwise=1), "must be text"),
        (lambda h: h.update(__metadata__=[]), "its metadata has no 'poolwise'"),
    ],
)
def test_headers_that_do_not_agree(raw, tmp_path, change, match):
    refused(tmp_path, edit_header(raw, change), match)


def test_two_arrays_that_change_places(raw, tmp_path):
    def change(header):
        a, b = header["features.pooled_mean"], header["features.pooled_scale"]
        header["features.pooled_mean"], header["features.pooled_scale"] = b, a

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
        (lambda text: text.replace('"alpha":0.25', '"alpha":NaN'), "has NaN, which is no number"),
        (lambda text: text.replace('"alpha":0.25', '"alpha":-Infinity'), "has -Infinity, which is no number"),
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
    entry = json.dumps(split(raw)[0]["features.label"])
    refused(tmp_path, join(header[:-1] + f',"features.label":{entry}}}'.encode(), raw[8 + n :]), "'features.label' twice")


@pytest.mark.parametrize("number", [2, 10**18])
def test_a_newer_format_asks_for_a_newer_poolwise(raw, tmp_path, number):
    def change(document, arrays):
        document.update(format=number, something="new")

    refused(tmp_path, forged(raw, change), f"has format {number}, made by a newer poolwise.*Upgrade")


def fitted(**changes):
    return lambda document, arrays: document["parts"]["features"]["fitted"].update(changes)


def parameter(**changes):
    return lambda document, arrays: document["parts"]["features"]["parameters"].update(changes)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d, a: d.update(format=0), "format must be a whole number"),
        (lambda d, a: d.update(format="1"), "format must be a whole number"),
        (lambda d, a: d.update(format=True), "format must be a whole number"),
        (lambda d, a: d.update(kind="svm"), "kind must be one of"),
        (lambda d, a: d.update(kind="pipeline"), "parts lacks the key 'classifier'"),
        (lambda d, a: d.update(names=["a"]), "do not make a pipeline"),
        (lambda d, a: d.update(extra=1), "unknown key 'extra'"),
        (lambda d, a: d.pop("libraries"), "lacks the key 'libraries'"),
        (lambda d, a: d["libraries"].update(torch="2"), "unknown key 'torch'"),
        (lambda d, a: d["provenance"]["told"].update(a=[1]), "must be text, a number"),
        (lambda d, a: d["parts"].update(classifier={}), "unknown key 'classifier'"),
        (lambda d, a: d["parts"].update(features=[]), "features is not a JSON object"),
        (lambda d, a: d["parts"]["features"].update(slim=True), "contradicts"),
        (lambda d, a: d["parts"]["features"].update(slim=1), "slim must be true or false"),
        (fitted(codes=6), "contradicts"),
        (fitted(codes=17), "contradicts"),
        (fitted(candidates=17), "its parameters want"),
        (fitted(candidates=None), "contradicts"),
        (fitted(candidates=2**40), "must be a whole number"),
        (fitted(transform=None), "contradicts"),
        (fitted(transform="pca"), "contradicts"),
        (fitted(projected=11), "contradicts"),
        (fitted(projected=None), "contradicts"),
        (fitted(two_sided=False), "contradicts"),
        (fitted(two_sided=0), "must be true or false"),
        (fitted(per_cell=True), "its parameters want"),
        (fitted(patch_size=[4, 5]), "its parameters want"),
        (fitted(patch_size=[13, 4]), "images of 12×12 pixels are smaller than the patch"),
        (fitted(image_shape=[12, 12, 3]), "its parameters want"),
        (fitted(image_shape=[12, 12]), "must be a list of 3"),
        (fitted(image_shape=[12, 12, 0]), "must be a whole number"),
        (fitted(grids=[]), "must be a list"),
        (fitted(grids=[[10, 1]]), "a grid of 10 cells does not fit"),
        (fitted(grids=[[2, 2], [2, 2]]), "each different"),
        (fitted(grids=[[60_000, 60_000]], image_shape=[2**31 - 1, 2**31 - 1, 1]), "have 3600000000 cells"),
        (fitted(stride=0), "must be a whole number"),
        (fitted(encoder="vq"), "two_sided=True is for encoder='threshold'"),
        (fitted(encoder="lasso"), "must be one of"),
        (fitted(alpha=-1.0), "alpha must be a finite number"),
        (fitted(alpha=True), "alpha must be a number"),
        (fitted(rounds=4), "its parameters want"),
        (fitted(choice_seed=-1), "must be a whole number"),
        (fitted(feature_names=["a"]), "feature_names are 1; its images have 144 numbers"),
        (fitted(messages=None), "unknown array 'features.messages_exemplars'|unknown array 'features.net_similarity'"),
        (fitted(messages={}), "lacks the key"),
        (fitted(timings={"a": "b"}), "must be a number"),
        (parameter(n_codes=0), "n_codes must be a whole number of at least 1; got 0"),
        (parameter(n_codes="5"), "n_codes must be a whole number"),
        (parameter(n_codes={"dict": [[1, 2]]}), "n_codes must be a whole number"),
        (parameter(n_codes={"object": []}), "is no parameter"),
        (parameter(n_codes=17), "n_codes=17 codes cannot be selected from n_candidates=16"),
        (parameter(pool="median"), "pool must be one of"),
        (parameter(pool="x" * 5000), "pool must be one of"),
        (parameter(grid=[[1, 2]]), "grid must be"),
        (parameter(grid={"tuple": [1, 2, 3]}), "grid must be"),
        (parameter(patch_size=[1, 2, 3]), "patch_size must be"),
        (parameter(image_shape=3), "image_shape must be"),
        (parameter(random_state=-1), "random_state must be"),
        (parameter(random_state="a"), "random_state must be"),
        (parameter(n_jobs=10**6), "n_jobs must be"),
        (parameter(n_jobs=0), "n_jobs=0 has no meaning"),
        (parameter(verbose="yes"), "verbose must be"),
        (parameter(other=1), "unknown key 'other'"),
        (lambda d, a: d["parts"]["features"]["parameters"].pop("alpha"), "lacks the key 'alpha'"),
        (lambda d, a: a.update({"features.more": np.zeros(3)}), "unknown array 'features.more'"),
        (lambda d, a: a.pop("features.selected"), "lacks the array 'features.selected'"),
        (lambda d, a: a.update({"features.selected": a["features.selected"].astype(np.float64)}), "want I64"),
        (lambda d, a: a["features.selected"].__setitem__(-1, 16), "'features.selected' has values out of range"),
        (lambda d, a: a["features.selected"].__setitem__(0, -1), "'features.selected' has values out of range"),
        (lambda d, a: a["features.selected"].__setitem__(0, a["features.selected"][1]), "does not ascend"),
        (lambda d, a: a["features.label"].__setitem__(0, 5), "'features.label' has values out of range"),
        (lambda d, a: a["features.label"].__iadd__(1).__imod__(5), "stands with another"),
        (lambda d, a: a["features.pooled_scale"].__setitem__(0, 0), "'features.pooled_scale' has values out of range"),
        (lambda d, a: a["features.candidates"].__setitem__((3, 3), np.nan), "not finite"),
        (lambda d, a: a["features.covariance"].__setitem__((3, 3), np.inf), "not finite"),
        (lambda d, a: a["features.net_similarity"].__setitem__(0, np.inf), "not finite"),
    ],
)
def test_content_that_contradicts_itself_though_the_checksum_is_right(raw, tmp_path, change, match):
    refused(tmp_path, forged(raw, change), match)


def test_the_test_itself_can_forge_a_file(raw, tmp_path):
    (tmp_path / "good.safetensors").write_bytes(forged(raw, lambda document, arrays: None))
    load(tmp_path / "good.safetensors")


def test_pipes_folders_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", "/dev/null", tmp_path / "s"):
        with pytest.raises(ModelFileError, match="it is not a regular file"):
            load(path)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.safetensors")


def peak(path):
    tracemalloc.start()
    try:
        load(path)
    except ModelFileError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


def large(raw, **header):
    """A model of 25 MB, nearly all of it codes: what folding would multiply."""
    document, arrays = read(raw)
    fitted = document["parts"]["features"]["fitted"]
    n = 400_000
    fitted.update(candidates=None, transform=None, projected=None, messages=None, codes=n, two_sided=False)
    document["parts"]["features"]["parameters"].update(n_candidates=None, **header)
    arrays = {name: arrays[f"features.{name}"] for name in ("whitening_mean", "whitening_matrix", "objective")}
    arrays |= {"codes": np.ones((n, 16), np.float32), "pooled_mean": np.zeros(n), "pooled_scale": np.ones(n)}
    arrays = {f"features.{name}": array for name, array in arrays.items()}
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
