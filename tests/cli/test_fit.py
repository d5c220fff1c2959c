"""`poolwise fit`: its options, what it saves, and what it refuses before it works."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from poolwise import KMeans, Pool, PooledFeatures, load
from poolwise.cli.commands import fit as fit_command
from poolwise.cli.parameters import given, set_given
from poolwise.images import open_images
from poolwise.images.decoding import MAX_PIXELS
from poolwise.method.presets import PRESETS
from poolwise.method.recipe import FAMILIES
from poolwise.method.selection import WAYS
from poolwise.modelfile import describe

from settings import paper_features
from small import QUICK, described

FIT = described()


def written(*arguments):
    """Parameters of PooledFeatures that a command line sets."""
    ctx = fit_command.command.make_context("fit", ["images", "-o", "m.safetensors", *arguments])
    return given(ctx, dict(ctx.params))


def option_of(name):
    """The option that sets a parameter."""
    (option,) = [option for option in fit_command.command.params if option.name == name]
    return option


def estimator(preset, *arguments):
    """The estimator that `poolwise fit` fits for a command line."""
    features = PooledFeatures() if preset is None else PooledFeatures.preset(preset)
    set_given(features, written(*arguments))
    return features


def test_every_parameter_has_an_option():
    options = {option.name for option in fit_command.command.params}
    wanted = set(PooledFeatures().get_params(deep=True)) - {"image_shape", "verbose"}
    wanted -= {"whitening__form", "dictionary__method", "pooling__how", "scale__form"}  # the word of a part
    assert wanted - options == set()
    of_other_parts = {f"{place}__{one.name}" for place, family in FAMILIES.items() for one in family.described()}
    assert set(FIT) == (wanted | of_other_parts) - {"random_state", "n_jobs"}
    assert "quiet" in options


def test_what_is_not_written_does_not_override():
    assert written() == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--patch-size", "6"], {"descriptor__size": 6}),
        (["--patch-size", "6x8"], {"descriptor__size": (6, 8)}),
        (["--grid", "3"], {"pooling__grid": 3}),
        (["--grid", "2x3"], {"pooling__grid": (2, 3)}),
        (["--grid", "1,2,4"], {"pooling__grid": [1, 2, 4]}),
        (["--grid", "1", "--grid", "2x3"], {"pooling__grid": [1, (2, 3)]}),
        (["--grid", "auto"], {"pooling__grid": "auto"}),
        (["--contrast", "none"], {"descriptor__contrast": None}),
        (["--whitening", "none"], {"whitening": None}),
        (["--scale", "none"], {"scale": None}),
        (["--projection", "none"], {"projection": None}),
        (["--candidates", "none"], {"n_candidates": None}),
        (["--candidates", "64"], {"n_candidates": 64}),
        (["--candidates", "auto"], {"n_candidates": "auto"}),
        (["--super-patches", "500"], {"n_super_patches": 500}),
        (["--two-sided"], {"encoder__two_sided": True}),
        (["--one-sided"], {"encoder__two_sided": False}),
        (["--alpha", "0.5"], {"encoder__alpha": 0.5}),
        (["--alpha", "0.25,1"], {"encoder__alpha": (0.25, 1.0)}),
        (["--rank", "54"], {"whitening__rank": 54}),
        (["--rank", "auto"], {"whitening__rank": "auto"}),
        (["--rank", "none"], {"whitening__rank": None}),
        (["--symmetry", "mirror"], {"symmetry": "mirror"}),
        (["--symmetry", "none"], {"symmetry": None}),
        (["--normalize", "power"], {"pooling__normalize": "power"}),
        (["--normalize", "none"], {"pooling__normalize": None}),
    ],
)
def test_what_is_written(arguments, expected):
    assert written(*arguments) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("selection", ("auto", *WAYS)),
        ("projection", ("nystrom", "pca", None)),
        ("dictionary", ("kmeans", "centroids", "spherical", "omp1", "patches", "gaussian", "online", "convolutional", "axes")),
        ("encoder", ("auto", "threshold", "triangle", "nearest", "llc", "omp", "lasso", "linear")),
        ("pooling", ("auto", "average", "max", "sum", "rms", "both", "second_order", "both_orders", "max_products")),
        ("symmetry", ("auto", "mirror", "dihedral", None)),
        ("dictionary__init", ("patches", "noise")),
        ("descriptor__contrast", ("std", "variance", None)),
        ("whitening", ("std", "variance", None)),
        ("scale", ("shared", "cell", None)),
    ],
)
def test_choices_are_those_of_the_library(name, values):
    option = option_of(name)
    assert list(option.type.choices) == ["none" if value is None else value for value in values]
    for word, value in zip(option.type.choices, values, strict=True):
        expected = PooledFeatures().set_params(**{name: value})
        if name == "pooling" and isinstance(FAMILIES[name].check(name, value), Pool):
            expected.set_params(pooling__grid="auto")  # an option changes the default part, a word replaces it
        assert estimator(None, option.opts[0], word).recipe == expected.recipe
    with pytest.raises(ValueError, match="must be one of"):
        _ = PooledFeatures().set_params(**{name: "typo"}).recipe


def test_presets_are_those_of_the_library():
    assert list(option_of("preset").type.choices) == list(PRESETS)


@pytest.mark.parametrize("name", [name for name in FIT if name in PooledFeatures().get_params(deep=True)])
def test_the_default_that_help_shows_is_the_librarys(name):
    option = option_of(name)
    shown = re.search(r"\[default: (.*)\]$", option.help)[1]
    expected = PooledFeatures().get_params(deep=True)[name]
    if option.is_flag and expected == "auto":
        assert shown == "auto"  # either flag takes it away
        return
    assert written(*([f"--{shown}"] if option.is_flag else [option.opts[0], shown])) == {name: expected}
    assert PooledFeatures().set_params(**{name: expected}).recipe == PooledFeatures().recipe


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--dictionary", "kmeans"], {"dictionary": KMeans("kmeans", init="noise", max_iter=50, tol=0.0)}),
        (
            ["--dictionary", "spherical", "--tol", "0.1"],
            {"dictionary": KMeans("spherical", init="noise", max_iter=50, tol=0.1)},
        ),
        (["--max-iter", "7"], {"dictionary": KMeans("omp1", init="noise", max_iter=7, tol=0.0)}),
        (["--alpha", "0.5"], {"encoder__alpha": 0.5}),
        (["--encoder", "threshold"], {}),
        (["--encoder", "triangle"], {"encoder": "triangle"}),
        (["--pool", "max"], {"pooling": Pool("max", grid=2)}),
        (["--grid", "4"], {"pooling": Pool("sum", grid=4)}),
        (["--scale", "shared"], {"scale__form": "shared"}),
        (["--whitening", "std"], {"whitening__form": "std"}),
        (["--whitening", "none"], {"whitening": None}),
        (["--contrast", "std"], {"descriptor__contrast": "std"}),
    ],
)
def test_a_change_of_a_preset_keeps_its_other_values(arguments, expected):
    assert estimator("coates2011", *arguments).recipe == PooledFeatures.preset("coates2011", **expected).recipe


def test_options_may_come_in_any_order():
    several = [("--tol", "0.1"), ("--dictionary", "omp1"), ("--grid", "3"), ("--pool", "max"), ("--max-iter", "7")]
    one, other = (
        estimator("coates2011", *(word for pair in pairs for word in pair)).recipe for pairs in (several, several[::-1])
    )
    assert one == other
    assert one.dictionary == KMeans("omp1", init="noise", max_iter=7, tol=0.1)


def test_the_largest_image_is_that_of_the_library():
    assert option_of("max_pixels").default == MAX_PIXELS


def test_the_model_is_that_of_the_library(made, three_classes):
    images, labels = three_classes["train"]
    source = open_images(made.train)
    expected = paper_features(8, 24, n_patches=3000, dictionary=KMeans(max_iter=5), random_state=0).fit(source)
    pipeline = load(made.chosen)
    assert np.array_equal(pipeline[0].transform(images), expected.transform(images))
    assert pipeline.score(images, labels) > 0.8


def test_presets_and_changes_reach_the_estimator(made, poolwise, tmp_path):
    done = poolwise(
        *("fit", made.train, "-o", tmp_path / "m.safetensors", "--preset", "coates2011", "--codes", "8", "--patches", "3000"),
        *("--max-iter", "5", "--pool", "max", "--grid", "1,2", "--seed", "7", "--classifier", "none", "--jobs", "1", "--quiet"),
    )
    assert done.code == 0, done.err
    model = load(tmp_path / "m.safetensors")
    changed = {
        "n_codes": 8,
        "n_patches": 3000,
        "dictionary__max_iter": 5,
        "pooling": Pool("max", grid=[1, 2]),
        "random_state": 7,
    }
    assert model.get_params() == PooledFeatures.preset("coates2011", **changed).get_params()


def test_json_is_one_object_and_quiet_is_quiet(made, poolwise, tmp_path):
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, "--json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert {"images": 60, "codes": 8, "candidates": None, "features": 32, "classes": 3}.items() <= told.items()
    accuracy, error = told["held_out"]
    assert 1 / 3 < accuracy <= 1
    assert error == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / 60))
    assert told["bytes"] == os.path.getsize(tmp_path / "m.safetensors")


def test_progress_goes_to_stderr_and_the_result_to_stdout(made, poolwise, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK[:-1])
    assert "PooledFeatures dictionary" in done.err
    assert "3 classes" in done.out
    assert "dictionary" not in done.out


def test_provenance_and_what_is_not_remembered(made):
    told = describe(made.resized).provenance
    assert {"images": 60, "seed": 0, "resize": "24x20", "crop": True, "grey": True, "skipped": 0}.items() <= told.items()
    assert told["source"] == made.train
    assert told["command"].startswith("poolwise fit ")
    parameters = describe(made.resized).parameters
    assert (parameters["n_jobs"], parameters["verbose"]) == (None, 0)


@pytest.mark.parametrize(("classifier", "name"), [("svm", "LinearSVM"), ("cv", "LinearSVMCV")])
def test_classifiers(made, poolwise, tmp_path, classifier, name):
    assert poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, "--classifier", classifier).code == 0
    assert describe(tmp_path / "m.safetensors").classifier["estimator"] == name


def test_without_options_gamma_is_searched_where_images_suffice_and_with_a_preset_it_is_the_papers(made, poolwise, tmp_path):
    path, few = tmp_path / "m.safetensors", tmp_path / "few"
    for folder in Path(made.train).iterdir():
        (few / folder.name).mkdir(parents=True)
        for file in sorted(folder.iterdir())[:4]:
            shutil.copy(file, few / folder.name)
    found = {}
    for name, images, more in (("cv", made.train, ()), ("few", few, ()), ("preset", made.train, ("--preset", "jia2012"))):
        done = poolwise("fit", images, "-o", path, *QUICK, *more)
        assert (done.code, done.err) == (0, "")
        found[name] = describe(path).classifier["estimator"], describe(path).classifier["fitted"]["gamma"]
        assert ("held out" in done.out) == (name == "cv")
    assert [estimator for estimator, _ in found.values()] == ["LinearSVMCV", "LinearSVM", "LinearSVM"]
    assert found["preset"][1] == 0.005
    assert found["few"][1] != 0.005


def test_gamma_and_slim_reach_the_file(made, poolwise, tmp_path):
    more = ("--gamma", "0.1", "--slim", "--candidates", "16")
    assert poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *more).code == 0
    description = describe(tmp_path / "m.safetensors")
    assert description.is_slim
    assert description.n_candidates == 16
    assert description.classifier["fitted"]["gamma"] == 0.1


def test_images_without_labels_give_features_alone(made, poolwise, tmp_path):
    assert poolwise("fit", f"{made.train}/cat", "-o", tmp_path / "m.safetensors", *QUICK).code == 0
    assert describe(tmp_path / "m.safetensors").kind == "features"


def test_arrays_and_tables(made, poolwise, tmp_path, three_classes):
    images, labels = three_classes["train"]
    np.savez(tmp_path / "d.npz", x_train=images, y_train=labels, x_test=images[:3], y_test=labels[:3])
    table = "\n".join(["file,kind", *(f"{made.train}/{name},{name.split('/')[0]}" for name in open_images(made.train).names)])
    (tmp_path / "t.csv").write_text(table)
    sources = [("d.npz", "--member", "x_train"), ("t.csv", "--columns", "file,kind")]
    for source, *how in sources:
        assert poolwise("fit", tmp_path / source, *how, "-o", tmp_path / "m.safetensors", *QUICK).code == 0
        assert np.array_equal(load(tmp_path / "m.safetensors")[0].codes_, load(made.model)[0].codes_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--codes", "0"], "--codes must be a whole number of at least 1; got 0"),
        (["--codes", "9", "--candidates", "5"], "--codes 9 codes cannot be selected from --candidates 5"),
        (["--patches", "3"], "--patches 3 patches cannot give --codes"),
        (["--two-sided", "--encoder", "nearest"], "--two-sided is for --encoder auto or threshold or llc or "),
        (["--encoder", "vq"], "'vq' is not one of"),
        (["--transform", "pca"], "No such option"),
        (["--tol", "nan"], "--tol must be a finite number of at least 0; got nan"),
        (["--patch-size", "six"], "'six' is not a size"),
        (["--patch-size", "0"], "'0' is not a size"),
        (["--grid", "2,2"], "--grid must be at least one grid and, in a pyramid, each a different one"),
        (["--grid", ""], "is not a size"),
        (["--grid", "auto,2"], "'auto' is not a size"),
        (["--grid", "2", "--grid", "auto"], "--grid auto cannot be combined with other grids"),
        (
            ["--pool", "second_order", "--grid", "auto"],
            "--grid must be a whole number, (rows, columns), or a list of these; got",
        ),
        (["--candidates", "many"], "'many' is not a valid integer, nor 'auto' or 'none'"),
        (["--nodata", "missing"], "'missing' is not a valid float, nor 'nan' or 'none'"),
        (["--resize", "32y"], "height x width"),
        (["--jobs", "0"], "0 threads"),
        (["--seed", "-1"], "not in the range"),
        (["--pool", "mean"], "'mean' is not one of"),
        (["--gamma", "0"], "--gamma must be"),
        (["--gamma", "1", "--classifier", "cv"], "--gamma 1 is for --classifier svm"),
        (["--member", "x"], "chooses an array of a .npz file"),
        (["--columns", "a,b"], "are those of a .csv file"),
        (["--skipped", "s.csv"], "--on-error skip"),
        (["--resize", "9000x9000"], "is more than --max-pixels"),
        (["--rank", "0"], "--rank must be a whole number of at least 1, or 'auto'; got 0"),
        (["--rank", "few"], "'few' is not a valid integer"),
        (["--alpha", "0.25,0.25"], "--alpha must be a number, or 1 to 16 different ones"),
        (["--alpha", "0.25,"], "'' is not a valid float"),
        (["--normalize", "root"], "--normalize is for --pool second_order or both_orders; got --pool auto"),
        (
            ["--codes", "8", "--candidates", "16", "--selection", "supervised", "--super-patches", "99"],
            "--selection supervised looks at whole images with their labels; give --super-patches none",
        ),
        (["--mirror-training", "--classifier", "none"], "--mirror-training is for the classifier; got --classifier none"),
        (["--mirror-training", "--symmetry", "mirror"], "with --symmetry mirror an image and its mirror image have the same"),
        (["--mirror-training", "--symmetry", "dihedral"], "so --mirror-training gains nothing; leave out one of the two"),
        (["-o", "m.pt"], "does not end in .safetensors"),
        (["-o", "no/such/folder.safetensors"], "cannot be written: No such file or directory"),
        (["-o", "a" * 300 + ".safetensors"], "cannot be written: File name too long"),
        (["-o", "/proc/m.safetensors"], "cannot be written"),
        (["-o", "."], "is a directory"),
    ],
)
def test_usage_is_checked_before_work(made, poolwise, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("poolwise.images.open_images", None)  # whoever gets there fails
    done = poolwise("fit", made.train, "-o", "m.safetensors", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert os.listdir(tmp_path) == []


def test_the_output_is_not_the_input(made, poolwise, tmp_path):
    (tmp_path / "x.npz").write_bytes(b"")
    os.link(tmp_path / "x.npz", tmp_path / "m.safetensors")
    done = poolwise("fit", tmp_path / "x.npz", "-o", tmp_path / "m.safetensors")
    assert done.code == 2
    assert "is also what is read" in done.err


def test_a_warning_is_one_clean_line(made, poolwise, tmp_path, three_classes):
    np.save(tmp_path / "x.npy", three_classes["train"][0] / np.float32(255))  # 0..1
    done = poolwise("fit", tmp_path / "x.npy", "-o", tmp_path / "m.safetensors", *QUICK)
    assert done.code == 0
    assert done.err.startswith("poolwise: warning: ")
    assert done.err.count("\n") == 1
    assert ".py" not in done.err
