"""Warnings of the library in the words of the command that was called, each once."""

import json

import numpy as np
import pytest
from PIL import Image

from poolwise import LinearSVM, PooledFeatures, load
from poolwise.cli.output import clean_warnings
from poolwise.support.parameters import ParameterWarning
from poolwise.support.warning import warn_user

from small import QUICK, QUICK_GRID, QUICK_PLAN


@pytest.fixture
def few(photos, tmp_path):
    """16 labelled photos in a file, two of each of eight classes."""
    np.savez(tmp_path / "few.npz", x=photos[:80:5], y=np.repeat(np.arange(8), 2))
    return tmp_path / "few.npz"


@pytest.fixture
def tiny(photos, tmp_path):
    """Of 8×8 pixels, ten of each of four classes."""
    np.savez(tmp_path / "tiny.npz", x=photos[:40, :8, :8], y=np.repeat(np.arange(4), 10))
    return tmp_path / "tiny.npz"


@pytest.mark.parametrize("more", [("--gamma", "1e-4"), ("--preset", "jia2012", "--gamma", "1e-4")])
def test_fit_warns_of_a_small_gamma_in_its_options(few, poolwise, tmp_path, more):
    done = poolwise("fit", few, "-o", tmp_path / "m.safetensors", *QUICK_GRID, *more, "--grid", "3")
    (line,) = done.err.splitlines()
    assert line.startswith("poolwise: warning: a gamma of 0.0001 is far too small for 16 samples with 72 features each")
    assert "--gamma auto would be " in line
    assert "use --classifier cv, which" in line


def test_gamma_auto_is_an_option(few, poolwise, tmp_path):
    done = poolwise("fit", few, "-o", tmp_path / "m.safetensors", *QUICK, "--gamma", "auto", "--json")
    assert (done.code, done.err) == (0, "")
    model = load(tmp_path / "m.safetensors")
    images = np.load(few)
    assert json.loads(done.out)["gamma"] == LinearSVM().fit(model[0].transform(images["x"]), images["y"]).gamma_
    again = poolwise("fit", few, "-o", tmp_path / "n.safetensors", *QUICK, "--gamma", "auto", "--classifier", "none")
    assert (again.code, "--gamma auto is for --classifier svm; got --classifier none" in again.err) == (2, True)


def test_fit_warns_of_a_fine_grid_in_its_options(tiny, poolwise, tmp_path):
    done = poolwise("fit", tiny, "-o", tmp_path / "m.safetensors", *QUICK, "--classifier", "none")
    (line,) = done.err.splitlines()
    assert "with --grid 2 a cell has 1 to 4 of them" in line
    assert "a smaller --patch-size or --stride" in line


def test_plan_warns_of_a_grid_once(tiny, poolwise):
    done = poolwise("plan", tiny, *QUICK_PLAN, "--sizes", "2,3,4", "--no-candidates", "--predict", "8")
    assert done.code == 0, done.err
    assert done.err.count("a cell has 1 to 4 of them") == 1


def test_tune_tries_fine_grids_without_a_warning(photos, poolwise, tmp_path):
    tiny = tmp_path / "tiny.npz"
    np.savez(tiny, x=photos[:40, 8:11, 8:11], y=np.repeat(np.arange(4), 10))  # no patch has more than one position
    done = poolwise("tune", tiny, "-o", tmp_path / "m.safetensors", "--codes", "4", "--trials", "6", "--quiet", "--jobs", "1")
    assert done.code == 0, done.err
    assert "positions" not in done.err


def test_a_text_is_said_once_and_spelled(capfd):
    with clean_warnings(lambda message: f"<{message}>"):
        for _ in range(2):
            warn_user(ParameterWarning("{n_codes}", n_codes=5))
            warn_user("another")
    assert capfd.readouterr().err == "poolwise: warning: <n_codes=5>\npoolwise: warning: <another>\n"


@pytest.fixture
def damaged(photos, tmp_path):
    """A folder of 20 photos; of a.jpg the EXIF data are cut, in b.tif Pillow's libtiff finds damage that it decodes or not."""
    folder = tmp_path / "damaged"
    folder.mkdir()
    for row, pixels in enumerate(photos[:18]):
        Image.fromarray(pixels).save(folder / f"{row}.png")
    Image.fromarray(photos[18]).save(folder / "a.jpg", exif=b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01")
    Image.fromarray(photos[19]).save(folder / "b.tif", compression="tiff_lzw")
    content = bytearray((folder / "b.tif").read_bytes())
    with Image.open(folder / "b.tif") as image:
        (start,) = image.tag_v2[273]
    content[start + 40 : start + 60] = b"\xff" * 20
    (folder / "b.tif").write_bytes(content)
    return folder


def test_decoders_name_the_file_and_write_nothing_by_themselves(damaged, poolwise, tmp_path):
    options = [one for one in QUICK if one != "--quiet"]
    fit = ("fit", damaged, "-o", tmp_path / "m.safetensors", *options, "--on-error", "skip")
    lines = poolwise(*fit).err.splitlines()
    assert all(line.startswith("poolwise: ") for line in lines)
    (cut,) = (line for line in lines if "EXIF" in line or "Truncated" in line)
    assert cut.startswith(f"poolwise: warning: {damaged / 'a.jpg'}: ")
    (torn,) = (line for line in lines if "libtiff" in line)
    assert torn.startswith(f"poolwise: warning: {damaged / 'b.tif'}: libtiff: ")
    quiet = poolwise(*fit, "--quiet").err.splitlines()
    assert len(quiet) == 1
    assert "1 of the files cannot be used" in quiet[0]


def test_demo_and_presets_do_not_warn(photos, recwarn):
    X = PooledFeatures.preset("jia2012", n_codes=8, n_patches=3000, random_state=0).fit_transform(photos)
    LinearSVM(None).fit(X, np.repeat(np.arange(16), 10))
    assert [str(one.message) for one in recwarn] == []
