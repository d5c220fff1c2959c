"""What labels are used as where parameters use them if there are any."""

import numpy as np
import pytest

from poolwise.estimators.targets import as_targets, usable_targets


@pytest.mark.parametrize(
    "y",
    [
        None,
        np.zeros(6, int),
        ["one"] * 6,
        np.arange(6),
        list("abcdef"),
        [0, 0, 1, 2, 3, 3],  # fewer than two images a class
        np.full(6, 0.5),
        np.array([[0, 1], [1, 0]] * 3),
        np.array([[0, 3], [1, 2]] * 3),
    ],
    ids=["none", "one class", "one word", "numbers of images", "names of images", "few", "constant", "multilabel", "several"],
)
def test_labels_that_say_nothing_are_not_used(y):
    assert usable_targets(y, 6) is None


@pytest.mark.parametrize(
    "y",
    [
        [0, 0, 1, 1, 2, 2],
        list("aabbab"),
        [True, False] * 3,
        [0.5, 1.5, 2.5, 0.5, 1.0, 3.0],
        np.linspace(0, 1.1, 12).reshape(6, 2),
    ],
    ids=["classes", "words", "flags", "numbers", "columns of numbers"],
)
def test_others_are_those_of_as_targets(y):
    np.testing.assert_array_equal(usable_targets(y, 6), as_targets(y, 6))


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_missing_numbers_are_refused(missing):
    with pytest.raises(ValueError, match=r"missing \(NaN\) or infinite"):
        usable_targets([0.0, 1.0, missing, 1.0], 4)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_refused(missing):
    with pytest.raises(ValueError, match=r"missing \(None or NaN\)"):
        usable_targets(np.array(["a", "b", missing, "a"], object), 4)


@pytest.mark.parametrize(("y", "count"), [([0, 1, 0, 1, 0], 5), ([0, 1], 2), (3, 1)])
def test_one_label_for_each_image(y, count):
    with pytest.raises(ValueError, match=f"y has {count} entries for 4 images; give one for each"):
        usable_targets(y, 4)
