"""The command as a user runs it: in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from poolwise import PooledFeatures
from poolwise.cli import main
from poolwise.datasets import load_photos
from poolwise.report import draw_clusters

POOLWISE = [sys.executable, "-m", "poolwise"]


def poolwise(*arguments, cwd):
    return subprocess.run([*POOLWISE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_demo_prints_a_table_and_writes_the_picture(tmp_path):
    done = poolwise("demo", "--runs", "1", "--trials", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ (paper: .+?|default|tuned) +│ +([\d.]+) %", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == ["paper: K-means", "paper: PDL", "paper: PDL, projected", "default", "tuned"]
    kmeans, _, projected, usual, _ = (float(accuracy) for _, accuracy in rows)
    assert kmeans > 50  # chance is 6 %
    assert projected > kmeans + 2
    assert usual > projected + 2
    for word in ("16 codes", "of 128 candidates", "of 4 trials", "images/s", "poolwise-demo.png"):
        assert word in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("tuned ")) < 100
    assert len(done.stderr.splitlines()) <= 24  # a screen
    picture = Image.open(tmp_path / "poolwise-demo.png")
    assert picture.format == "PNG"
    pixels = np.asarray(picture).astype(int)
    assert np.ptp(pixels) == 255
    assert np.ptp(pixels, axis=2).max() > 100  # colour contrasts
    assert list(tmp_path.iterdir()) == [tmp_path / "poolwise-demo.png"]


def test_json_is_one_object_on_stdout_and_quiet_is_quiet(tmp_path):
    asked = ["demo", "--json", "--quiet", "--codes", "3", "--trials", "0", "-o", "[c].png"]
    run = poolwise(*asked, "--runs", "1", cwd=tmp_path)
    result = json.loads(run.stdout)
    assert run.stderr == ""
    assert (result["codes"], result["candidates"], result["runs"]) == (3, 24, 1)
    assert result["picture"] == "[c].png"
    for one in result["methods"]:
        assert len(one["accuracies"]) == 1
        assert one["features"] == 12 or not one["name"].startswith("paper")
        assert {"name", "accuracy", "accuracy_std", "images_per_second", "learn_seconds"} <= set(one)


def test_the_picture_is_that_of_the_library(tmp_path):
    quick = ["--codes", "2", "--runs", "1", "--trials", "0", "--seed", "3", "--quiet", "--json"]
    assert main(["demo", *quick, "-o", str(tmp_path / "d.png")]) == 0
    model = PooledFeatures.preset("jia2012", n_codes=2, n_candidates=16, n_patches=100_000, random_state=3)
    drawn = draw_clusters(model.fit(load_photos(subset="train").images))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "d.png")), np.asarray(drawn))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--codes", "0"], "0 is not in the range"),
        (["demo", "--codes", "200000"], "200000 is not in the range"),
        (["demo", "--codes", "many"], "not a valid integer"),
        (["demo", "--runs", "0"], "0 is not in the range"),
        (["demo", "--jobs", "0"], "0 threads"),
        (["demo", "-o", "codes.gif"], "does not end in .png"),
        (["demo", "-o", "no/such/folder.png"], "no/such/folder.png cannot be written: No such file or directory"),
        (["demo", "-o", "/proc/codes.png"], "/proc/codes.png cannot be written"),
        (["demo", "-o", "a" * 300 + ".png"], "cannot be written: File name too long"),
        (["demo", "extra"], "unexpected extra argument"),
        (["dream"], "No such command 'dream'"),
        (["--colour"], "No such option"),
    ],
)
def test_a_users_mistake_is_usage_without_a_traceback(tmp_path, arguments, message):
    done = poolwise(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_closed_streams_are_no_error(tmp_path):
    line = f'"{sys.executable}" -m poolwise demo --save-images photos >&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "photos" / "train").is_dir()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["demo", "--help"], ["--version"]])
def test_help_is_there_and_loads_nothing_heavy(tmp_path, arguments):
    code = (
        f"import sys; from poolwise.cli import main; main({arguments!r})\n"
        "print([m for m in ('numba', 'sklearn', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "poolwise" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def test_ctrl_c_gives_130_and_no_file(tmp_path):
    process = subprocess.Popen(
        [*POOLWISE, "demo", "--codes", "500"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    for line in process.stderr:
        if "paper's method" in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_error(tmp_path):
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen([*POOLWISE, "--help"], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err == ""


def test_the_installed_command_is_the_module(tmp_path):
    scripts = os.path.dirname(sys.executable)
    done = subprocess.run([os.path.join(scripts, "poolwise"), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == poolwise("--version", cwd=tmp_path).stdout


def test_the_photos_as_folders(tmp_path, capsys):
    assert main(["demo", "--save-images", str(tmp_path / "photos"), "--quiet"]) == 0
    photos = load_photos(subset="test")
    files = sorted((tmp_path / "photos/test").rglob("*.png"), key=lambda path: path.name)
    assert [path.parent.name for path in files] == [photos.target_names[label] for label in photos.target]
    with Image.open(files[7]) as image:
        np.testing.assert_array_equal(np.asarray(image), photos.images[7])
    assert len(list((tmp_path / "photos/train").rglob("*.png"))) == len(load_photos(subset="train").images)
    assert main(["demo", "--save-images", str(tmp_path / "photos")]) == 2
    assert "cannot be made: File exists" in capsys.readouterr().err
