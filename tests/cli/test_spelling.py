"""Errors of the library name its parameters; a command spells them as its own options."""

import re
import shutil

import numpy as np
import pytest
from PIL import Image

from poolwise.cli import command as group
from poolwise.cli.spelling import in_options, speller
from poolwise.method.recipe import FAMILIES, PARAMETERS
from poolwise.support.parameters import NAME, Example, ParameterError

from small import QUICK, described, write_pngs


def spell(name, key, value=NAME):
    """How a command spells one parameter."""
    return speller(group.get_command(None, name))(key, value)


KEYS = {one.key: one.option for one in described().values()}


@pytest.mark.parametrize("key", KEYS)
def test_every_described_parameter_is_called_by_its_option(key):
    assert spell("fit", key) == KEYS[key]


@pytest.mark.parametrize("place", [place for place in FAMILIES if place in described()])
def test_the_word_of_a_part_is_called_by_its_familys_option(place):
    for part in FAMILIES[place].parts:
        if part.word_field is not None:
            assert spell("fit", f"{part.__name__}.{part.word_field}") == PARAMETERS[place].option


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("n_codes", 5, "--codes 5"),
        ("n_candidates", None, "--candidates none"),
        ("n_super_patches", None, "--super-patches none"),
        ("Patches.contrast", None, "--contrast none"),
        ("whitening", None, "--whitening none"),
        ("scale", "cell", "--scale cell"),
        ("KMeans.tol", 1e-4, "--tol 0.0001"),
        ("Patches.size", 6, "--patch-size 6"),
        ("Patches.size", (6, 8), "--patch-size 6x8"),
        ("Pool.grid", 2, "--grid 2"),
        ("Pool.grid", [1, (2, 3), 4], "--grid 1,2x3,4"),
        ("resize", (32, 48), "--resize 32x48"),
        ("resize", Example("(height, width)", "HEIGHTxWIDTH"), "--resize HEIGHTxWIDTH"),
        ("Threshold.two_sided", True, "--two-sided"),
        ("Threshold.two_sided", False, "--one-sided"),
        ("Threshold.two_sided", NAME, "--two-sided"),
        ("crop", True, "--crop"),
        ("crop", False, "--no-crop"),
        ("grey", True, "--grey"),
        ("grey", False, "--colour"),
        ("member", NAME, "--member"),
        ("columns", ("file", "species"), "--columns file,species"),
        ("columns", ("file", None), "--columns file"),
        ("max_pixels", 64_000_000, "--max-pixels 64000000"),
        ("random_state", NAME, "--seed"),
        ("n_jobs", 3, "--jobs 3"),
        ("image_shape", None, "image_shape=None"),
    ],
)
def test_values_are_written_as_behind_the_option(key, value, expected):
    assert spell("fit", key, value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fit", "--classifier none"),
        ("plan", "`poolwise fit --classifier none`"),
        ("evaluate", "`poolwise predict`"),
        ("report", "--no-labels"),
        ("transform", "labels=None"),
    ],
)
def test_each_command_has_its_own_way_to_go_without_labels(name, expected):
    assert spell(name, "labels", None) == expected


@pytest.mark.parametrize("name", ["transform", "predict", "evaluate", "report", "datasets"])
def test_a_parameter_that_is_not_an_option_of_the_command_stays_as_in_python(name):
    assert spell(name, "n_codes", 5) == "n_codes=5"
    assert spell(name, "Patches.size", (6, 8)) == "Patches(size=(6, 8))"


@pytest.mark.parametrize("name", ["transform", "predict", "evaluate", "report", "card"])
def test_pixels_without_data_are_a_matter_of_the_model(made, poolwise, tmp_path, name):
    assert spell(name, "nodata", "nan") == "--nodata of `poolwise fit`"
    if name == "predict":
        np.save(tmp_path / "x.npy", np.full((3, 32, 32, 3), np.nan, np.float32))
        done = poolwise(name, made.model, tmp_path / "x.npy", "--quiet")
        assert (done.code, "leave them out with --nodata of `poolwise fit`" in done.err) == (3, True)


def test_only_parameters_of_the_error_are_spelled():
    command = group.get_command(None, "fit")
    error = ParameterError("{n_codes} of {scale}, n_codes and {nothing}", n_codes=5, scale=None)
    assert in_options(error, command) == "--codes 5 of --scale none, n_codes and {nothing}"
    assert in_options(ValueError("n_codes=5"), command) == "n_codes=5"


@pytest.fixture
def mixed(made, tmp_path):
    """Folders of classes, and an image beside them."""
    shutil.copytree(made.test, tmp_path / "mixed")
    shutil.copy(next((tmp_path / "mixed" / "cat").iterdir()), tmp_path / "mixed" / "a.png")
    return tmp_path / "mixed"


@pytest.fixture
def unequal(made, tmp_path):
    """Half of the images larger than the others."""
    shutil.copytree(made.test, tmp_path / "unequal")
    for number in range(20):
        Image.new("RGB", (40, 30)).save(tmp_path / "unequal" / "page" / f"z{number}.png")
    return tmp_path / "unequal"


