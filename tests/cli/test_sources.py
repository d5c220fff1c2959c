"""IMAGES of the commands: several files of an image, one and several files, parts of a MedMNIST archive."""

import csv
import json

import numpy as np
import pytest
import tifffile
from PIL import Image

from poolwise.modelfile import describe

from small import QUICK


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def plate(tmp_path, three_classes):
    """A table with the three colours of photos as three files each."""
    images, labels = (part[::2] for part in three_classes["train"])
    lines = ["r,g,b,kind"]
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        names = [f"{colour}{number}.tif" for colour in "rgb"]
        for name, plane in zip(names, image.transpose(2, 0, 1), strict=True):
            tifffile.imwrite(tmp_path / name, plane)
        lines.append(",".join([*names, str(label)]))
    (tmp_path / "plate.csv").write_text("\n".join(lines))
    return tmp_path / "plate.csv"


def test_a_table_of_several_files_is_fitted_evaluated_and_predicted(poolwise, plate, tmp_path):
    model = tmp_path / "m.safetensors"
    done = poolwise("fit", plate, "--columns", "r+g+b,kind", "-o", model, *QUICK)
    assert done.code == 0, done.err
    description = describe(model)
    assert description.layer.image_shape == (32, 32, 3)
    assert description.provenance["columns"] == "r+g+b,kind"
    done = poolwise("evaluate", model, plate, "--json", "--quiet")  # as the model was fitted
    assert done.code == 0, done.err
    assert json.loads(done.out)["images"] == 30
    plate.write_text(plate.read_text().replace("kind", "unknown"))
    done = poolwise("predict", model, plate, "--quiet")  # needs no labels
    assert [row["path"] for row in rows_of(done.out)] == [f"r{number}.tif" for number in range(30)]
    turned = poolwise("predict", model, plate, "--columns", "b+g+r", "--quiet")
    assert turned.code == 0
    assert turned.out != done.out
    done = poolwise("transform", model, plate, "--columns", "r+g", "-o", tmp_path / "x.npy", "--quiet")
    assert done.code == 3
    assert "32×32 pixels with 2 channels, but the model was fitted on images of 32×32 pixels with 3 channels" in done.err
    done = poolwise("predict", model, plate.parent / "r0.tif", "--quiet")  # one of an image's three files
    assert (done.code, done.out) == (3, "")
    assert "each was in several files: give a table of their paths with --columns r+g+b,kind" in done.err


@pytest.mark.parametrize("columns", ["r++b,kind", "+,kind", "r+r,kind", "r+kind,kind", ",kind"])
def test_columns_that_name_nothing_or_one_twice_are_usage_errors(poolwise, plate, columns):
    done = poolwise("fit", plate, "--columns", columns, "-o", "m.safetensors")
    assert done.code == 2
    assert repr(columns) in done.err


def test_files_that_do_not_fit_are_named(poolwise, plate, tmp_path):
    tifffile.imwrite(tmp_path / "g3.tif", np.zeros((31, 32), np.uint8))
    done = poolwise("fit", plate, "--columns", "r+g+b,kind", "-o", tmp_path / "m.safetensors", *QUICK)
    assert done.code == 3
    assert "g3.tif: 31×32 pixels, but " in done.err
    assert "r3.tif, another file of the same image, has 32×32; check that they belong together, or give --resize" in done.err
    done = poolwise("fit", plate, "--columns", "r+g+b,kind", "-o", tmp_path / "m.safetensors", *QUICK, "--on-error", "skip")
    assert done.code == 0, done.err
    (left_out,) = rows_of((tmp_path / "m.skipped.csv").read_text())
    assert left_out["path"] == "r3.tif"
    assert left_out["reason"].startswith(f"{tmp_path / 'g3.tif'}: 31×32 pixels")


def test_one_and_several_files_are_predicted_as_in_their_folder(poolwise, made, tmp_path):
    files = [f"{made.test}/cat/{number:05}.png" for number in range(3)]
    whole = {row["path"]: row for row in rows_of(poolwise("predict", made.model, made.test, "--quiet").out)}
    for given in (files, files[1:2], files[::-1]):
        done = poolwise("predict", made.model, *given, "--quiet")
        assert done.code == 0, done.err
        found = rows_of(done.out)
        assert [row.pop("path") for row in found] == given
        assert found == [{key: value for key, value in whole[f"cat/{name[-9:]}"].items() if key != "path"} for name in given]


