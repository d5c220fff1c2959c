"""`poolwise plan`: what it measures, what it predicts, and what it refuses before it works."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from poolwise import KMeans, LinearSVM
from poolwise.cli.commands import plan
from poolwise.cli.names import as_name
from poolwise.cli.reading import Reading
from poolwise.images import open_images
from poolwise.planning.law import fit_law
from poolwise.planning.measuring import hold_out

from settings import paper_features
from small import PARTS_OF_PAPER

SMALL = ("--sizes", "3,6,9", "--predict", "18,36", "--patches", "2000", "--max-iter", "5", *PARTS_OF_PAPER)
QUICK = (*SMALL, "--grid", "2", "--jobs", "1", "--quiet")


def told(poolwise, *arguments):
    grid = () if "--grid" in arguments else ("--grid", "2")
    done = poolwise("plan", *SMALL, *grid, "--jobs", "1", "--quiet", *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def accuracies(result, method=0):
    return [row["accuracies"] for row in result["methods"][method]["rows"] if row["kind"] == "measured"]


def scores(train, test, sizes, seeds, factor=None, **more):
    """The same by the library: (sizes, seeds)."""
    rows = []
    for K in sizes:
        rows.append([])
        for seed in seeds:
            M = factor and factor * K
            model = paper_features(K, M, n_patches=2000, dictionary=KMeans(max_iter=5), random_state=seed, **more).fit(train[0])
            svm = LinearSVM(None).fit(model.transform(train[0]), train[1])
            rows[-1].append(svm.score(model.transform(test[0]), test[1]))
    return rows


@pytest.fixture(scope="module")
def planned(made, tmp_path_factory):
    """One plan with a plot, as JSON and as text."""
    from poolwise.cli import main

    folder = tmp_path_factory.mktemp("plan")
    arguments = ["plan", made.train, "--test", made.test, *QUICK, "-o", str(folder / "plan.png")]
    with (folder / "out").open("w") as out:
        saved, sys.stdout = sys.stdout, out
        try:
            assert main(arguments) == 0
        finally:
            sys.stdout = saved
    return folder


def test_it_measures_what_the_library_measures(made, poolwise, three_classes):
    result = told(poolwise, made.train, "--test", made.test, "--seed", "5", "--selection", "affinity")
    folders = open_images(made.train), open_images(made.test)
    data = [(source[:], source.labels) for source in folders]
    assert accuracies(result, 0) == scores(*data, (3, 6, 9), (5, 6))
    assert accuracies(result, 1) == scores(*data, (3, 6, 9), (5, 6), factor=4)
    assert [method["name"] for method in result["methods"]] == ["K-means", "PDL"]
    assert (result["train_images"], result["test_images"], result["classes"], result["runs"]) == (60, 30, 3, 2)
    assert result["plot"] is None


def test_predictions_are_those_of_the_law_and_cost_grows_in_line(made, poolwise):
    (method,) = told(poolwise, made.train, "--test", made.test, "--no-candidates", "--grid", "3")["methods"]
    rows = method["rows"]
    assert [(row["codes"], row["kind"]) for row in rows] == [
        (3, "measured"),
        (6, "measured"),
        (9, "measured"),
        (18, "predicted"),
        (36, "predicted"),
    ]
    runs = [(row["codes"], accuracy) for row in rows[:3] for accuracy in row["accuracies"]]
    law = fit_law(*zip(*runs, strict=True))
    assert method["law"] == pytest.approx({"a": law.a, "b": law.b, "error": law.error})
    for row in rows[:3]:
        assert row["accuracy"] == pytest.approx(np.mean(row["accuracies"]))
        assert row["accuracy_std"] == pytest.approx(np.std(row["accuracies"], ddof=1))
    for row in rows[3:]:
        assert (row["accuracy"], row["low"], row["high"]) == pytest.approx((law.at(row["codes"]), *law.interval(row["codes"])))
    fixed = method["cost"]["milliseconds"]
    assert rows[4]["milliseconds"] - fixed == pytest.approx(2 * (rows[3]["milliseconds"] - fixed))
    for row in rows:
        assert (row["features"], row["bytes"]) == (9 * row["codes"], 36 * row["codes"])
        assert row["milliseconds"] > 0


def test_held_out_images_follow_from_the_seed_alone(made, poolwise):
    more = ("--no-candidates", "--runs", "1", "--holdout", "0.4")
    one, again, other = (
        told(poolwise, made.train, *more, *last) for last in (("--seed", "1"), ("--seed", "1", "--jobs", "2"), ("--seed", "2"))
    )
    assert (one["train_images"], one["test_images"]) == (36, 24)
    assert accuracies(one) == accuracies(again)
    assert accuracies(one) != accuracies(other)
    source = open_images(made.train)
    learn, held = hold_out(source.labels, 0.4, np.random.default_rng(1))
    images, labels = source[:], source.labels
    assert accuracies(one) == scores((images[learn], labels[learn]), (images[held], labels[held]), (3, 6, 9), (1,))


def test_arrays_and_tables(made, poolwise, three_classes, tmp_path):
    (x, y), (x_test, y_test) = three_classes["train"], three_classes["test"]
    np.savez(tmp_path / "data.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    data = str(tmp_path / "data.npz")
    more = ("--no-candidates", "--runs", "1")
    array = told(poolwise, data, "--member", "x_train", "--test", data, "--test-member", "x_test", *more)
    with (tmp_path / "list.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "kind"])
        writer.writerows([str(path), path.parent.name] for path in sorted(Path(made.train).rglob("*.png")))
    table = told(poolwise, tmp_path / "list.csv", "--columns", "file,kind", "--test", made.test, *more)
    folder = told(poolwise, made.train, "--test", made.test, *more)
    assert accuracies(table) == accuracies(folder) == accuracies(array)


def test_a_data_set_may_be_named_in_either_place(made, poolwise, tmp_path):
    folder = Reading(Path(made.train))
    photos = replace(folder, images=Path("photos:train"), named=as_name(Path("photos"), "train"))
    assert str(plan._test_reading(folder, Path("photos"), None).named) == "photos:test"
    assert plan._test_reading(photos, Path(made.test), None) == replace(folder, images=Path(made.test))
    done = poolwise("plan", "photos", "--test", made.test, *QUICK, "--no-candidates", "--runs", "1", "--member", "x")
    assert done.code == 2
    assert "photos:train is a part of a data set" in done.err


def test_text_shows_what_was_measured_and_what_was_predicted(planned):
    text = (planned / "out").read_text()
    lines = text.splitlines()
    measured = re.findall(r"^(?:K-means|PDL)? +([\d,]+) +[\d.]+ % ± [\d.]+ +measured ", text, re.MULTILINE)
    predicted = re.findall(r"^ +([\d,]+) +-?[\d.]+ % \(-?[\d.]+ to [\d.]+\) *predicted ", text, re.MULTILINE)
    assert measured == ["3", "6", "9"] * 2
    assert predicted == ["18", "36"] * 2
    assert max(len(line) for line in lines[:12]) <= 80
    for words in ("of 2 runs", "60 images to learn from, 30 to test on", "K^(−1/4)", "if it holds", "plan.png"):
        assert words in text


def test_the_plot_is_a_picture_and_nothing_else_is_written(planned):
    with Image.open(planned / "plan.png") as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 800
    assert set(os.listdir(planned)) == {"out", "plan.png"}


def test_doubts_are_warnings_on_stderr_and_in_json(made, poolwise):
    done = poolwise("plan", made.train, "--test", made.test, *QUICK, "--no-candidates", "--json")
    warnings = json.loads(done.out)["warnings"]
    assert any("30 images to test on" in text for text in warnings)
    assert done.err.splitlines() == [f"poolwise: warning: {text}" for text in warnings]


def test_progress_is_shown_on_stderr(made, poolwise, monkeypatch):
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    done = poolwise("plan", made.train, *QUICK[:-1], "--no-candidates", "--runs", "1")
    assert "plan dictionaries: " in done.err
    assert "plan " not in done.out


def test_a_size_that_was_measured_is_not_predicted(made, poolwise):
    result = told(poolwise, made.train, "--no-candidates", "--runs", "1", "--predict", "9,18,18")
    assert [row["codes"] for row in result["methods"][0]["rows"]] == [3, 6, 9, 18]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "10,20"], "at least three different sizes; got 10, 20"),
        (["--sizes", "10,10,10"], "at least three different sizes"),
        (["--sizes", "0,1,2"], "not a list of whole numbers above 0"),
        (["--sizes", "5,many"], "not a list of whole numbers above 0"),
        (["--predict", ""], "not a list of whole numbers above 0"),
        (["--holdout", "0"], "0.0 is not in the range"),
        (["--holdout", "1"], "1.0 is not in the range"),
        (["--holdout", "0.5", "--test", "there"], "with --test there there is none"),
        (["--test-member", "x"], "chooses an array of --test"),
        (["--test", "there", "--test-member", "x"], "; there is not one"),
        (["--runs", "0"], "0 is not in the range"),
        (["--jobs", "0"], "0 threads"),
        (["--gamma", "-1"], "--gamma must be a finite number"),
        (
            ["--patches", "50", "--sizes", "5,10,20"],
            "--patches 50 patches cannot give 80 different codes, as --sizes 20 with 4",
        ),
        (["--patches", "50", "--sizes", "5,10,60", "--no-candidates"], "60 different codes, as --sizes 60 needs"),
        (["--patch-size", "none"], "is not a size"),
        (["--alpha", "-1"], "--alpha must be a finite number"),
        (["-o", "plan.gif"], "does not end in .png"),
        (["-o", "no/such/plan.png"], "cannot be written"),
        (["--codes", "5"], "No such option"),
        (["--no-candidates", "--selection", "supervised"], "--selection is about candidates, and --no-candidates learns none"),
        (["--no-candidates", "--projection", "none"], "--projection is about candidates"),
        (["--no-candidates", "--gamma", "most"], "'most' is not a valid float"),
    ],
)
def test_a_users_mistake_is_usage(made, poolwise, arguments, message):
    done = poolwise("plan", made.train, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_features_of_second_order_are_those_of_a_fit(made, poolwise):
    more = ("--pool", "second_order", "--alpha", "0.25,1", "--symmetry", "mirror", "--directions", "60", "--grid", "1")
    result = told(poolwise, made.train, "--runs", "1", "--no-candidates", "--predict", "18", *more)
    rows = result["methods"][0]["rows"]
    assert [row["features"] for row in rows] == [21, 60, 60, 60]  # 6 · 7 / 2 products of 3 codes, then the directions
    assert [row["bytes"] for row in rows] == [84, 240, 240, 240]


def test_codes_whose_features_do_not_fit_into_memory_are_refused(made, poolwise, monkeypatch):
    monkeypatch.setattr("poolwise.support.memory.physical_bytes", lambda: 60_000)
    arguments = (
        "plan",
        made.train,
        "--test",
        made.test,
        "--pool",
        "second_order",
        "--grid",
        "1",
        "--no-candidates",
        "--runs",
        "1",
    )
    quick = ("--patches", "2000", "--max-iter", "5", "--quiet")
    done = poolwise(*arguments, *quick, "--sizes", "3,6,30")
    assert (done.code, done.out) == (2, "")
    assert "--sizes 30 gives 465 features, and to learn from those of 60 images takes 126.0 kB" in done.err
    assert "give smaller --sizes or --directions" in done.err
    done = poolwise(*arguments, *quick, "--sizes", "3,6,9", "--predict", "12,40")
    assert (done.code, done.out) == (2, "")
    assert "--predict 40 gives 820 features" in done.err
    done = poolwise(*arguments, *quick, "--sizes", "3,6,9", "--json")  # the default predictions
    assert {row["kind"] for row in json.loads(done.out)["methods"][0]["rows"]} == {"measured"}
    assert "left out: --predict 400 gives 80,200 features" in done.err


def test_a_gamma_too_small_for_the_features_is_one_warning(made, poolwise):
    more = ("--pool", "second_order", "--no-candidates", "--runs", "1", "--sizes", "6,12,18", "--gamma")
    small, auto = (poolwise("plan", made.train, *QUICK, *more, gamma).err for gamma in ("1e-5", "auto"))
    assert small.count("gamma is far too small") == 1
    assert "from 12 codes on, gamma is far too small for 45 images" in small
    assert "gamma" not in auto


def test_the_way_that_codes_are_chosen_is_named(made, poolwise):
    done = poolwise("plan", made.train, *QUICK, "--runs", "1", "--selection", "supervised")
    assert "the codes of PDL by supervised selection" in done.out


def flat(made, home):
    shutil.copytree(Path(made.train) / "cat", home / "flat")
    return [home / "flat"]


def one_class(made, home):
    shutil.copytree(Path(made.train) / "cat", home / "one" / "cat")
    return [home / "one"]


def mixed(made, home):
    shutil.copytree(made.train, home / "mixed")
    shutil.copy(next((home / "mixed" / "cat").iterdir()), home / "mixed")
    return [home / "mixed"]


def singles(made, home):
    for name in ("cat", "page"):
        (home / "singles" / name).mkdir(parents=True)
        shutil.copy(next((Path(made.train) / name).iterdir()), home / "singles" / name)
    return [home / "singles"]


def other_class(made, home):
    shutil.copytree(Path(made.test) / "cat", home / "other" / "dog")
    return [made.train, "--test", home / "other"]


def other_shape(made, home):
    np.savez(home / "grey.npz", x=np.zeros((3, 20, 20), np.uint8), y=np.array(["cat", "grass", "page"]))
    return [made.train, "--test", home / "grey.npz"]


def unlabelled_test(made, home):
    return [made.train, "--test", *flat(made, home)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (flat, "it has no labels, and accuracy cannot be measured without"),
        (one_class, "all its images have one label, 'cat'"),
        (mixed, "move the former into folders too"),
        (singles, "every class has one image alone"),
        (other_class, "does not know the label 'dog'"),
        (other_shape, "20×20 pixels with 1 channel, but those to learn from 32×32 pixels with 3 channels"),
        (unlabelled_test, "it has no labels to compare with"),
        (lambda made, home: [home / "nothing"], "there is no such file or folder"),
        (lambda made, home: [made.train, "--test", home / "nothing"], "there is no such file or folder"),
    ],
)
def test_data_that_cannot_be_planned_with(made, poolwise, tmp_path, make, message):
    done = poolwise("plan", *make(made, tmp_path), *QUICK)
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert "labels=None" not in done.err


def test_without_matplotlib_a_plot_is_a_usage_error_and_a_plan_is_none(made, tmp_path):
    arguments = ["plan", made.train, *QUICK, "--no-candidates", "--runs", "1"]
    code = "import sys; sys.modules['matplotlib'] = None\nfrom poolwise.cli import main; sys.exit(main(sys.argv[1:]))"
    drawn, plain = (
        subprocess.run(
            [sys.executable, "-c", code, *arguments, *more], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        for more in (["-o", "plan.png"], [])
    )
    assert drawn.returncode == 2
    assert "pip install 'poolwise[report]'" in drawn.stderr
    assert "Traceback" not in drawn.stderr
    assert plain.returncode == 0, plain.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("page", ["docs/tour.md", "docs/plan.md"])
def test_commands_of_the_pages_are_ones_that_there_are(page):
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    lines = re.findall(r"^ *(poolwise plan .*)$", text, re.MULTILINE)
    assert lines
    for line in lines:
        plan.command.make_context("plan", shlex.split(line)[2:])
