"""Trials on disk."""

import json

import numpy as np
import pytest

from poolwise.tuning.splits import Task
from poolwise.tuning.store import NAME, Store, StoreError, fingerprint


@pytest.mark.parametrize("scores", [[1, 0, 1, 1, 0, 0, 1, 0, 1], [0.5, -3.25, 1.0]])
def test_scores_come_back_to_the_bit(tmp_path, scores):
    each = np.array(scores, np.float32)
    Store(tmp_path / "new", "a").add("key", each)
    back = Store(tmp_path / "new", "a").get("key")
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, each)
    assert Store(tmp_path / "new", "a").get("other") is None


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store(None, "a")
    store.add("key", np.ones(3, np.float32))
    assert store.get("key").tolist() == [1, 1, 1]
    assert list(tmp_path.iterdir()) == []


def test_another_search_is_refused(tmp_path):
    Store(tmp_path, "a").add("key", np.ones(3, np.float32))
    with pytest.raises(StoreError, match=r"tune.json is of another search.*give another folder"):
        Store(tmp_path, "b")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format": 9, "search": "a", "trials": {}}',
        '{"format": 1, "search": "a", "trials": []}',
        '{"format": 1, "search": "a", "trials": {"key": {}}}',
        '{"format": 1, "search": "a", "trials": {"key": {"images": 9, "bits": true, "scores": "AA=="}}}',
        '{"format": 1, "search": "a", "trials": {"key": {"images": 1, "bits": false, "scores": "AADAfw=="}}}',
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, text):
    (tmp_path / NAME).write_text(text)
    with pytest.raises(StoreError, match=r"tune\.json"):
        Store(tmp_path, "a")


def test_the_fingerprint_is_of_images_labels_codes_and_seed(rng):
    images = rng.integers(0, 256, (20, 8, 8, 1), dtype=np.uint8)
    labels = np.arange(20) % 2
    other = images.copy()
    other[0, 0, 0] ^= 1
    found = {
        fingerprint(Task(images, labels, False), 8, 0),
        fingerprint(Task(other, labels, False), 8, 0),
        fingerprint(Task(images, 1 - labels, False), 8, 0),
        fingerprint(Task(images, labels, False), 9, 0),
        fingerprint(Task(images, labels, False), 8, 1),
    }
    assert len(found) == 5
    assert fingerprint(Task(images.copy(), labels, False), 8, 0) in found


def test_the_file_is_plain_json(tmp_path):
    Store(tmp_path, "a").add("key", np.ones(3, np.float32))
    assert json.loads((tmp_path / NAME).read_text())["trials"]["key"]["images"] == 3
