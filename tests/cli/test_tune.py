"""`poolwise tune`: the table, the model, the plot and report, and what it refuses before it works."""

import csv
import json
import shlex
from functools import partial

import numpy as np
import pytest
from PIL import Image

from poolwise import PooledFeatures, load
from poolwise.tuning import banks, evaluate, settings

QUICK = ("--codes", "6", "--trials", "7", "--jobs", "1", "--quiet")


@pytest.fixture(scope="module", autouse=True)
def few_patches():
    """In the search and in the fits of its winners."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(banks, "PATCHES", 1500)
        patch.setattr(settings, "PooledFeatures", partial(PooledFeatures, n_patches=3000))
        yield


@pytest.fixture(scope="module")
def tuned(made, tmp_path_factory):
    """One search with everything, as JSON."""
    from contextlib import redirect_stdout
    from io import StringIO

    from poolwise.cli import main

    folder = tmp_path_factory.mktemp("tune")
    out = StringIO()
    arguments = [made.train, *QUICK, "-o", str(folder / "best.safetensors"), "--report", str(folder / "best.html")]
    with redirect_stdout(out):
        assert main(["tune", *arguments, "--plot", str(folder / "tune.png"), "--store", str(folder / "store"), "--json"]) == 0
    return json.loads(out.getvalue()), folder


def test_json_has_the_trials_best_first(tuned):
    result, _ = tuned
    assert result["tried"] == 7
    assert result["score"] == "accuracy"
    assert result["interrupted"] is False
    first = result["trials"][0]
    assert {"score", "error", "milliseconds", "features", "images", "held_out", "frontier", "options"} <= first.keys()
    assert any(row["frontier"] for row in result["trials"])
    assert result["model"]["classes"] == 3


def test_the_model_is_the_winner_and_says_that_it_was_tuned(tuned):
    result, folder = tuned
    model = load(folder / "best.safetensors")
    features = model[0]
    options = shlex.split(result["options"])
    assert features.n_codes == int(options[options.index("--codes") + 1])
    from poolwise.modelfile import describe

    assert "in 7 trials" in describe(folder / "best.safetensors").provenance["tuned"]
    assert model.predict(np.zeros((1, 32, 32, 3), np.uint8)).shape == (1,)


def test_the_fit_line_gives_the_same_model(tuned, poolwise, tmp_path):
    result, folder = tuned
    words = shlex.split(result["fit"])
    assert words[:2] == ["poolwise", "fit"]
    words[words.index("best.safetensors")] = str(tmp_path / "again.safetensors")
    assert poolwise(*words[1:], "--patches", "3000", "--jobs", "1", "--quiet").code == 0
    one, other = load(folder / "best.safetensors"), load(tmp_path / "again.safetensors")
    assert one[0].recipe == other[0].recipe
    np.testing.assert_array_equal(one[0].codes_, other[0].codes_)
    np.testing.assert_array_equal(one[1].coef_, other[1].coef_)


def test_the_report_shows_the_search(tuned):
    result, folder = tuned
    page = (folder / "best.html").read_text(encoding="utf-8")
    assert "What was tried" in page
    assert f"{100 * result['trials'][0]['score']:.1f} ±" in page


def test_the_plot_is_a_picture(tuned):
    with Image.open(tuned[1] / "tune.png") as picture:
        assert picture.size[0] > 500


def test_the_table_and_the_store(tuned, made, poolwise, monkeypatch):
    result, folder = tuned

    def nothing(*unused, **more):
        raise AssertionError("computed again")

    monkeypatch.setattr(evaluate, "learn_bank", nothing)
    done = poolwise("tune", made.train, *QUICK, "--store", folder / "store")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split()[:3] == ["accuracy", "ms/image", "features"]
    assert f"{100 * result['trials'][0]['score']:.1f} ± " in lines[1]
    assert any(line.startswith("fit ") and "poolwise fit" in line for line in lines)
    assert "7 trials" in done.out
    other = poolwise("tune", made.train, *QUICK, "--store", folder / "store", "--seed", "1")
    assert other.code == 3
    assert "another search" in other.err


def test_an_interrupt_prints_the_table_and_fits_nothing(made, poolwise, monkeypatch, tmp_path):
    real, calls = evaluate.classify_by_ridge, []

    def ridge(*given, **more):
        calls.append(1)
        if len(calls) > 10:
            raise KeyboardInterrupt
        return real(*given, **more)

    monkeypatch.setattr(evaluate, "classify_by_ridge", ridge)
    done = poolwise("tune", made.train, *QUICK, "-o", tmp_path / "best.safetensors")
    assert done.code == 130
    assert "accuracy" in done.out
    assert "interrupted" in done.err
    assert not (tmp_path / "best.safetensors").exists()


def test_pixels_without_data_reach_the_model_and_the_fit_line(made, three_classes, poolwise, tmp_path):
    images, labels = three_classes["train"]
    images = images.astype(np.float32)
    images[::4, :, 20:] = np.nan
    np.savez(tmp_path / "x.npz", x_train=images, y_train=labels)
    words = ("tune", tmp_path / "x.npz", "--member", "x_train", *QUICK[:2], "--trials", "2", "--jobs", "1", "--quiet")
    refused = poolwise(*words)
    assert refused.code == 3
    assert "--nodata nan" in refused.err
    done = poolwise(*words, "--nodata", "nan", "-o", tmp_path / "best.safetensors", "--json")
    assert done.code == 0, done.err
    line = shlex.split(json.loads(done.out)["fit"])
    line[line.index("best.safetensors")] = str(tmp_path / "again.safetensors")
    assert poolwise(*line[1:], "--patches", "3000", "--jobs", "1", "--quiet").code == 0
    one, other = load(tmp_path / "best.safetensors"), load(tmp_path / "again.safetensors")
    assert one[0].nodata == "nan"
    np.testing.assert_array_equal(one[1].coef_, other[1].coef_)


@pytest.fixture
def table(made, three_classes, tmp_path):
    """A .csv of the training files with a column of numbers."""
    paths = sorted((made.home / "train").rglob("*.png"))
    rows = [(str(path), f"{np.asarray(Image.open(path)).mean():.3f}") for path in paths]
    with (tmp_path / "tiles.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "biomass"), *rows])
    return tmp_path / "tiles.csv"


def test_numbers_are_predicted_by_r2(table, poolwise, tmp_path):
    done = poolwise("tune", table, "--target", "biomass", *QUICK, "-o", tmp_path / "best.safetensors")
    assert done.code == 0, done.err
    assert done.out.split()[0] == "R²"
    assert "without a classifier" in done.err
    assert not hasattr(load(tmp_path / "best.safetensors"), "steps")


def test_numbers_that_are_none_are_errors(table, poolwise):
    text = table.read_text().splitlines()
    for value, message in (("much", "not a number"), ("nan", "no finite number"), ("", "line 2 has nothing in the column")):
        table.write_text("\n".join([text[0], text[1].rpartition(",")[0] + f",{value}", *text[2:]]))
        done = poolwise("tune", table, "--target", "biomass", *QUICK)
        assert done.code == 3
        assert message in done.err
    assert "no column 'mass'" in poolwise("tune", table, "--target", "mass", *QUICK).err


def test_images_without_labels_or_with_one(made, poolwise, tmp_path):
    np.savez(tmp_path / "x.npz", x_train=np.zeros((9, 16, 16, 3), np.uint8))
    done = poolwise("tune", tmp_path / "x.npz", *QUICK)
    assert done.code == 3
    assert "no labels" in done.err
    assert "one folder per class" in done.err
    np.savez(tmp_path / "y.npz", x_train=np.zeros((9, 16, 16, 3), np.uint8), y_train=np.zeros(9, int))
    assert "one label" in poolwise("tune", tmp_path / "y.npz", "--member", "x_train", *QUICK).err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--report", "x.html"), "give that too"),
        (("--target", "biomass"), "names a column of a .csv file"),
        (("-o", "x.txt"), ".safetensors"),
        (("--plot", "x.txt"), ".png"),
        (("--trials", "0"), "--trials"),
        (("--seconds", "0"), "--seconds"),
        (("--codes", "0"), "--codes"),
    ],
)
def test_usage_is_checked_before_any_work(made, poolwise, more, message):
    done = poolwise("tune", made.train, *more)
    assert done.code == 2
    assert message in done.err


def test_help_has_examples(poolwise):
    assert "poolwise tune photos/train" in poolwise("tune", "--help").out
