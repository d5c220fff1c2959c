"""`poolwise inspect`: what a file tells, read from its header alone."""

import json
import os

import pytest
from PIL import Image

from small import QUICK


def test_in_words(made, poolwise):
    done = poolwise("inspect", made.chosen)
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0]
    assert first == (
        "32 features of 32×32 colour images: 8 codes of 6×6 pixels selected from 24 by affinity propagation, average pooling "
        "over 2×2 cells, Nyström transform, and a linear SVM for 3 classes"
    )
    for words in ("gamma 0.005, converged", "poolwise fit", "multiply-adds per image", "scikit-learn"):
        assert words in done.out


def test_json(made, poolwise):
    told = json.loads(poolwise("inspect", made.chosen, "--json").out)
    sizes = {"codes": 8, "candidates": 24, "features": 32, "classes": 3, "image_shape": [32, 32, 3]}
    assert sizes.items() <= told.items()
    assert told["bytes"] == os.path.getsize(made.chosen)
    assert told["multiply_adds"] == {"encoding": 27 * 27 * 108 * 8, "transform": 4 * 8 * 8, "classifier": 3 * 32}
    assert told["provenance"]["images"] == 60
    assert told["classifier"]["converged"]


def test_no_array_is_read_without_a_picture(made, poolwise, monkeypatch):
    monkeypatch.setattr("poolwise.modelfile.read_arrays", None)
    assert poolwise("inspect", made.chosen).code == 0


def test_pictures(made, poolwise, tmp_path):
    done = poolwise("inspect", made.chosen, "--codes", tmp_path / "a.png", "--clusters", tmp_path / "b.png")
    assert done.code == 0
    assert [Image.open(tmp_path / name).format for name in ("a.png", "b.png")] == ["PNG", "PNG"]


def test_clusters_of_two_sided_codes(made, poolwise, tmp_path):
    fitted = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, "--candidates", "16", "--two-sided")
    assert fitted.code == 0
    assert poolwise("inspect", tmp_path / "m.safetensors", "--clusters", tmp_path / "b.png").code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "was fitted without --candidates"),
        (("--candidates", "16", "--slim"), "was saved with --slim"),
        (("--candidates", "16", "--transform", "pca"), "keeps all its candidates"),
    ],
)
def test_models_without_clusters(made, poolwise, tmp_path, more, message):
    assert poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *more).code == 0
    done = poolwise("inspect", tmp_path / "m.safetensors", "--clusters", tmp_path / "b.png")
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert os.listdir(tmp_path) == ["m.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--codes", "a.gif"], "does not end in .png"),
        (["--clusters", "no/a.png"], "No such file"),
        (["--codes", "a.png", "--clusters", "a.png"], "different names"),
    ],
)
def test_usage(made, poolwise, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = poolwise("inspect", made.chosen, *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_strangers_text_cannot_steer_the_terminal(made, poolwise, tmp_path):
    from poolwise import load, save

    save(load(made.features), tmp_path / "m.safetensors", provenance={"note": "\x1b[2Jgone"})
    assert "\x1b" not in poolwise("inspect", tmp_path / "m.safetensors").out