def test_several_files_are_transformed_as_a_model_remembers(poolwise, made, tmp_path):
    files = [f"{made.test}/cat/{number:05}.png" for number in range(3)]
    assert poolwise("transform", made.resized, *files, "-o", tmp_path / "x.npy").code == 0
    assert poolwise("transform", made.resized, f"{made.test}/cat", "-o", tmp_path / "y.npy").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.load(tmp_path / "y.npy")[:3])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("folder", "several IMAGES must be image files, but folder is a folder; give it alone"),
        ("x.npz", "several IMAGES must be image files, but x.npz is an array, list or table"),
        ("t.csv", "t.csv is an array, list or table"),
        ("cifar10:test", "cifar10:test is a data set"),
    ],
)
def test_files_and_other_sources_are_not_mixed(poolwise, made, tmp_path, monkeypatch, other, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    Image.new("RGB", (32, 32)).save("a.png")
    for given in (("a.png", other), (other, "a.png")):
        done = poolwise("predict", made.model, *given)
        assert done.code == 2
        assert message in done.err


def test_what_is_wrong_with_files_is_said(poolwise, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (32, 32)).save("a.png")
    Image.new("RGB", (30, 32)).save("b.png")
    done = poolwise("predict", made.model, "a.png", "gone.png")
    assert (done.code, done.out) == (3, "")
    assert "gone.png: there is no such file" in done.err
    done = poolwise("predict", made.model, "a.png", "b.png")
    assert done.code == 3
    assert "b.png: 32×30 pixels, but the first image, a.png, has 32×32; give --resize HEIGHTxWIDTH" in done.err
    done = poolwise("predict", made.model, "a.png", "b.png", "-o", "b.png", "--format", "csv")
    assert done.code == 2
    assert "b.png is also what is read" in done.err
    assert "--columns are those of a .csv file" in poolwise("predict", made.model, "a.png", "b.png", "--columns", "x").err
    assert poolwise("predict", made.model).code == 2
    assert poolwise("evaluate", made.model, "a.png", "a.png").code == 2


def test_parts_of_a_medmnist_archive_are_chosen_by_their_names(poolwise, three_classes, tmp_path):
    arrays = {}
    for part in ("train", "test"):
        images, labels = three_classes[part]
        arrays |= {f"{part}_images": images, f"{part}_labels": np.unique(labels, return_inverse=True)[1][:, None].astype("u1")}
    np.savez(tmp_path / "photosmnist.npz", **arrays)
    model = tmp_path / "m.safetensors"
    assert poolwise("fit", tmp_path / "photosmnist.npz", "--member", "train", "-o", model, *QUICK).code == 0
    done = poolwise("evaluate", model, tmp_path / "photosmnist.npz", "--member", "test", "--json", "--quiet")
    assert done.code == 0, done.err
    assert json.loads(done.out)["images"] == 30
    done = poolwise("evaluate", model, tmp_path / "photosmnist.npz")
    assert done.code == 3
    assert "nothing that shows which are the images in it, but 'train_images', 'train_labels'" in done.err


def test_addresses_are_fitted_and_predicted_as_folders(poolwise, made, tmp_path):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    for name in ("train", "test"):
        memory.put(getattr(made, name), f"/cli/{name}", recursive=True)
    model = tmp_path / "m.safetensors"
    done = poolwise("fit", "memory://cli/train", "-o", model, *QUICK)
    assert done.code == 0, done.err
    assert describe(model).provenance["source"] == "memory://cli/train"
    expected = poolwise("predict", made.model, made.test, "--quiet").out
    assert poolwise("predict", model, "memory://cli/test", "--quiet").out == expected
    assert poolwise("predict", model, f"file://{made.test}", "--quiet").out == expected
    done = poolwise("transform", model, "memory://cli/test", "-o", tmp_path / "shards", "--json", "--quiet")
    assert json.loads(done.out)["images"] == 30
    assert (
        json.loads(poolwise("transform", model, "memory://cli/test", "-o", tmp_path / "shards", "--json").out)["written"] == 0
    )
    for where, reason in (("memory://cli/none.png", "no such file at this address"), ("odd://x", "opens no odd://")):
        done = poolwise("predict", model, where, "--quiet")
        assert (done.code, reason in done.err) == (3, True)
    assert poolwise("predict", model, "file://host/x").code == 2
    memory.pipe("/cli/test/cat/00000.png", b"no image")
    assert poolwise("predict", model, "memory://cli/test", "--quiet").code == 3
    done = poolwise("predict", model, "memory://cli/test", "--quiet", "--on-error", "skip")
    assert (done.code, "left out: cat/00000.png" in done.err) == (0, True)
    memory.rm("/cli", recursive=True)
