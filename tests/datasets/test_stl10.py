"""STL-10: tiny files of the official layout, read as plain loops would."""

import os

import numpy as np
import pytest
from PIL import Image

from poolwise.datasets import fetch_stl10, stl10
from poolwise.datasets.stl10 import RECORD, decode, found, read_folds, third
from poolwise.images import ImageError

pytestmark = pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
COUNTS = {"train": 5, "test": 4, "unlabeled": 3}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "stl10_binary"


@pytest.fixture
def records(folder, rng):
    """The official files, with few images; the records and labels that are in them."""
    folder.mkdir()
    made = {}
    for part, n in COUNTS.items():
        made[part] = rng.integers(0, 256, (n, RECORD), dtype=np.uint8), rng.integers(1, 11, n, dtype=np.uint8)
        made[part][0].tofile(folder / f"{part}_X.bin")
        if part != "unlabeled":
            made[part][1].tofile(folder / f"{part}_y.bin")
    return made


@pytest.fixture
def few(monkeypatch, records, folder):
    """The data set declared to be as small as our files, with three folds of two."""
    monkeypatch.setattr(stl10, "OFFICIAL", COUNTS)
    monkeypatch.setattr(stl10, "FOLDS", (3, 2))
    (folder / "fold_indices.txt").write_text("0 1 \n2 3 \n4 0 \n")  # the official lines end in a blank


@pytest.fixture
def packed(tmp_path, rng):
    arrays = {
        "x_train": rng.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8),
        "y_train": np.arange(5, dtype=np.uint8),
        "x_test": rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8),
        "y_test": np.arange(4, dtype=np.uint8),
        "fold_indices": np.array([[0, 1], [2, 3], [4, 0]], np.int16),
    }
    np.savez(tmp_path / "stl10_32.npz", **arrays)
    return arrays


def test_pixels_are_those_that_a_plain_loop_finds(records):
    rows = records["test"][0][:1]
    image = decode(rows, 96)[0]
    for colour in range(3):
        for x in range(96):
            for y in range(96):
                assert image[y, x, colour] == rows[0, 96 * 96 * colour + 96 * x + y]


def test_blocks_do_not_matter(records, monkeypatch):
    whole = decode(records["train"][0], 32)
    monkeypatch.setattr(stl10, "_IMAGES_PER_BLOCK", 2)
    told = []
    np.testing.assert_array_equal(decode(records["train"][0], 32, lambda done, note="": told.append(done)), whole)
    assert told == [2, 4, 5]


def test_a_third_is_pillows_box_filter_to_the_bit_and_the_mean_up_to_one(records):
    images = decode(records["train"][0], 96)
    small = third(images)
    for image, ours in zip(images, small, strict=True):
        np.testing.assert_array_equal(ours, np.asarray(Image.fromarray(image).resize((32, 32), Image.Resampling.BOX)))
        for y in range(32):
            for x in range(32):
                mean = image[3 * y : 3 * y + 3, 3 * x : 3 * x + 3].reshape(9, 3).mean(axis=0)
                assert (np.abs(ours[y, x] - mean) <= 1).all()


def test_white_and_black_stay(records):
    for value in (0, 255):
        assert (third(np.full((1, 6, 6, 3), value, np.uint8)) == value).all()


@pytest.mark.parametrize("size", [32, 96])
def test_a_bunch_of_each_subset(tmp_path, few, records, size):
    for subset, parts in {"train": ["train"], "test": ["test"], "all": ["train", "test"]}.items():
        bunch = fetch_stl10(data_home=tmp_path, subset=subset, size=size)
        np.testing.assert_array_equal(bunch.images, np.concatenate([decode(records[part][0], size) for part in parts]))
        np.testing.assert_array_equal(bunch.target, np.concatenate([records[part][1].astype(int) - 1 for part in parts]))
        assert bunch.is_train.tolist() == [part == "train" for part in parts for _ in range(COUNTS[part])]
        assert bunch.target_names.tolist() == list(stl10.NAMES)
        assert ("folds" in bunch) == ("train" in parts)


def test_unlabelled_images_have_the_label_minus_one(tmp_path, few, records):
    images, target = fetch_stl10(data_home=tmp_path, subset="unlabeled", return_X_y=True, verbose=False)
    np.testing.assert_array_equal(images, decode(records["unlabeled"][0], 32))
    assert target.tolist() == [-1, -1, -1]


def test_folds_are_rows_of_the_training_images(tmp_path, few):
    assert fetch_stl10(data_home=tmp_path).folds.tolist() == [[0, 1], [2, 3], [4, 0]]


def test_an_incomplete_training_set_has_no_folds_and_says_so(tmp_path, few, records, folder):
    records["train"][0][:2].tofile(folder / "train_X.bin")
    records["train"][1][:2].tofile(folder / "train_y.bin")
    with pytest.warns(UserWarning, match="holds 2 train STL-10 images, the official data set 5"):
        assert fetch_stl10(data_home=tmp_path).folds is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n2 3\n", "expected 3 folds of 2"),
        ("0 1\n2 3\n4\n", "expected 3 folds of 2"),
        ("0 1\n2 3\n4 5\n", r"its numbers are 0..5, expected 0..4"),
        ("0 1\n2 3\n-1 4\n", r"its numbers are -1..4, expected 0..4"),
        ("0 1\n2 3\n4 x\n", "something else than whole numbers"),
        ("0 1\n2 3\n4 99999999999999999999\n", "something else than whole numbers"),
    ],
)
def test_damaged_folds_are_refused(folder, few, text, message):
    (folder / "fold_indices.txt").write_text(text)
    with pytest.raises(ImageError, match=f"fold_indices.txt: .*{message}"):
        read_folds(folder / "fold_indices.txt")


