"""Folders, lists of paths and tables: which files, in which order, with which labels."""

import os

import numpy as np
import pytest
from PIL import Image

from poolwise.images import ImageError, open_images
from poolwise.images.tables import list_table


@pytest.fixture
def make(tmp_path):
    """Write one-pixel-value images by path: the value is the place in the call."""

    def make(*names):
        for value, name in enumerate(names):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (4, 3), (value, value, value)).save(tmp_path / name, format="PNG")
        return tmp_path

    return make


def test_class_folders_are_labels_in_order(make):
    source = open_images(make("b/2.png", "b/1.png", "a/9.png"))
    assert source.names == [os.path.join("a", "9.png"), os.path.join("b", "1.png"), os.path.join("b", "2.png")]
    assert source.labels.tolist() == ["a", "b", "b"]
    assert source[:][:, 0, 0, 0].tolist() == [2, 1, 0]


def test_files_alone_have_no_labels(make):
    source = open_images(str(make("2.png", "1.jpg", "10.TIFF")))
    assert source.names == ["1.jpg", "10.TIFF", "2.png"]
    assert source.labels is None
    assert source.shape == (3, 3, 4, 3)


def test_folders_below_a_class_folder_count_for_it(make):
    source = open_images(make("a/x/y/1.png", "a/0.png", "b/x/1.png"))
    assert source.labels.tolist() == ["a", "a", "b"]
    assert source.names[1] == os.path.join("a", "x", "y", "1.png")


def test_files_beside_class_folders_are_an_error_with_two_remedies(make):
    root = make("a/1.png", "loose.png")
    with pytest.raises(ImageError, match=r"1 images lie directly in it \(the first: loose\.png\), 1 in folders .*labels=None"):
        open_images(root)
    assert open_images(root, labels=None).labels is None
    assert open_images(root, labels=[1, 0]).labels.tolist() == [1, 0]


def test_hidden_and_other_files_are_passed_over(make):
    root = make("a/1.png", ".hidden/1.png", "a/.1.png", "a/.x/2.png")
    (root / "readme.txt").write_text("hello")
    (root / "a" / "notes.gif").write_text("hello")
    (root / "empty").mkdir()
    source = open_images(root)
    assert source.names == [os.path.join("a", "1.png")]
    assert source.labels.tolist() == ["a"]


def test_where_nothing_is_left_the_others_are_counted(tmp_path):
    with pytest.raises(ImageError, match=r"no image files in it\. Expected names that end in \.png"):
        open_images(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.gif").touch()
    (tmp_path / "y.heic").touch()
    with pytest.raises(ImageError, match=r"no image files in it; 2 other files were passed over, such as y\.heic"):
        open_images(tmp_path)


def test_links_are_followed_but_not_in_circles(make):
    root = make("a/1.png", "b/1.png", "b/deep/2.png")
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "self").symlink_to(root / "a")
    (root / "a" / "itself").symlink_to(root / "a" / "itself")
    (root / "a" / "other").symlink_to(root / "b")
    (root / "b" / "deep" / "back").symlink_to(root / "b")
    (root / "c").symlink_to(root / "b")
    assert open_images(root).labels.tolist() == ["a"] * 3 + ["b"] * 2 + ["c"] * 2


def test_a_folder_deeper_than_pythons_stack_is_walked(tmp_path):
    folders = [str(tmp_path / "class") + "/d" * depth for depth in range(1200)]
    for folder in folders:
        os.mkdir(folder)
    try:
        with pytest.raises(ImageError, match="no image files in it"):
            open_images(tmp_path)
    finally:
        for folder in reversed(folders):  # pytest's own cleaning is recursive
            os.rmdir(folder)


def test_pipes_in_a_folder_are_named_and_do_not_hang(make):
    root = make("1.png")
    os.mkfifo(root / "2.png")
    with pytest.raises(ImageError, match=r"2\.png: it is a folder, pipe or device"):
        open_images(root)[:]


def test_names_that_are_no_text_are_found(make):
    root = make("class/1.png")
    os.rename(root / "class" / "1.png", os.fsencode(root / "class") + b"/\xff.png")
    source = open_images(root)
    assert source[0].shape == (3, 4, 3)
    assert os.fsencode(source.names[0]) == b"class/\xff.png"


def test_a_class_may_have_a_name_that_is_no_text(make):
    root = make("class/1.png")
    os.rename(root / "class", os.fsencode(root) + b"/\xff")
    assert os.fsencode(open_images(root).labels[0]) == b"\xff"


def test_only_the_first_file_is_opened(make):
    root = make("1.png")
    for name in ("2.png", "3.png"):
        (root / name).write_bytes(b"broken")
    source = open_images(root)
    assert len(source) == 3
    assert source[:1].shape == (1, 3, 4, 3)


def test_a_list_has_a_path_a_line_relative_to_it(make):
    root = make("in/b.png", "in/a.png", "in/ü x.png")
    (root / "in" / "list.txt").write_text(f"b.png\r\n\n{root / 'in' / 'a.png'}\nü x.png", encoding="utf-8-sig")
    source = open_images(root / "in" / "list.txt")
    assert source.names == ["b.png", str(root / "in" / "a.png"), "ü x.png"]
    assert source[:][:, 0, 0, 0].tolist() == [0, 1, 2]
    assert source.labels is None


