"""Paths and arrays of other libraries given to fit, transform, predict and tune, compared with the images in memory."""

import h5py
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, Patches, PooledFeatures, StackedFeatures, tune
from poolwise.images import ImageError

from settings import paper_features

SETTINGS = {"n_codes": 4, "n_patches": 500, "descriptor": Patches(3), "random_state": 0}
LABELS = ["a", "b"] * 8


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """16 paths, and the images there: (16, 9, 9, 1), those of label b have larger contrasts."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 128, size=(16, 9, 9, 1)) * np.array([1, 2] * 8)[:, None, None, None]
    images = images.astype(np.uint8)
    paths = [str(folder / f"{number}.png") for number in range(16)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image[..., 0]).save(path)
    return paths, images


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series])
def test_paths_are_read_as_the_images(files, make):
    paths, images = files
    model = paper_features(**SETTINGS).fit(images)
    found = paper_features(**SETTINGS).fit(make(paths))
    np.testing.assert_array_equal(found.codes_, model.codes_)
    np.testing.assert_array_equal(found.transform(make(paths[3:7])), model.transform(images[3:7]))
    assert not hasattr(found, "feature_names_in_")


def test_a_pipeline_takes_paths_and_folds_of_them(files):
    paths, images = files
    pipeline = make_pipeline(paper_features(**SETTINGS), LinearSVM())
    expected = pipeline.fit(images, LABELS).predict(images)
    assert pipeline.fit(paths, LABELS).predict(paths).tolist() == expected.tolist()
    np.testing.assert_array_equal(
        cross_val_score(pipeline, paths, LABELS, cv=2), cross_val_score(pipeline, images, LABELS, cv=2)
    )


def test_layers_on_layers_take_paths(files):
    paths, images = files
    stack = StackedFeatures([paper_features(**SETTINGS), paper_features(**{**SETTINGS, "descriptor": Patches(2)})])
    np.testing.assert_array_equal(stack.fit(paths).transform(paths), stack.fit(images).transform(images))


def test_a_search_takes_paths_tables_and_datasets(files):
    from poolwise.tuning.task import as_task

    paths, images = files
    expected = as_task(images, LABELS)
    frame = pd.DataFrame({"path": paths, "label": LABELS})
    for task in (
        as_task(paths, LABELS),
        as_task(frame),
        as_task(list(zip(images, LABELS, strict=True))),
        as_task(frame, LABELS),
    ):
        np.testing.assert_array_equal(task.images[:], expected.images[:])
        np.testing.assert_array_equal(task.labels, expected.labels)
    with pytest.raises(ValueError, match="a search needs labels"):
        tune(paths)


def test_arrays_of_h5py_are_read_in_blocks(files, tmp_path):
    _, images = files
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=images[..., 0])
        np.testing.assert_array_equal(
            paper_features(**SETTINGS).fit(data).transform(data), paper_features(**SETTINGS).fit(images).transform(images)
        )


class Dataset:
    """Images with labels."""

    def __init__(self, items):
        self._items = items

    def __len__(self):
        return len(self._items)

    def __getitem__(self, number):
        return self._items[number]


@pytest.mark.parametrize(
    "make",
    [
        lambda paths, images: paths[0],
        lambda paths, images: list(zip(paths, LABELS, strict=True)),
        lambda paths, images: list(zip(images, LABELS, strict=True)),
        lambda paths, images: [{"image": image, "label": 0} for image in images],
        lambda paths, images: Dataset(list(zip(images, LABELS, strict=True))),
        lambda paths, images: pd.DataFrame({"path": paths, "label": LABELS}),
        lambda paths, images: pd.DataFrame({"label": LABELS, "n": range(16)}),
    ],
)
def test_images_with_labels_are_refused_with_the_way_to_give_them(files, make):
    model = paper_features(**SETTINGS).fit(files[1])
    for call in (model.transform, PooledFeatures(4).fit):
        with pytest.raises(
            ValueError,
            match=r"and their labels apart; got .* Open it first: images = poolwise\.open_images\(\.\.\.\), then fit",
        ):
            call(make(*files))


def test_a_path_that_is_wrong_is_named_and_leaves_the_model(files):
    model = paper_features(**SETTINGS).fit(files[1])
    before = dict(model.__dict__)
    with pytest.raises(ImageError, match=r"gone\.png: .*No such file"):
        model.fit(["gone.png"])
    with pytest.raises(ImageError, match="the list: row 1 is int '3'; expected paths of image files alone"):
        model.fit([files[0][0], 3])
    assert model.__dict__ == before


def test_tables_of_numbers_stay_rows(files):
    import polars as pl

    _, images = files
    rows = images.reshape(16, -1)
    expected = paper_features(**SETTINGS, image_shape=(9, 9)).fit_transform(rows)
    for make in (pd.DataFrame, pl.DataFrame):
        table = make({f"p{number}": rows[:, number] for number in range(81)})
        np.testing.assert_array_equal(paper_features(**SETTINGS, image_shape=(9, 9)).fit_transform(table), expected)