@pytest.mark.parametrize("name", ["train_X.bin", "train_y.bin"])
def test_a_missing_file_is_named_and_nothing_is_downloaded_over_the_folder(tmp_path, few, folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing, though"):
        fetch_stl10(data_home=tmp_path)
    assert os.listdir(tmp_path) == ["stl10_binary"]
    assert len(fetch_stl10(data_home=tmp_path, subset="test").images) == 4


def test_a_truncated_file_is_refused_by_name(tmp_path, few, folder):
    (folder / "test_X.bin").write_bytes(bytes(RECORD + 5))
    with pytest.raises(ImageError, match=r"test_X.bin: .* not whole records of 27,648"):
        fetch_stl10(data_home=tmp_path, subset="test")


def test_labels_of_another_number_are_refused(tmp_path, few, folder):
    (folder / "test_y.bin").write_bytes(b"\1\2\3")
    with pytest.raises(ImageError, match=r"test_y.bin: it has 3 labels for the 4 images of test_X.bin"):
        fetch_stl10(data_home=tmp_path, subset="test")


@pytest.mark.parametrize("label", [0, 11])
def test_a_label_out_of_range_is_refused_by_name(tmp_path, few, folder, label):
    (folder / "test_y.bin").write_bytes(bytes([1, 10, label, 1]))
    with pytest.raises(ImageError, match=rf"test_y.bin: record 2 has the label {label}, expected 1..10"):
        fetch_stl10(data_home=tmp_path, subset="test")


def test_another_size_is_refused(tmp_path):
    with pytest.raises(ValueError, match="size must be 32 or 96; got 64"):
        fetch_stl10(data_home=tmp_path, size=64)


def test_the_packed_file_serves_without_the_folder(tmp_path, packed, monkeypatch):
    monkeypatch.setattr(stl10, "OFFICIAL", COUNTS)
    monkeypatch.setattr(stl10, "FOLDS", (3, 2))
    bunch = fetch_stl10(data_home=tmp_path, subset="all", download_if_missing=False)
    np.testing.assert_array_equal(bunch.images, np.concatenate([packed["x_train"], packed["x_test"]]))
    assert bunch.target.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert bunch.folds.tolist() == packed["fold_indices"].tolist()


def test_the_packed_file_has_no_originals_and_no_unlabelled_images(tmp_path, packed):
    for asked in ({"size": 96}, {"subset": "unlabeled"}):
        with pytest.raises(FileNotFoundError, match="stl10_binary does not exist"):
            fetch_stl10(data_home=tmp_path, download_if_missing=False, **asked)


def test_complete_official_files_come_before_the_packed_one_and_incomplete_ones_after(tmp_path, few, records, packed, folder):
    official = decode(records["train"][0], 32)
    np.testing.assert_array_equal(fetch_stl10(data_home=tmp_path).images, official)
    records["train"][0][:2].tofile(folder / "train_X.bin")
    np.testing.assert_array_equal(fetch_stl10(data_home=tmp_path).images, packed["x_train"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_train": np.zeros((5, 16, 16, 3), np.uint8)}, "images of shape"),
        ({"x_train": np.zeros((5, 32, 32, 3))}, "of float64"),
        ({"y_train": np.zeros(4, np.uint8)}, "labels for 5 images"),
        ({"y_train": np.full(5, 10, np.uint8)}, "record 0 has the label 10"),
    ],
)
def test_a_damaged_packed_file_is_refused(tmp_path, packed, change, message):
    np.savez(tmp_path / "stl10_32.npz", **(packed | change))
    with pytest.raises(ImageError, match=f"stl10_32.npz: .*{message}"):
        fetch_stl10(data_home=tmp_path)


def test_it_is_downloaded_if_it_is_missing(tmp_path, server, pack, records, folder, monkeypatch):
    server.content = pack({f"stl10_binary/{p.name}": p.read_bytes() for p in folder.iterdir()})
    monkeypatch.setattr(stl10, "ARCHIVE", server.archive("stl10_binary"))
    assert len(fetch_stl10(data_home=tmp_path / "home", subset="all", verbose=False).images) == 9
    assert len(server.requested) == 1


def test_what_is_found_is_what_is_read(tmp_path, few, records, packed, folder):
    assert found(tmp_path) == {part: (folder, n) for part, n in COUNTS.items()}
    (folder / "test_X.bin").unlink()
    (folder / "unlabeled_X.bin").unlink()
    assert found(tmp_path) == {"train": (folder, 5), "test": (tmp_path / "stl10_32.npz", 4)}
    (tmp_path / "stl10_32.npz").unlink()
    (folder / "train_y.bin").unlink()
    assert found(tmp_path) == {}