def test_a_list_with_nothing_or_nonsense_is_refused(tmp_path):
    for content, reason in {b"\n \n": "it is empty", b"gone.png": "No such file", b"a\0b": "null"}.items():
        (tmp_path / "list.txt").write_bytes(content)
        with pytest.raises(ImageError, match=reason):
            open_images(tmp_path / "list.txt")


def test_a_table_has_paths_and_labels(make):
    root = make("b.png", "a.png")
    (root / "t.csv").write_text('label,path,other\ncat,b.png,1\n"dog, big",a.png,2\n')
    source = open_images(root / "t.csv")
    assert source.names == ["b.png", "a.png"]
    assert source.labels.tolist() == ["cat", "dog, big"]
    assert open_images(root / "t.csv", labels=None).labels is None


def test_a_table_without_labels_has_none(make):
    root = make("a.png")
    (root / "t.csv").write_text("path\na.png\n")
    assert open_images(root / "t.csv").labels is None


def test_columns_of_a_table_can_be_named(make):
    root = make("a.png")
    (root / "t.csv").write_text("file,kind\na.png,cat\n")
    assert open_images(root / "t.csv", columns=("file", "kind")).labels.tolist() == ["cat"]
    assert open_images(root / "t.csv", columns=("file", None)).labels is None
    with pytest.raises(ImageError, match=r"no column 'path' in its first line, but 'file', 'kind'; name those"):
        open_images(root / "t.csv")
    with pytest.raises(ImageError, match="no column 'species'"):
        open_images(root / "t.csv", columns=("file", "species"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no column 'path' in its first line, but nothing"),
        ("path,label\n", "it has a header but no rows"),
        ("path,label\na.png\n", "line 2 has 1 fields or no path; expected 2"),
        ("path,label\n,x\n", "line 2 has 2 fields or no path"),
        ("path\n" + "x" * 200_000, "cannot be read as CSV"),
    ],
)
def test_a_broken_table_is_named_with_the_line(tmp_path, content, reason):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ImageError, match=reason):
        open_images(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'skip'; got 'ignore'"),
        ({"resize": 32}, r"resize must be \(height, width\); got 32"),
        ({"resize": (0, 3)}, "resize must be a whole number of at least 1; got 0"),
        ({"resize": (10**5, 10**5)}, r"resize=\(100000, 100000\) is more than max_pixels=64000000"),
        ({"max_pixels": 0.5}, "max_pixels must be a whole number of at least 1"),
        ({"memory": -1}, "memory must be a whole number of at least 0"),
        ({"labels": "none"}, "labels must be 'auto', None or an array of 1 labels; got 'none'"),
        ({"labels": [1, 2]}, r"labels of shape \(2,\) for 1 images"),
        ({"member": "x"}, "member='x' chooses an array of a .npz file"),
        ({"columns": ("a", "b")}, "are those of a .csv file"),
    ],
)
def test_wrong_options_get_an_error_that_names_them(make, options, message):
    with pytest.raises(ValueError, match=message):
        open_images(make("a.png"), **options)


def test_what_is_no_source_is_refused(tmp_path, make):
    with pytest.raises(ImageError, match=r"gone: there is no such file or folder; expected an image file, a folder"):
        open_images(tmp_path / "gone")
    (make("a.png") / "a.png").rename(tmp_path / "a.pdf")
    with pytest.raises(ImageError, match=r"a\.pdf: images cannot be opened from it"):
        open_images(tmp_path / "a.pdf")
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ImageError, match=r"pipe\.txt: images cannot be opened from it"):
        open_images(tmp_path / "pipe.txt")


def test_no_labels_are_read_from_the_order_of_numbers(make):
    labels = open_images(make("10/a.png", "9/a.png")).labels
    assert labels.dtype.kind == "U"
    np.testing.assert_array_equal(labels, ["10", "9"])


def test_folders_called_train_and_test_are_no_labels(make):
    root = make("train/cat/1.png", "train/dog/2.png", "test/cat/3.png")
    with pytest.raises(
        ImageError, match=r"its folders test, train are parts of a data set, not labels; give one of them, such as .*train"
    ):
        open_images(root)
    assert len(open_images(root, labels=None)) == 3
    assert open_images(root / "train").labels.tolist() == ["cat", "dog"]
    assert open_images(make("train/1.png", "bus/2.png")).labels is not None  # vehicles


def test_a_label_as_long_as_a_book_is_refused_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_text("path,label\na.png,cat\nb.png," + "x" * 100_000 + "\n")
    with pytest.raises(ImageError, match=r"line 3 has a label of 100,000 characters, at most 1,000 .* begins with x{30};"):
        list_table(tmp_path / "t.csv")


def test_one_long_label_does_not_widen_the_others(tmp_path):
    labels = ["cat"] * 10_000 + ["y" * 900]
    (tmp_path / "t.csv").write_text("path,label\n" + "".join(f"{n}.png,{label}\n" for n, label in enumerate(labels)))
    found = list_table(tmp_path / "t.csv").labels
    assert found.tolist() == labels
    assert found.nbytes < 100_000  # as wide as the longest they take 36 MB


def test_labels_in_two_normalisations_are_warned_of(tmp_path):
    for name in ("cafe\u0301", "caf\u00e9", "th\u00e9"):
        (tmp_path / name).mkdir()
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / name / "a.png")
    with pytest.warns(UserWarning, match=r"the labels 'cafe\\u0301' and 'caf\\xe9' are one text in two normalisations"):
        assert len(set(open_images(tmp_path).labels)) == 3
