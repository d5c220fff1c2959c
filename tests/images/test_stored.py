"""Arrays, .npy and .npz: nothing is unpickled, nothing is guessed."""

import io
import zipfile

import numpy as np
import pytest

from poolwise.images import ImageError, open_images
from poolwise.images.stored import npz_shapes


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, size=(6, 5, 4, 3), dtype=np.uint8)


def objects():
    return np.array([{"a": 1}, None, [1, 2]], dtype=object)


def test_an_array_is_itself(images):
    source = open_images(images)
    assert (source.shape, source.dtype, source.ndim, len(source)) == (images.shape, np.uint8, 4, 6)
    assert source.names == range(6)
    assert source.labels is None
    assert np.shares_memory(source[1:3], images)


def test_grey_images_get_a_channel(images):
    np.testing.assert_array_equal(open_images(images[..., 0])[:], images[..., :1])


@pytest.mark.parametrize("shape", [(4, 5), (0, 5, 5, 3), (2, 5, 5, 3, 1), (2, 0, 5)])
def test_arrays_of_other_shapes_are_refused(shape):
    with pytest.raises(ImageError, match=r"the array: it has shape .*; expected numbers of shape \(n, height, width,"):
        open_images(np.zeros(shape))


def test_arrays_of_other_things_are_refused():
    with pytest.raises(ImageError, match="of complex128; expected numbers"):
        open_images(np.zeros((2, 3, 3, 1), complex))


def test_resizing_is_for_files(images):
    for options in ({"resize": (2, 2)}, {"crop": True}, {"grey": True}):
        with pytest.raises(ValueError, match="resize, crop, grey, channels, page and stack are for image files"):
            open_images(images, **options)


def test_npy_is_mapped_not_read(images, tmp_path):
    np.save(tmp_path / "x.npy", images)
    source = open_images(tmp_path / "x.npy")
    np.testing.assert_array_equal(source[:], images)
    assert not source[:].flags.writeable
    assert isinstance(source._array.base, np.memmap)


def test_npy_with_objects_or_nonsense_is_refused(tmp_path):
    np.save(tmp_path / "objects.npy", objects())
    (tmp_path / "short.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (9, 9, 9)}")
    (tmp_path / "empty.npy").touch()
    for name in ("objects.npy", "short.npy", "empty.npy"):
        with pytest.raises(ImageError, match=f"{name}: it cannot be mapped as a .npy array"):
            open_images(tmp_path / name)


@pytest.mark.parametrize("name", ["images", "x", "X", "anything"])
def test_the_only_array_of_npz_is_taken(images, tmp_path, name):
    np.savez(tmp_path / "x.npz", **{name: images})
    np.testing.assert_array_equal(open_images(tmp_path / "x.npz")[:], images)


@pytest.mark.parametrize(("x", "y"), [("images", "labels"), ("X", "y"), ("x", "Y"), ("data", "target"), ("images", "label")])
def test_images_and_labels_of_npz_are_found_by_name(images, tmp_path, x, y):
    np.savez_compressed(tmp_path / "x.npz", **{y: np.arange(6), x: images, "classes": np.array(["a", "b"])})
    source = open_images(tmp_path / "x.npz")
    np.testing.assert_array_equal(source[:], images)
    np.testing.assert_array_equal(source.labels, np.arange(6))


def test_an_ambiguous_npz_says_what_there_is_and_a_member_chooses(images, tmp_path):
    parts = {"x_train": images[:4], "y_train": np.arange(4)[:, None], "x_test": images[4:], "y_test": np.array(["a", "b"])}
    np.savez(tmp_path / "x.npz", **parts)
    with pytest.raises(ImageError, match=r"but 'x_train', 'y_train', 'x_test', 'y_test'; choose with member"):
        open_images(tmp_path / "x.npz")
    with pytest.raises(ImageError, match="there is no array 'x_valid' in it, but 'x_train'"):
        open_images(tmp_path / "x.npz", member="x_valid")
    train, test = (open_images(tmp_path / "x.npz", member=name) for name in ("x_train", "x_test"))
    np.testing.assert_array_equal(np.concatenate([train[:], test[:]]), images)
    assert train.labels.tolist() == [0, 1, 2, 3]
    assert test.labels.tolist() == ["a", "b"]


def test_labels_may_come_first_in_a_name(images, tmp_path):
    np.savez(tmp_path / "x.npz", train_images=images, train_labels=np.arange(6), test_images=images)
    assert open_images(tmp_path / "x.npz", member="train_images").labels.tolist() == list(range(6))
    assert open_images(tmp_path / "x.npz", member="test_images").labels is None


def test_labels_of_another_length_are_refused_unless_not_wanted(images, tmp_path):
    np.savez(tmp_path / "x.npz", images=images, labels=np.arange(5))
    with pytest.raises(
        ValueError, match=r"labels of shape \(5,\) for 6 images; expected \(6,\); use labels=None to go without"
    ):
        open_images(tmp_path / "x.npz")
    assert open_images(tmp_path / "x.npz", labels=None).labels is None


