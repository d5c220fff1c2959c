"""CUB-200-2011: a small folder of the official layout."""

import numpy as np
import pytest
from PIL import Image

from poolwise.datasets import cub200, fetch_cub200
from poolwise.datasets.cub200 import bounds, crop, found, read_classes, read_lists
from poolwise.images import ImageError

pytestmark = pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
BOXES = [(10.0, 8.0, 30.0, 20.0), (0.0, 0.0, 60.0, 40.0), (41.0, 21.0, 18.0, 18.0), (5.0, 5.0, 7.0, 9.0)]
TEXTS = {
    "images.txt": "3 001.A/a.png\n4 001.A/b.png\n70 200.Z/c.png\n71 200.Z/d.png\n",
    "image_class_labels.txt": "3 1\n4 1\n70 200\n71 200\n",
    "train_test_split.txt": "3 1\n4 0\n70 0\n71 1\n",
    "bounding_boxes.txt": "".join(f"{i} {' '.join(map(str, box))}\n" for i, box in zip((3, 4, 70, 71), BOXES, strict=True)),
    "classes.txt": "1 001.A\n200 200.Z\n",
}


@pytest.fixture
def pictures(rng):
    return rng.integers(0, 256, (4, 40, 60, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path, pictures):
    folder = tmp_path / "CUB_200_2011"
    for name, text in TEXTS.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for name, picture in zip(("001.A/a", "001.A/b", "200.Z/c", "200.Z/d"), pictures, strict=True):
        path = folder / "images" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    return folder


@pytest.mark.parametrize("box", BOXES)
def test_the_part_holds_every_pixel_that_the_widened_box_touches_and_no_other(box):
    x, y, w, h = box
    left, top, right, bottom = bounds(np.array(box), 40, 60)
    cx, cy = x + w / 2, y + h / 2
    columns = [i for i in range(60) if i + 1 > cx - 0.75 * w and i < cx + 0.75 * w]
    rows = [j for j in range(40) if j + 1 > cy - 0.75 * h and j < cy + 0.75 * h]
    assert list(range(left, right)) == columns
    assert list(range(top, bottom)) == rows


def test_a_part_of_the_wanted_size_keeps_its_pixels(pictures, tmp_path):
    part = crop(tmp_path, pictures[0], np.array([20.0, 12.0, 16.0, 16.0]), 24)
    np.testing.assert_array_equal(part, pictures[0][8:32, 16:40])


@pytest.mark.parametrize(("subset", "rows"), [("train", [0, 3]), ("test", [1, 2]), ("all", [0, 3, 1, 2])])
def test_a_bunch_of_each_subset(tmp_path, folder, pictures, subset, rows):
    bunch = fetch_cub200(data_home=tmp_path, subset=subset, size=16, verbose=False)
    expected = [crop(folder, pictures[row], np.array(BOXES[row]), 16) for row in rows]
    np.testing.assert_array_equal(bunch.images, expected)
    assert bunch.target.tolist() == [[0, 0, 199, 199][row] for row in rows]
    assert bunch.is_train.tolist() == [row in (0, 3) for row in rows]
    assert bunch.data.shape == (len(rows), 768)
    assert bunch.target_names[[0, 1, 199]].tolist() == ["001.A", "002", "200.Z"]


def test_return_X_y(tmp_path, folder):
    X, y = fetch_cub200(data_home=tmp_path, return_X_y=True, verbose=False)
    assert X.shape == (2, 128, 128, 3)
    assert X.dtype == np.uint8
    assert y.tolist() == [0, 199]


def test_grey_files_get_three_channels(tmp_path, folder):
    Image.new("L", (60, 40), 77).save(folder / "images/001.A/a.png")
    assert (fetch_cub200(data_home=tmp_path, size=8, verbose=False).images[0] == 77).all()


def test_fewer_images_than_the_official_ones_are_reported(tmp_path, folder):
    with pytest.warns(UserWarning, match="holds 2 test CUB-200-2011 images, the official data set 5,794") as caught:
        fetch_cub200(data_home=tmp_path, subset="test", verbose=False)
    assert caught[0].filename == __file__


def test_progress_is_shown_on_stderr(tmp_path, folder, capsys, monkeypatch):
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    fetch_cub200(data_home=tmp_path)
    out, err = capsys.readouterr()
    assert out == ""
    assert "decode CUB-200-2011: 1 of 2" in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("images.txt", "", "it is empty"),
        ("images.txt", "3 ../../a.png\n", "leads out of the folder"),
        ("images.txt", "3 /etc/passwd\n", "leads out of the folder"),
        ("images.txt", "3 a\\..\\b.png\n", "leads out of the folder"),
        ("images.txt", "3 a.png\n3 b.png\n", "not a new number and a text"),
        ("images.txt", "three a.png\n", "not a new number and a text"),
        ("images.txt", "3\n", "not a new number and a text"),
        ("image_class_labels.txt", "3 1\n4 1\n70 1\n", "no line for image 71"),
        ("image_class_labels.txt", "3 1\n4 1\n70 0\n71 1\n", "label 0.0, expected 1..200"),
        ("image_class_labels.txt", "3 1\n4 1\n70 201\n71 1\n", "label 201.0, expected 1..200"),
        ("image_class_labels.txt", "3 1\n4 1\n70 1.5\n71 1\n", "label 1.5, expected 1..200"),
        ("image_class_labels.txt", "3 1\n4 1\n70 x\n71 1\n", "image 70 has 'x', expected 1 number"),
        ("train_test_split.txt", "3 1\n4 0\n70 2\n71 1\n", "expected 0 or 1"),
        ("bounding_boxes.txt", "3 1 2 3\n4 1 1 1 1\n70 1 1 1 1\n71 1 1 1 1\n", "image 3 has '1 2 3', expected 4 number"),
        ("bounding_boxes.txt", "3 1 2 3 nan\n4 1 1 1 1\n70 1 1 1 1\n71 1 1 1 1\n", "image 3 has '1 2 3 nan'"),
        ("bounding_boxes.txt", "3 1 2 3 4\n4 1 1 0 1\n70 1 1 1 1\n71 1 1 1 1\n", "image 4 has the impossible box"),
    ],
)
def test_damaged_lists_are_refused_by_name(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(ImageError, match=f"{name}: .*{message}"):
        read_lists(folder)


@pytest.mark.parametrize("name", ["images.txt", "image_class_labels.txt", "train_test_split.txt", "bounding_boxes.txt"])
def test_a_missing_list_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        read_lists(folder)


def test_a_list_that_is_no_text_is_refused(folder):
    (folder / "classes.txt").write_bytes(b"\xff\xfe1")
    with pytest.raises(ImageError, match=r"classes.txt: it is not text"):
        read_classes(folder / "classes.txt")


@pytest.mark.parametrize("content", [None, b"", b"no image"])
def test_a_picture_that_is_missing_or_broken_is_named(tmp_path, folder, content):
    path = folder / "images/200.Z/d.png"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ImageError, match=r"200.Z/d.png: "):
        fetch_cub200(data_home=tmp_path, verbose=False)


