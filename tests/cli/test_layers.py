"""`fit --layers`: a stack from the command line, and every command that reads it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from poolwise import StackedFeatures, load
from poolwise.cli import main

from small import QUICK


@pytest.fixture(scope="module")
def stack(made, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("stack") / "stack.safetensors")
    assert main(["fit", made.train, "-o", path, "--layers", "2", *QUICK]) == 0
    return SimpleNamespace(path=path, model=load(path))


def test_what_is_saved_is_a_stack_of_equal_layers(stack):
    features = stack.model.steps[0][1]
    assert isinstance(features, StackedFeatures)
    assert [len(layer.codes_) for layer in features.layers_] == [8, 8]
    assert features.layers_[1].layer_.image_shape == (9, 9, 8)


def test_fit_says_how_many_layers_there_are(poolwise, made, tmp_path):
    found = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", "--layers", "2", *QUICK, "--json")
    assert (found.code, json.loads(found.out)["layers"]) == (0, 2)
    assert json.loads(found.out)["features"] == 2 * 8 * 4
    found = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", "--layers", "2", *QUICK)
    assert "8 in each of 2 layers: 64 features" in found.out


def test_commands_read_it(poolwise, made, stack, three_classes, tmp_path):
    images, labels = three_classes["test"]
    found = poolwise("evaluate", stack.path, made.test, "--json", "--quiet")
    expected = (stack.model.predict(images) == labels).mean()
    assert json.loads(found.out)["accuracy"] == pytest.approx(expected)
    assert poolwise("transform", stack.path, made.test, "-o", tmp_path / "x.npy", "--quiet").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), stack.model[0].transform(images))
    assert poolwise("predict", stack.path, made.test, "--quiet").code == 0


def test_their_features_need_no_cluster(poolwise, made, stack):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
    found = poolwise("predict", stack.path, made.test, "--quiet", "--cluster", "tcp://127.0.0.1:1")
    assert (found.code, "computed on this machine alone; --cluster is not used" in found.err) == (0, True)
    assert found.out == poolwise("predict", stack.path, made.test, "--quiet").out


def test_inspect_names_both_layers(poolwise, stack, tmp_path):
    found = poolwise("inspect", stack.path)
    assert "64 features of 32×32" in found.out
    assert "above it 8 codes on maps of 9×9" in found.out
    assert len(json.loads(poolwise("inspect", stack.path, "--json").out)["layers"]) == 2
    assert poolwise("inspect", stack.path, "--codes", tmp_path / "codes.png").code == 0
    assert (tmp_path / "codes.png").exists()


def test_bands_are_those_of_images(poolwise, made, tmp_path):
    """Their scale and statistics are of the first layer: the others see maps."""
    path = tmp_path / "bands.safetensors"
    found = poolwise("fit", made.train, "-o", path, "--layers", "2", *QUICK, "--bands", "standardize", "--statistics")
    assert found.code == 0, found.err
    first, second = load(path).steps[0][1].layers_
    assert first.bands_ is not None
    assert first.layer_.n_band_features == 4 * 4 * 3
    assert (second.bands_, second.layer_.statistics) == (None, None)


def test_what_does_not_go_together_is_refused_before_any_work(poolwise, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = poolwise("fit", made.train, "-o", "m.safetensors", "--layers", "2", *QUICK, "--mirror-training")
    assert found.code == 2
    assert "--layers 2 cannot be combined with --mirror-training" in found.err
    assert not (tmp_path / "m.safetensors").exists()


def test_a_report_shows_the_first_layers_codes_and_the_accuracy_of_all(poolwise, made, stack, three_classes, tmp_path):
    found = poolwise("report", stack.path, made.test, "-o", tmp_path / "page.html", "--json", "--quiet")
    images, labels = three_classes["test"]
    result, passes = json.loads(found.out), stack.model[0].passes_
    assert result["accuracy"] == pytest.approx((stack.model.predict(images) == labels).mean())
    assert (result["codes"], len(passes)) == (8, 3)
    assert result["multiply_adds"]["encoding"] == sum(layer.multiply_adds["encoding"] for layer in passes)
    inspected = json.loads(poolwise("inspect", stack.path, "--json").out)
    assert inspected["multiply_adds"] == result["multiply_adds"]
    page = (tmp_path / "page.html").read_text()
    assert "then at maps of that, 9×9, through 8 more: 64 numbers per image" in page
    assert "8 codes of 3×3 cells of 9×9 maps of 8 outputs, average 2×2" in page


def test_fit_writes_the_report_of_a_stack(poolwise, made, tmp_path):
    found = poolwise(
        "fit", made.train, "-o", tmp_path / "m.safetensors", "--layers", "2", *QUICK, "--report", tmp_path / "p.html"
    )
    assert found.code == 0
    assert "9×9, through 8 more" in (tmp_path / "p.html").read_text()
