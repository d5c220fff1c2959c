"""`poolwise transform`: the numbers of the library, in files of two kinds."""

import csv
import json

import numpy as np
import pytest

from poolwise import load
from poolwise.images import open_images


def test_npy_holds_what_the_library_computes(made, poolwise, tmp_path):
    done = poolwise("transform", made.chosen, made.test, "-o", tmp_path / "f.npy", "--quiet")
    assert (done.code, done.err) == (0, "")
    features = np.load(tmp_path / "f.npy")
    assert features.dtype == np.float32
    assert np.array_equal(features, load(made.chosen)[0].transform(open_images(made.test)))


def test_csv_has_names_and_paths_and_loses_nothing(made, poolwise, tmp_path):
    assert poolwise("transform", made.features, made.test, "-o", tmp_path / "f.csv").code == 0
    with (tmp_path / "f.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    images, model = open_images(made.test), load(made.features)
    assert header == ["path", *model.get_feature_names_out()]
    assert [row[0] for row in rows] == images.names
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), model.transform(images))


def test_never_all_features_at_once(made, poolwise, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.method.extraction._BYTES_PER_BLOCK", 1 << 16)
    monkeypatch.setattr("poolwise.estimators.PooledFeatures.transform", None)  # gives all of them
    assert poolwise("transform", made.features, made.test, "-o", tmp_path / "f.npy").code == 0
    assert len(np.load(tmp_path / "f.npy")) == 30


def test_json_is_one_object(made, poolwise, tmp_path):
    done = poolwise("transform", made.model, made.test, "-o", tmp_path / "f.npy", "--json")
    assert json.loads(done.out) == {"output": str(tmp_path / "f.npy"), "images": 30, "features": 32, "skipped": 0}


def test_size_and_colour_are_taken_from_the_model(made, poolwise, tmp_path):
    assert poolwise("transform", made.resized, made.test, "-o", tmp_path / "f.npy").code == 0
    source = open_images(made.test, resize=(24, 20), crop=True, grey=True)
    assert np.array_equal(np.load(tmp_path / "f.npy"), load(made.resized)[0].transform(source))


def test_explicit_options_win(made, poolwise, tmp_path):
    assert poolwise("transform", made.resized, made.test, "-o", tmp_path / "f.npy", "--no-crop").code == 0
    source = open_images(made.test, resize=(24, 20), grey=True)
    assert np.array_equal(np.load(tmp_path / "f.npy"), load(made.resized)[0].transform(source))


def test_labels_do_not_matter(made, poolwise, tmp_path, three_classes):
    np.savez(tmp_path / "d.npz", x=three_classes["test"][0], y=np.zeros(2))
    assert poolwise("transform", made.model, tmp_path / "d.npz", "-o", tmp_path / "f.npy").code == 0


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("f.txt", "f.txt does not end in .npy or .csv; for shards give NAME.zarr"),
        ("no/f.npy", "No such file"),
        ("no/shards", "is not a folder"),
    ],
)
def test_outputs_that_cannot_be(made, poolwise, tmp_path, monkeypatch, output, message):
    monkeypatch.chdir(tmp_path)
    done = poolwise("transform", made.model, made.test, "-o", output)
    assert done.code == 2
    assert message in done.err


def test_a_disk_that_is_too_full_is_reported_before_work(made, poolwise, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 100}))
    done = poolwise("transform", made.model, made.test, "-o", tmp_path / "f.npy")
    assert done.code == 2
    assert "needs 3.8 kB, but there are 100 bytes free" in done.err