def test_npz_with_objects_is_refused(images, tmp_path):
    np.savez(tmp_path / "x.npz", images=objects())
    with pytest.raises(ImageError, match=r"x\.npz: it cannot be read as \.npz \(ValueError: Object arrays cannot be loaded"):
        open_images(tmp_path / "x.npz")


def test_npz_whose_header_promises_too_much_is_refused(images, tmp_path):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 10**6, 3)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("images.npy", buffer.getvalue() + bytes(100))
    with pytest.raises(ImageError, match=r"images\.npy is shorter than its header says: \(1000000, 1000000, 3\)"):
        open_images(tmp_path / "x.npz")


def test_npz_that_unfolds_beyond_memory_is_refused(images, tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", images=images)
    monkeypatch.setattr("poolwise.images.stored.physical_bytes", lambda: 100)
    with pytest.raises(ImageError, match=r"images\.npy unfolds into 488 bytes, more than this machine has memory for"):
        open_images(tmp_path / "x.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"PK\x05\x06" + bytes(18)])
def test_npz_that_is_not_one_is_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ImageError, match=r"x\.npz: "):
        open_images(tmp_path / "x.npz")


def what_is_said_of(path):
    try:
        open_images(path)[:]
    except ImageError as error:
        return str(error)
    return f"{path}: fine"


def test_damaged_npz_and_npy_are_refused_or_read(images, tmp_path, rng):
    for suffix, save in {"npz": np.savez_compressed, "npy": np.save}.items():
        save(tmp_path / f"x.{suffix}", images)
        content = (tmp_path / f"x.{suffix}").read_bytes()
        for _ in range(200):
            data = bytearray(content)
            for at in rng.integers(len(data) if rng.random() < 0.3 else 128, size=3):
                data[at] ^= 1 << rng.integers(8)
            (tmp_path / f"m.{suffix}").write_bytes(data[: rng.integers(len(data) // 2, 2 * len(data))])
            assert f"m.{suffix}: " in what_is_said_of(tmp_path / f"m.{suffix}")


def test_shapes_of_arrays_are_read_from_their_headers_alone(images, tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x_train=images, y_train=np.arange(6), names=objects()[:0].astype(str))
    assert npz_shapes(tmp_path / "x.npz") == {"x_train": images.shape, "y_train": (6,), "names": (0,)}
    many = np.tile(images, (5000, 1, 1, 1))
    np.savez(tmp_path / "x.npz", x=many)
    raw = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(raw.replace(images.tobytes(), bytes(images.nbytes)))  # reading it all would be an error
    assert npz_shapes(tmp_path / "x.npz") == {"x": many.shape}
    (tmp_path / "x.npz").write_bytes(raw[:100])
    with pytest.raises(ImageError, match=r"x.npz: it cannot be read as .npz"):
        npz_shapes(tmp_path / "x.npz")


@pytest.fixture
def medmnist(tmp_path, rng):
    """An archive as MedMNIST's, and its arrays."""
    arrays = {}
    for part, n in {"train": 7, "val": 3, "test": 4}.items():
        arrays[f"{part}_images"] = rng.integers(0, 256, size=(n, 5, 5, 3), dtype=np.uint8)
        arrays[f"{part}_labels"] = rng.integers(0, 9, size=(n, 1), dtype=np.uint8)
    np.savez_compressed(tmp_path / "pathmnist.npz", **arrays)
    return tmp_path / "pathmnist.npz", arrays


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_parts_of_medmnist_are_found_by_either_name(medmnist, part):
    path, arrays = medmnist
    for member in (part, f"{part}_images"):
        source = open_images(path, member=member)
        np.testing.assert_array_equal(source[:], arrays[f"{part}_images"])
        np.testing.assert_array_equal(source.labels, arrays[f"{part}_labels"][:, 0])


def test_a_part_that_is_not_there_or_not_named_lists_what_is(medmnist):
    with pytest.raises(ImageError, match=r"no array 'dev' in it, but 'train_images', .*; choose with member"):
        open_images(medmnist[0], member="dev")
    with pytest.raises(ImageError, match=r"nothing that shows which are the images in it, but 'train_images', "):
        open_images(medmnist[0])


def test_several_labels_an_image_are_refused_with_the_remedy(tmp_path, rng):
    targets = rng.integers(0, 2, size=(4, 14))
    np.savez(tmp_path / "chestmnist.npz", train_images=np.zeros((4, 5, 5), np.uint8), train_labels=targets)
    message = "14 labels for each of 4 images; expected one; use labels=None to go without, and in Python give them to fit as y"
    with pytest.raises(ValueError, match=message):
        open_images(tmp_path / "chestmnist.npz", member="train")
    assert open_images(tmp_path / "chestmnist.npz", member="train", labels=None).shape == (4, 5, 5, 1)
