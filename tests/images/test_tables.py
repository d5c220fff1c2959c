"""Lists, Series and DataFrames of paths, of pandas and polars, compared with the images that were written."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image

from poolwise import open_images
from poolwise.images import ImageError

NAMES = ["b.png", "a.png", "c.png"]


@pytest.fixture(autouse=True)
def written(tmp_path, monkeypatch, rng):
    """(3, 4, 5, 3) images in the current folder, by NAMES."""
    images = rng.integers(0, 256, size=(3, 4, 5, 3), dtype=np.uint8)
    for name, image in zip(NAMES, images, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return images


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda names: np.array(names, object),
        lambda names: pd.Series(names, index=[7, 0, 1]),
        lambda names: pd.Series(names, dtype="category"),
        pl.Series,
    ],
)
def test_paths_in_any_list_are_opened_in_its_order(written, tmp_path, make):
    source = open_images(make(NAMES))
    assert (source.names, source.labels) == (NAMES, None)
    np.testing.assert_array_equal(source[:], written)
    np.testing.assert_array_equal(open_images([tmp_path / name for name in NAMES])[1:], written[1:])


def test_one_file_is_one_image(written, tmp_path):
    source = open_images(tmp_path / "a.png", grey=None)
    assert (source.shape, source.names) == ((1, 4, 5, 3), [str(tmp_path / "a.png")])
    np.testing.assert_array_equal(source[0], written[1])


def test_pairs_of_path_and_label_are_a_labelled_list(written):
    source = open_images(list(zip(NAMES, [1, 0, 1], strict=True)))
    assert (source.names, source.labels.tolist()) == (NAMES, [1, 0, 1])
    np.testing.assert_array_equal(source[:], written)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("labels", [["x", "y", "x"], [3, 1, 3], [0.5, 1.5, 2.0], [True, False, True]])
def test_a_dataframe_is_read_as_a_table(written, make, labels):
    frame = make({"label": labels, "path": NAMES, "other": [None, 1, 2]})
    source = open_images(frame)
    assert (source.names, source.labels.tolist()) == (NAMES, labels)
    np.testing.assert_array_equal(source[:], written)
    assert open_images(frame, labels=None).labels is None
    assert open_images(frame, columns=("path", "label")).labels.tolist() == labels
    assert open_images(make({"path": NAMES})).labels is None
    assert open_images(make({"file": NAMES, "kind": labels}), columns=("file", "kind")).labels.tolist() == labels


@pytest.mark.parametrize(
    "labels",
    [
        list("xyx"),
        np.array(list("xyx")),
        np.array(list("xyx"), object),
        pd.Series(list("xyx")),
        pd.Series(list("xyx"), dtype="category"),
        pl.Series(list("xyx")),
        [["x"], ["y"], ["x"]],
    ],
)
def test_labels_come_in_any_list(labels):
    found = open_images(NAMES, labels=labels).labels
    assert found.tolist() == ["x", "y", "x"]
    assert np.unique(found).tolist() == ["x", "y"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"file": NAMES}, {}, "there is no column 'path' in it, but 'file'; name those of paths and labels with columns="),
        ({"path": NAMES}, {"columns": ("path", "kind")}, "there is no column 'kind' in it, but 'path'"),
        ({"path": ["a.png", None, "b.png"]}, {}, "the DataFrame's column 'path': row 1 has no path; leave it out"),
        ({"path": [1, 2, 3]}, {}, "column 'path': row 0 is int '1'; expected paths of image files alone"),
        ({"path": NAMES, "label": ["x", None, "y"]}, {}, r"column 'label': image 1 has no label \(n?[oaN]+ne?\); leave"),
        ({"path": NAMES, "label": [1.0, float("nan"), 2.0]}, {}, r"column 'label': image 1 has no label \(nan\)"),
        ({"path": NAMES, "label": [datetime.date(2020, 1, 1)] * 3}, {}, "labels are of type date; expected text alone"),
        ({"path": []}, {}, "column 'path': it is empty; expected paths of image files"),
        ({"path": ["gone.png"]}, {}, "gone.png: .*No such file"),
        ({"path": NAMES}, {"columns": ("path",)}, r"columns must be \(column of paths"),
        ({"path": NAMES}, {"member": "x"}, "member='x' chooses an array of a .npz file; the DataFrame is not one"),
    ],
)
def test_what_is_wrong_with_a_dataframe_is_said(make, columns, options, message):
    with pytest.raises(ValueError, match=message):
        open_images(make(columns), **options)


def test_labels_that_are_missing_do_not_matter_where_none_are_wanted(tmp_path):
    frame = pd.DataFrame({"path": NAMES, "label": ["x", None, "y"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for where in (frame, tmp_path / "t.csv"):
        assert open_images(where, labels=None).names == NAMES
        assert open_images(where, labels=[1, 2, 3]).labels.tolist() == [1, 2, 3]
    with pytest.raises(
        ImageError, match=r"t\.csv: line 3 has nothing in the column 'label'; fill it in, or leave the line out"
    ):
        open_images(tmp_path / "t.csv")


def test_names_of_columns_may_be_numbers(written):
    source = open_images(pd.DataFrame(list(zip(NAMES, "xyx", strict=True))), columns=("0", "1"))
    assert source.labels.tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(source[:], written)


def test_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["a.png", "b.png"]], columns=["path", "path"])
    with pytest.raises(ImageError, match="2 columns are called 'path' in it; rename all but one"):
        open_images(frame)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", 1, "y"], "labels are numbers and text; expected text alone, or numbers alone"),
        (["x", None, "y"], r"image 1 has no label \(None\)"),
        ([1, float("nan"), 2], r"image 1 has no label \(nan\); leave the image out, or use labels=None"),
        (pd.Series(["x", None, "y"]), "image 1 has no label"),
        (pd.Series([1, None, 2], dtype="Int64"), r"image 1 has no label"),
        ([[1, 2], [3, 4], [5, 6]], "2 labels for each of 3 images; expected one; use labels=None"),
        ([1, 2], r"labels of shape \(2,\) for 3 images"),
        ([[1], [2, 3], [4]], "labels cannot be read as an array"),
        ({1, 2, 3}, r"labels of shape \(\) for 3 images"),
    ],
)
def test_labels_that_say_nothing_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        open_images(NAMES, labels=labels)


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ([], ImageError, "the list: it is empty; expected a path"),
        (["a.png", 3], ImageError, "the list: row 1 is int '3'; expected paths"),
        ([None, "a.png"], ImageError, "the list: row 0 has no path"),
        (["a.png", ""], ImageError, "the list: row 1 has no path"),
        ([("a.png", 1), "b.png"], ImageError, r"some of it is \(path, label\) and some is not"),
        ([("a.png", None), ("b.png", 1)], ValueError, "the labels of the list: image 0 has no label"),
        (["."], ImageError, "it is a folder, pipe or device"),
        (iter([1, 2]), TypeError, "a list_iterator of int can be read only once; expected a path, a list or Series of paths"),
        (3, TypeError, "images cannot be opened from int; expected a path"),
        (
            {"images": 1, "labels": 2},
            ImageError,
            "the dict: it holds several arrays, 'images', 'labels'; give the one of images",
        ),
        (
            [("a.png", "b.png", "c.png")],
            ImageError,
            r"its entries are 3 texts each; expected \(path, label\)\. For several files",
        ),
        (b"a.png", TypeError, "images cannot be opened from bytes"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], ImageError, "the list: its images cannot be stacked into one array"),
    ],
)
def test_what_is_no_list_of_paths_is_refused(where, error, message):
    with pytest.raises(error, match=message):
        open_images(where)


def test_a_path_in_a_list_may_not_exist_and_is_named_when_it_is_read(written):
    source = open_images(["a.png", "gone.png"])
    with pytest.raises(ImageError, match=r"gone\.png: .*No such file"):
        source[:]
    skipped = open_images([*NAMES, "gone.png"], on_error="skip", labels=[1, 2, 3, 4])
    assert (skipped.names, skipped.labels.tolist(), skipped.skipped[0][0]) == (NAMES, [1, 2, 3], "gone.png")
