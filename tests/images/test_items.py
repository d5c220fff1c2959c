"""Sequences of (image, label): pictures, arrays and dicts, compared with the images that they were made of."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from poolwise import Patches, open_images
from poolwise.images import ImageError

from settings import paper_features

LABELS = ["cat", "dog", "cat", "dog", "cat", "dog"]


class Dataset:
    """The protocol of a PyTorch Dataset; it counts the items that are asked for, and by how many at once."""

    def __init__(self, items):
        self.items, self.asked, self.inside, self.most = items, [], 0, 0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        if not 0 <= number < len(self.items):
            raise IndexError(number)
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.asked.append(number)
        threading.Event().wait(0.0005)
        self.inside -= 1
        item = self.items[number]
        if isinstance(item, Exception):
            raise item
        return item


class Outer:
    """A dataset whose items are images of another source."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, number):
        return self.inner[number]


def test_a_dataset_may_be_made_of_another(rng):
    pixels = rng.integers(0, 256, size=(4, 5, 6, 3), dtype=np.uint8)
    found = []

    def read():
        found.append(open_images(Outer(open_images(Dataset(list(pixels)))))[:])

    thread = threading.Thread(target=read, daemon=True)  # which would wait for itself for ever
    thread.start()
    thread.join(60)
    np.testing.assert_array_equal(found[0], pixels)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, size=(6, 10, 8, 3), dtype=np.uint8)


def pictures(images):
    return [Image.fromarray(image) for image in images]


WAYS = {
    "pictures and labels": lambda images: list(zip(pictures(images), LABELS, strict=True)),
    "channels last": lambda images: list(zip(images, LABELS, strict=True)),
    "channels first": lambda images: list(zip(images.transpose(0, 3, 1, 2), LABELS, strict=True)),
    "more than two": lambda images: list(zip(images, LABELS, range(6), strict=True)),
    "dicts": lambda images: [{"image": a, "label": b} for a, b in zip(pictures(images), LABELS, strict=True)],
    "dicts of arrays": lambda images: [{"id": 3, "img": a, "fine_label": b} for a, b in zip(images, LABELS, strict=True)],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [list, tuple, Dataset])
@pytest.mark.parametrize("memory", [0, 2**20])
def test_images_and_labels_are_those_of_the_items(images, way, make, memory):
    source = open_images(make(WAYS[way](images)), memory=memory)
    assert (source.shape, source.dtype, list(source.names)) == (images.shape, np.uint8, list(range(6)))
    assert source.labels.tolist() == LABELS
    for rows in (slice(1, 4), np.array([5, 0, 5]), slice(None, None, -2)):
        np.testing.assert_array_equal(source[rows], images[rows])


def test_items_may_be_images_alone(images):
    for items in (Dataset(pictures(images)), Dataset(list(images)), pictures(images), Dataset([(one,) for one in images])):
        source = open_images(items)
        assert source.labels is None
        np.testing.assert_array_equal(source[:], images)
    assert open_images(Dataset(list(images)), labels=LABELS).labels.tolist() == LABELS


def test_items_may_be_paths(images, tmp_path):
    for number, one in enumerate(pictures(images)):
        one.save(tmp_path / f"{number}.png")
    source = open_images(Dataset([(str(tmp_path / f"{number}.png"), number % 2) for number in range(6)]))
    assert source.labels.tolist() == [0, 1] * 3
    np.testing.assert_array_equal(source[:], images)


def test_keys_of_dicts_can_be_named(images):
    items = Dataset([{"tile": one, "crop": "wheat", "label": 0} for one in images])
    with pytest.raises(ImageError, match=r"Dataset: its items have no image, but 'tile', 'crop', 'label'; name image and"):
        open_images(items)
    assert open_images(items, columns=("tile", "crop")).labels.tolist() == ["wheat"] * 6
    assert open_images(items, columns=("tile", None)).labels is None
    with pytest.raises(ImageError, match="Dataset: its items have no 'kind', but 'tile'"):
        open_images(items, columns=("tile", "kind"))
    with pytest.raises(ValueError, match="names several images; an item has one"):
        open_images(items, columns=(("tile", "crop"), None))


def test_labels_take_one_pass_and_none_where_they_are_known(images):
    items = Dataset(WAYS["channels last"](images))
    open_images(items)
    assert sorted(items.asked) == [0, 0, 0, 1, 2, 3, 4, 5]  # the first: for its size, and to see whether there are labels
    for labels in (None, LABELS):
        items.asked.clear()
        open_images(items, labels=labels)
        assert items.asked == [0]


