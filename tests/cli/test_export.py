"""`poolwise export`: a model file to a graph that onnxruntime runs."""

import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image

from poolwise import load
from poolwise.cli.commands import export


def test_a_model_with_a_classifier(poolwise, made, tmp_path):
    output = tmp_path / "model.onnx"
    done = poolwise("export", made.model, "-o", output, "--quiet")
    assert done.code == 0, done.err
    assert re.fullmatch(r"\d+ KB", done.out.splitlines()[0].removeprefix(f"{output}: "))
    assert "images        n × 3 × 32 × 32" in done.out
    model, picture = load(made.model), np.asarray(Image.open(next(iter(sorted((made.home / "test").rglob("*.png"))))))
    session = onnxruntime.InferenceSession(output)
    features, label = session.run(["features", "label"], {"images": picture.transpose(2, 0, 1)[None]})
    assert np.allclose(features, model[0].transform(picture[None]), atol=1e-3)
    assert label.tolist() == model.predict(picture[None]).tolist()
    about = {one.key: one.value for one in onnx.load(output).metadata_props}
    assert json.loads(about["poolwise.provenance"])["images"] == 60
    assert str(made.home) not in output.read_bytes().decode("latin-1")


def test_options_and_json(poolwise, made, tmp_path):
    output = tmp_path / "MODEL.ONNX"
    words = ("--layout", "nhwc", "--dtype", "float32", "--resize", "48x64", "--features-only", "--json", "--quiet")
    done = poolwise("export", made.model, "-o", output, *words)
    assert (done.code, done.err) == (0, "")
    width = load(made.model)[0].n_features_out_
    assert json.loads(done.out) == {
        "output": str(output),
        "bytes": output.stat().st_size,
        "classifier": False,
        "input": {"images": ["n", 48, 64, 3]},
        "outputs": {"features": ["n", width]},
        "dtype": "float32",
        "layout": "NHWC",
    }
    done = poolwise("export", made.resized, "-o", output, "--resize", "40", "--json", "--quiet")
    assert json.loads(done.out)["input"] == {"images": ["n", 1, 40, 40]}


def test_the_name_of_a_data_set_stays(poolwise, cifar, tmp_path):
    from small import QUICK

    model, output = tmp_path / "model.safetensors", tmp_path / "model.onnx"
    assert poolwise("fit", "cifar10", "-o", model, *QUICK).code == 0
    assert poolwise("export", model, "-o", output, "--quiet").code == 0
    about = {one.key: one.value for one in onnx.load(output).metadata_props}
    assert json.loads(about["poolwise.provenance"])["data set"] == "cifar10:train"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-o", "model.pb"), "model.pb does not end in .onnx"),
        (("-o", "model.onnx", "--resize", "0"), "is not a size"),
        (("-o", "model.onnx", "--layout", "chw"), "is not one of"),
        ((), "Missing option"),
    ],
)
def test_usage(poolwise, made, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = poolwise("export", made.model, *words)
    assert done.code == 2
    assert says in done.err
    assert not list(tmp_path.iterdir())


def test_options_of_another_kind_of_file_are_a_mistake(poolwise, made, tmp_path, monkeypatch):
    monkeypatch.setitem(export.WRITERS, ".txt", export.Writer(lambda model, path, *_: path.write_text("x") and {}))
    done = poolwise("export", made.model, "-o", tmp_path / "model.txt", "--layout", "nhwc")
    assert done.code == 2
    assert "--layout is for .onnx; the output is .txt" in done.err
    assert poolwise("export", made.model, "-o", tmp_path / "model.txt", "--quiet").code == 0


def test_without_onnx(poolwise, made, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    done = poolwise("export", made.model, "-o", tmp_path / "model.onnx")
    assert done.code == 2
    assert ".onnx needs onnx, which is not installed: pip install 'poolwise[onnx]'" in done.err


def test_what_cannot_be_expressed_is_bad_data(poolwise, made, tmp_path):
    from small import QUICK

    model = tmp_path / "llc.safetensors"
    words = [word for word in QUICK if word not in ("--alpha", "0.25", "--one-sided")]
    assert poolwise("fit", made.train, "-o", model, *words, "--encoder", "llc").code == 0
    done = poolwise("export", model, "-o", tmp_path / "model.onnx", "--quiet")
    assert done.code == 3
    assert "encoder='llc'" in done.err or "--encoder llc" in done.err
    assert not (tmp_path / "model.onnx").exists()
    assert poolwise("export", tmp_path / "none.safetensors", "-o", tmp_path / "model.onnx").code == 3