@pytest.fixture
def call(made, poolwise, tmp_path):
    """Call a command on images: its line on stderr, without parameters of Python in it."""

    def one(name, images, *more, code=3):
        before = {"fit": [], "plan": []}.get(name, [made.model])
        output = {"fit": "m.safetensors", "transform": "f.npy", "predict": "p.csv", "report": "r.html"}.get(name)
        after = {"fit": QUICK, "plan": ("--sizes", "2,3,4", "--runs", "1", "--no-candidates", "--quiet")}.get(
            name, ("--quiet",)
        )
        done = poolwise(name, *before, images, *(["-o", tmp_path / output] if output else []), *after, *more)
        assert (done.code, done.out) == (code, ""), done
        assert not re.search(r"\w=\S|Patches|\(height, width\)|max_pixels", done.err), done.err
        return done.err

    return one


READERS = ["fit", "plan", "transform", "predict", "evaluate", "report"]


@pytest.mark.parametrize("name", READERS)
class TestReading:
    def test_other_sizes(self, call, name, unequal):
        assert "give --resize HEIGHTxWIDTH, and --crop to keep proportions" in call(name, unequal)

    def test_too_many_of_other_sizes(self, call, name, unequal):
        err = call(name, unequal, "--on-error", "skip")
        assert "too many of its 50 files" in err
        assert "give --resize HEIGHTxWIDTH, and --crop to keep proportions" in err

    def test_arrays_to_choose_from(self, call, name, tmp_path):
        np.savez(tmp_path / "x.npz", x_train=np.zeros((2, 8, 8)), x_test=np.zeros((2, 8, 8)))
        assert "but 'x_train', 'x_test'; choose with --member" in call(name, tmp_path / "x.npz")

    def test_columns_of_a_table(self, call, name, tmp_path):
        (tmp_path / "x.csv").write_text("file,kind\na.png,cat\n")
        assert "name those of paths and labels with --columns PATH,LABEL" in call(name, tmp_path / "x.csv")

    def test_files_of_too_many_pixels(self, call, made, name):
        assert "32×32 pixels exceed --max-pixels 1000" in call(name, made.test, "--max-pixels", "1000").replace(",", "")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("fit", "--classifier none"),
        ("plan", "`poolwise fit --classifier none`"),
        ("evaluate", "`poolwise predict`"),
        ("report", "--no-labels"),
    ],
)
class TestLabels:
    def test_images_beside_folders(self, call, mixed, name, instead):
        assert f"move the former into folders too, or use {instead} to take all without labels" in call(name, mixed)

    def test_labels_of_another_length(self, call, three_classes, tmp_path, name, instead):
        np.savez(tmp_path / "x.npz", x=three_classes["test"][0], y=np.zeros(3))
        assert f"labels of shape (3,) for 30 images; expected (30,); use {instead} to go without" in call(
            name, tmp_path / "x.npz"
        )


@pytest.mark.parametrize("name", ["fit", "plan"])
class TestRecipe:
    """What shows itself only once the images are known."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--patch-size", "40"], "are smaller than the patch of 40×40"),
            (["--patch-size", "6x40"], "are smaller than the patch of 6×40"),
            (["--patch-size", "40"], "give a smaller --patch-size"),
            (["--grid", "30"], "Give a coarser grid, or a smaller --patch-size or --stride"),
            (["--grey", "--patch-size", "1"], "a larger --patch-size, or --contrast none"),
        ],
    )
    def test_parts_that_do_not_fit_the_images(self, call, made, name, arguments, message):
        assert message in call(name, made.train, *arguments)

    def test_too_few_different_patches(self, call, tmp_path, name):
        images = np.zeros((20, 12, 12, 3), np.uint8)
        images[:, 5:, 5:] = 200
        write_pngs(tmp_path / "flat", images, np.repeat(["a", "b"], 10))
        many = ["--codes", "60"] if name == "fit" else ["--sizes", "60,70,80"]
        assert "a larger --patches, or fewer codes" in call(name, tmp_path / "flat", *many)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--codes", "9", "--candidates", "5"], "--codes 9 codes cannot be selected from --candidates 5"),
        (["--patches", "3"], "--patches 3 patches cannot give --codes 200 different codes"),
        (["--candidates", "400", "--patches", "300"], "--patches 300 patches cannot give --candidates 400 different codes"),
        (
            ["--scale", "cell", "--super-patches", "50", "--candidates", "400"],
            "--scale cell standardises each cell of the grid by itself, and a super-patch belongs to no cell; give "
            "--super-patches none, or one scale for all cells",
        ),
        (["--stride", "0"], "--stride must be a whole number of at least 1; got 0"),
        (["--contrast-offset", "-1"], "--contrast-offset must be a finite number of at least 0; got -1"),
        (["--whitening-offset", "inf"], "--whitening-offset must be a finite number"),
        (["--scale-offset", "nan"], "--scale-offset must be a finite number"),
        (["--max-iter", "0"], "--max-iter must be a whole number of at least 1"),
        (["--super-patches", "1"], "--super-patches must be a whole number of at least 2"),
        (["--gamma", "-1"], "--gamma must be a finite number"),
    ],
)
def test_what_contradicts_itself_is_a_usage_error(made, poolwise, tmp_path, arguments, message):
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *arguments)
    assert (done.code, done.out) == (2, "")
    assert f"Error: {message}" in done.err