def test_a_box_outside_of_its_picture_is_refused(tmp_path, folder):
    (folder / "bounding_boxes.txt").write_text(TEXTS["bounding_boxes.txt"].replace("5.0 5.0", "500.0 5.0"))
    with pytest.raises(ImageError, match=r"200.Z/d.png: the box \[500.0, 5.0, 7.0, 9.0\] .* lies outside"):
        fetch_cub200(data_home=tmp_path, verbose=False)


def test_a_subset_without_images_is_refused(tmp_path, folder):
    (folder / "train_test_split.txt").write_text("3 1\n4 1\n70 1\n71 1\n")
    with pytest.raises(ImageError, match="no images for subset='test'"):
        fetch_cub200(data_home=tmp_path, subset="test")


@pytest.mark.parametrize("size", [0, True, 12.5, "128", 5000])
def test_an_impossible_size_is_refused(tmp_path, size):
    with pytest.raises(ValueError, match="size must be a whole number"):
        fetch_cub200(data_home=tmp_path, size=size)


@pytest.fixture
def packed(tmp_path, rng):
    arrays = {
        "x_train": rng.integers(0, 256, (3, 128, 128, 3), dtype=np.uint8),
        "y_train": np.array([0, 1, 199], np.uint8),
        "x_test": rng.integers(0, 256, (2, 128, 128, 3), dtype=np.uint8),
        "y_test": np.array([5, 6], np.uint8),
        "class_names": np.array([f"{i:03}.bird" for i in range(1, 201)]),
    }
    np.savez(tmp_path / "cub128.npz", **arrays)
    return arrays


def test_the_packed_file_serves_without_the_folder(tmp_path, packed):
    bunch = fetch_cub200(data_home=tmp_path, subset="all", download_if_missing=False)
    np.testing.assert_array_equal(bunch.images, np.concatenate([packed["x_train"], packed["x_test"]]))
    assert bunch.target.tolist() == [0, 1, 199, 5, 6]
    assert bunch.is_train.tolist() == [True] * 3 + [False] * 2
    assert bunch.target_names[199] == "200.bird"


def test_a_complete_folder_comes_before_the_packed_file_and_an_incomplete_one_after(tmp_path, folder, packed, monkeypatch):
    np.testing.assert_array_equal(fetch_cub200(data_home=tmp_path).images, packed["x_train"])
    monkeypatch.setattr(cub200, "OFFICIAL", {"train": 2, "test": 2})
    assert len(fetch_cub200(data_home=tmp_path, verbose=False).images) == 2


def test_another_size_needs_the_folder(tmp_path, packed):
    with pytest.raises(FileNotFoundError, match="CUB_200_2011 does not exist"):
        fetch_cub200(data_home=tmp_path, size=64, download_if_missing=False)


def test_class_names_of_another_kind_are_refused(tmp_path, packed):
    np.savez(tmp_path / "cub128.npz", **(packed | {"class_names": np.arange(200)}))
    with pytest.raises(ImageError, match=r"class_names of shape \(200,\) of int64"):
        fetch_cub200(data_home=tmp_path)


def test_it_is_downloaded_if_it_is_missing(tmp_path, server, pack, folder, monkeypatch):
    files = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    server.content = pack({"attributes.txt": b"as in the official one"} | files)
    monkeypatch.setattr(cub200, "ARCHIVE", server.archive("CUB_200_2011"))
    assert len(fetch_cub200(data_home=tmp_path / "home", subset="all", verbose=False).images) == 4
    assert [p.name for p in (tmp_path / "home").iterdir()] == ["CUB_200_2011"]


def test_what_is_found_is_what_is_read(tmp_path, folder, packed):
    there = found(tmp_path)
    assert there == {part: (tmp_path / "cub128.npz", len(packed[f"x_{part}"])) for part in ("train", "test")}
    (tmp_path / "cub128.npz").unlink()
    assert found(tmp_path) == {"train": (folder, 2), "test": (folder, 2)}
    assert found(tmp_path / "elsewhere") == {}
