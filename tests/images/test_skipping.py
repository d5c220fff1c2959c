"""on_error="skip": which files are left out, when it gives up, and the manifest."""

import csv
import os

import numpy as np
import pytest
from PIL import Image

from poolwise.images import ImageError, open_images, write_manifest
from poolwise.images.decoding import Decoder


@pytest.fixture
def make(tmp_path):
    """n images in two class folders; those in `bad` are no images."""

    def make(n, bad=()):
        for number in range(n):
            path = tmp_path / "ab"[number >= n // 2] / f"{number:04}.png"
            path.parent.mkdir(exist_ok=True)
            if number in bad:
                path.write_bytes(b"broken")
            else:
                Image.new("L", (3, 2), number % 256).save(path)
        return tmp_path

    return make


@pytest.mark.parametrize("memory", [0, 2**30])
@pytest.mark.parametrize("bad", [(0,), (4, 150), (298, 299)])
def test_bad_files_are_left_out_and_listed(make, memory, bad):
    source = open_images(make(300, bad), on_error="skip", memory=memory)
    good = [number for number in range(300) if number not in bad]
    assert source.shape == (300 - len(bad), 2, 3, 1)
    assert source[:][:, 0, 0, 0].tolist() == [number % 256 for number in good]
    assert [name[2:6] for name in source.names] == [f"{number:04}" for number in good]
    assert source.labels.tolist() == ["ab"[number >= 150] for number in good]
    assert [name[2:6] for name, _ in source.skipped] == [f"{number:04}" for number in bad]
    assert all("its content is not a PNG" in reason for _, reason in source.skipped)
    assert f"{len(bad)} files skipped" in repr(source)


def test_without_bad_files_nothing_is_skipped(make):
    source = open_images(make(20), on_error="skip")
    assert len(source) == 20
    assert source.skipped == []


def test_given_labels_stay_with_their_images(make):
    source = open_images(make(4, [1]), on_error="skip", labels=np.arange(4))
    assert source.labels.tolist() == [0, 2, 3]


def test_one_bad_file_may_always_be_skipped(make):
    assert len(open_images(make(3, [1]), on_error="skip")) == 2


def test_two_bad_files_of_few_are_too_many(make):
    with pytest.raises(ImageError, match=r"too many of its 8 files cannot be used: 2 so far.*The first: a.0001\.png: its"):
        open_images(make(8, [1, 6]), on_error="skip")


def test_one_in_a_hundred_may_be_skipped_and_no_more(make):
    assert len(open_images(make(200, [5, 100]), on_error="skip").skipped) == 2
    with pytest.raises(ImageError, match=r"too many of its 200 files.*3 so far, 1 of them in a row; at most one in 100"):
        open_images(make(200, [5, 100, 190]), on_error="skip")


def test_twenty_in_a_row_are_too_many(make):
    root = make(2100, range(40, 59))
    assert len(open_images(root, on_error="skip").skipped) == 19
    (root / "a" / "0059.png").write_bytes(b"broken")
    with pytest.raises(ImageError, match="20 so far, 20 of them in a row"):
        open_images(root, on_error="skip")


def test_where_no_file_can_be_used_the_reasons_are_listed(make):
    with pytest.raises(ImageError, match=r"0000\.png: its content is not a PNG"):
        open_images(make(1, [0]), on_error="skip")


def test_a_file_of_another_size_is_skipped_too(make):
    root = make(10)
    Image.new("L", (5, 5)).save(root / "b" / "0007.png")
    source = open_images(root, on_error="skip")
    assert [reason[:9] for _, reason in source.skipped] == ["5×5 pixel"]


def test_a_broken_first_file_does_not_rule_the_size(make):
    root = make(10)
    Image.effect_noise((50, 50), 90).save(root / "a" / "0000.png")
    content = (root / "a" / "0000.png").read_bytes()
    (root / "a" / "0000.png").write_bytes(content[: len(content) // 2])
    source = open_images(root, on_error="skip")
    assert source.shape == (9, 2, 3, 1)


def test_what_was_looked_at_is_kept(make, monkeypatch):
    source = open_images(make(100, [50]), on_error="skip")
    monkeypatch.setattr(Decoder, "__call__", lambda *_: pytest.fail("decoded again"))
    assert source[:].shape == (99, 2, 3, 1)


def test_the_same_on_any_number_of_threads(make):
    root = make(300, [7, 8, 200])
    runs = [open_images(root, on_error="skip", n_jobs=n) for n in (1, 2, 5)]
    assert len({run[:].tobytes() for run in runs}) == 1
    assert runs[0].skipped == runs[1].skipped == runs[2].skipped


def test_progress_goes_up_to_the_number_of_files(make):
    seen = []
    open_images(make(50), on_error="skip", update=lambda done, note="": seen.append((done, note)))
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert seen[-1] == (50, "files")


def test_pipes_are_skipped_without_hanging(make):
    root = make(10)
    os.mkfifo(root / "a" / "pipe.png")
    assert open_images(root, on_error="skip").skipped[0][0] == os.path.join("a", "pipe.png")


def test_a_manifest_gives_back_what_was_skipped(tmp_path):
    skipped = [("a/1.png", 'too "short", it seems'), ("b\n.png", "é"), (os.fsdecode(b"\xff.png"), "no text")]
    write_manifest(skipped, tmp_path / "skipped.csv")
    with open(tmp_path / "skipped.csv", encoding="utf-8", errors="surrogateescape", newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [("path", "reason"), *skipped]
    assert os.listdir(tmp_path) == ["skipped.csv"]


def test_a_manifest_that_fails_leaves_the_old_one(tmp_path):
    write_manifest([("a", "b")], tmp_path / "skipped.csv")
    before = (tmp_path / "skipped.csv").read_bytes()

    def broken():
        yield "c", "d"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_manifest(broken(), tmp_path / "skipped.csv")
    assert (tmp_path / "skipped.csv").read_bytes() == before
    assert os.listdir(tmp_path) == ["skipped.csv"]
