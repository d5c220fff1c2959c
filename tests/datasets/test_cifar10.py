"""CIFAR-10: tiny files of the official layout, read as plain loops would."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from poolwise.datasets import cifar10, fetch_cifar10
from poolwise.datasets.cifar10 import FILES, RECORD, found, read_batches
from poolwise.images import ImageError

from serving import write_batches

pytestmark = pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cifar-10-batches-bin"


@pytest.fixture
def records(folder, rng):
    return write_batches(folder, rng)


def test_pixels_and_labels_are_those_that_a_plain_loop_finds(folder, records):
    images, labels = read_batches([folder / "data_batch_2.bin", folder / "test_batch.bin"])
    rows = [*records["data_batch_2.bin"], *records["test_batch.bin"]]
    for image, label, row in zip(images, labels, rows, strict=True):
        assert label == row[0]
        for colour in range(3):
            for y in range(32):
                for x in range(32):
                    assert image[y, x, colour] == row[1 + 1024 * colour + 32 * y + x]


def test_it_is_a_bunch_as_scikit_learns(tmp_path, records):
    bunch = fetch_cifar10(data_home=tmp_path)
    assert isinstance(bunch, Bunch)
    assert bunch.images.shape == (15, 32, 32, 3)
    assert bunch.images.dtype == np.uint8
    assert bunch.images.flags.c_contiguous
    assert bunch.target.dtype == np.int64
    assert bunch.target_names.tolist() == list(cifar10.NAMES)
    assert "CIFAR-10" in bunch.DESCR
    np.testing.assert_array_equal(bunch.data, bunch.images.reshape(15, 3072))


def test_subsets_are_the_parts_of_the_whole(tmp_path, records):
    whole, train, test = (fetch_cifar10(data_home=tmp_path, subset=s) for s in ("all", "train", "test"))
    np.testing.assert_array_equal(whole.images[whole.is_train], train.images)
    np.testing.assert_array_equal(whole.images[~whole.is_train], test.images)
    np.testing.assert_array_equal(whole.target, [*train.target, *test.target])


def test_return_X_y(tmp_path, records):
    X, y = fetch_cifar10(data_home=tmp_path, subset="test", return_X_y=True)
    assert X.shape == (3, 32, 32, 3)
    assert y.shape == (3,)


def test_the_variable_names_the_folder(tmp_path, records, monkeypatch):
    monkeypatch.setenv("POOLWISE_DATA", str(tmp_path))
    assert len(fetch_cifar10(download_if_missing=False).images) == 15


def test_the_test_images_do_not_need_the_training_files(tmp_path, folder, records):
    for name in FILES["train"]:
        (folder / name).unlink()
    assert len(fetch_cifar10(data_home=tmp_path, subset="test").images) == 3
    with pytest.raises(FileNotFoundError, match=r"data_batch_1.bin is missing, though"):
        fetch_cifar10(data_home=tmp_path)


def test_fewer_images_than_the_official_ones_are_reported(tmp_path, records):
    with pytest.warns(UserWarning, match="holds 3 test images, the official data set 10,000") as caught:
        fetch_cifar10(data_home=tmp_path, subset="test")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("length", [0, 1, RECORD - 1, 2 * RECORD + 1])
def test_a_truncated_file_is_refused_by_name(tmp_path, folder, records, length):
    (folder / "data_batch_4.bin").write_bytes(bytes(length))
    with pytest.raises(ImageError, match=r"data_batch_4.bin: .* not whole records of 3,073"):
        fetch_cifar10(data_home=tmp_path)


def test_a_label_out_of_range_is_refused_by_name(tmp_path, folder, records):
    rows = records["test_batch.bin"].copy()
    rows[1, 0] = 10
    (folder / "test_batch.bin").write_bytes(rows.tobytes())
    with pytest.raises(ImageError, match=r"test_batch.bin: record 1 has the label 10, expected 0..9"):
        fetch_cifar10(data_home=tmp_path, subset="test")


def test_names_come_from_the_file_if_it_is_there(tmp_path, folder, records):
    (folder / "batches.meta.txt").write_text("".join(f"class {i}\n" for i in range(10)) + "\n")  # the official one ends so
    assert fetch_cifar10(data_home=tmp_path).target_names[9] == "class 9"
    (folder / "batches.meta.txt").write_text("one\ntwo\n")
    with pytest.raises(ImageError, match="names 2 classes, expected 10"):
        fetch_cifar10(data_home=tmp_path)


def test_it_is_downloaded_if_it_is_missing(tmp_path, server, pack, rng, monkeypatch):
    write_batches(tmp_path / "made", rng)
    server.content = pack({f"cifar-10-batches-bin/{p.name}": p.read_bytes() for p in (tmp_path / "made").iterdir()})
    monkeypatch.setattr(cifar10, "ARCHIVE", server.archive("cifar-10-batches-bin"))
    assert len(fetch_cifar10(data_home=tmp_path / "home", subset="all", verbose=False).images) == 18
    assert len(fetch_cifar10(data_home=tmp_path / "home", verbose=False).images) == 15
    assert len(server.requested) == 1


def test_what_is_found_is_what_is_read(tmp_path, folder, records):
    assert found(tmp_path) == {"train": (folder, 15), "test": (folder, 3)}
    (folder / "data_batch_3.bin").unlink()
    assert found(tmp_path) == {"test": (folder, 3)}
    assert found(tmp_path / "elsewhere") == {}