def test_labels_of_one_number_are_numbers(images):
    for labels in (np.arange(6)[:, None], np.arange(6), np.arange(6.0)):
        source = open_images(Dataset(list(zip(images, labels, strict=True))))
        assert source.labels.tolist() == list(range(6))
        assert source.labels.shape == (6,)


def test_items_are_asked_for_once_where_memory_allows_and_one_at_a_time(images):
    items = Dataset(list(images))
    source = open_images(items, labels=None)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(source.__getitem__, range(6)))
    source[:]
    assert sorted(items.asked) == list(range(6))
    assert items.most == 1


def test_items_are_resized_cut_and_made_grey_as_files_are(images, tmp_path):
    for number, one in enumerate(pictures(images)):
        one.save(tmp_path / f"{number}.png")
    for options in ({"resize": (5, 4)}, {"resize": (4, 4), "crop": True}, {"grey": True}, {"channels": (2, 0)}, {"crop": True}):
        expected = open_images(tmp_path, **options)[:]
        np.testing.assert_array_equal(open_images(Dataset(pictures(images)), **options)[:], expected)
        np.testing.assert_array_equal(open_images(Dataset(list(images)), **options)[:], expected)


def test_features_are_those_of_the_array(images):
    settings = {"n_codes": 4, "n_patches": 300, "descriptor": Patches(3), "random_state": 0}
    expected = paper_features(**settings).fit_transform(images)
    for threads in (1, 3):
        source = open_images(Dataset(WAYS["pictures and labels"](images)), memory=0)
        np.testing.assert_array_equal(paper_features(**settings, n_jobs=threads).fit_transform(source), expected)


def test_items_that_cannot_be_used_are_named_or_left_out(images):
    items = WAYS["channels last"](images)
    items[3] = RuntimeError("lost")
    source = open_images(Dataset(items), labels=None)
    with pytest.raises(ImageError, match=r"Dataset\[3\]: it cannot be read \(RuntimeError: lost\)"):
        source[:]
    with pytest.raises(ImageError, match=r"Dataset\[3\]"):
        open_images(Dataset(items))
    source = open_images(Dataset(items), on_error="skip")
    assert source.labels.tolist() == [one for row, one in enumerate(LABELS) if row != 3]
    assert (list(source.names), source.skipped) == ([0, 1, 2, 4, 5], [("3", "it cannot be read (RuntimeError: lost)")])
    np.testing.assert_array_equal(source[:], images[[0, 1, 2, 4, 5]])


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ((np.zeros((4, 4, 3, 2)), 0), r"Dataset\[1\]: it is ndarray of shape \(4, 4, 3, 2\) and float64; expected a picture"),
        (({"bytes": b""}, 0), r"Dataset\[1\]: it is dict of shape \(\) and object"),
        ((None, 0), r"Dataset\[1\]: it is NoneType"),
        ((), r"Dataset\[1\]: it is empty; expected \(image, label\)"),
        ((np.full((10, 8, 3), np.nan), 0), r"Dataset\[1\]: it has pixels that are NaN or infinite"),
        ((np.zeros((9, 8, 3), np.uint8), 0), r"Dataset\[1\]: 9×8 pixels, but the first image, 0, has 10×8; give resize="),
        ((np.zeros((10, 8, 3), np.uint16), 0), r"Dataset\[1\]: its pixels are uint16, those of the first image, 0, uint8"),
    ],
)
def test_an_image_that_is_none_is_named(images, item, message):
    source = open_images(Dataset([(images[0], 0), item]), labels=None)
    with pytest.raises(ImageError, match=message):
        source[:]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, None, 1], r"the labels of Dataset: image 1 has no label \(None\)"),
        ([0, "a", 1], "the labels of Dataset: labels are numbers and text"),
        ([[0, 1], [1, 1], [0, 0]], "the labels of Dataset: 2 labels for each of 3 images"),
        ([{"box": 1}] * 3, "the labels of Dataset: labels are of type dict"),
    ],
)
def test_labels_that_are_none_are_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        open_images(Dataset(list(zip(images, labels, strict=False))))


def test_an_empty_sequence_and_a_picture_alone_are_refused(images):
    with pytest.raises(ImageError, match="the Dataset: it is empty"):
        open_images(Dataset([]))
    with pytest.raises(ImageError, match="it is a single one; give a list of pictures"):
        open_images(pictures(images)[0])
