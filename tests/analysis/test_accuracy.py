"""Margins in blocks, confusions and labels, against scikit-learn and the whole at once."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import confusion_matrix

from poolwise import LinearSVM, method
from poolwise.analysis import accuracy
from poolwise.analysis.accuracy import Accuracy, class_numbers, margin_blocks, measure_accuracy, spelled
from poolwise.support.rows import RowsOf


@pytest.fixture
def small_blocks(monkeypatch):
    """Images reach the encoder a few at a time, and the classifier after some of these blocks."""
    monkeypatch.setattr(method.extraction, "_BYTES_PER_BLOCK", 7 * 4 * (32 * 32 * 3 + 2 * 40))
    monkeypatch.setattr(accuracy, "_ROWS_CLASSIFIED", 20)


def joined(blocks):
    """Margins of all blocks, which must be consecutive."""
    at, margins = 0, []
    for rows, some in blocks:
        assert rows.start == at
        assert len(some) == rows.stop - rows.start
        at = rows.stop
        margins.append(some)
    return np.concatenate(margins), [len(some) for some in margins]


def test_margins_are_the_decision_function_in_blocks_of_enough_rows(chosen, svm, labelled, small_blocks):
    images = labelled[0]
    encoded = [rows.stop - rows.start for rows, _ in chosen.transform_blocks(images)]
    assert max(encoded) == 7  # so each block that is classified is of several that were encoded
    margins, sizes = joined(margin_blocks(chosen, svm, images))
    assert sizes == [21, 21, 21, 21, 16]
    np.testing.assert_allclose(margins, svm.decision_function(chosen.transform(images)), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(svm.classes_[margins.argmax(axis=1)], svm.predict(chosen.transform(images)))


@pytest.mark.parametrize("kind", [LinearSVM, RidgeClassifier])
def test_two_classes_have_minus_and_plus_their_one_margin(kind, chosen, labelled, small_blocks):
    images, names = labelled
    X = chosen.transform(images)
    classifier = kind().fit(X, names == names[0])
    F = classifier.decision_function(X)
    assert F.ndim == 1
    margins, sizes = joined(margin_blocks(chosen, classifier, images))
    assert len(sizes) == 5
    assert margins.shape == (len(images), 2)
    np.testing.assert_allclose(margins, np.stack([-F, F], axis=1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(classifier.classes_[margins.argmax(axis=1)], classifier.predict(X))


def test_wide_features_are_classified_sooner(chosen, svm, labelled, small_blocks, monkeypatch):
    monkeypatch.setattr(accuracy, "_BYTES_CLASSIFIED", 10 * 40 * 4)  # ten rows of 40 features: after two blocks of seven
    _, sizes = joined(margin_blocks(chosen, svm, labelled[0]))
    assert sizes == [14, 14, 14, 14, 14, 14, 14, 2]


def test_a_source_gives_what_its_array_gives(chosen, svm, labelled, small_blocks):
    rows = np.arange(len(labelled[0]))[::-2]
    from_source, _ = joined(margin_blocks(chosen, svm, RowsOf(labelled[0], rows)))
    from_array, _ = joined(margin_blocks(chosen, svm, labelled[0][rows]))
    np.testing.assert_array_equal(from_source, from_array)


def test_the_confusion_matrix_is_scikit_learns_and_progress_is_in_images(chosen, svm, labelled, small_blocks):
    images, names = labelled
    wrong = np.roll(names, 7)  # so that there is something to confuse
    numbers, _ = class_numbers(wrong, svm.classes_)
    seen = []
    found = measure_accuracy(chosen, svm, images, numbers, lambda done, note="": seen.append(done))
    predicted = svm.predict(chosen.transform(images))
    np.testing.assert_array_equal(found.confusion, confusion_matrix(wrong, predicted, labels=svm.classes_))
    assert found.share == np.mean(wrong == predicted)
    assert seen == [21, 42, 63, 84, 100]


def test_two_classes_are_counted(chosen, labelled, small_blocks):
    images, names = labelled
    is_first = names == names[0]
    classifier = LinearSVM(gamma=1.0, n_jobs=1).fit(chosen.transform(images), is_first)
    numbers, known = class_numbers(is_first, classifier.classes_)
    found = measure_accuracy(chosen, classifier, images, numbers)
    assert known == ["False", "True"]
    np.testing.assert_array_equal(found.confusion, confusion_matrix(is_first, classifier.predict(chosen.transform(images))))


def test_largest_confusions_come_first_and_none_is_right_or_empty():
    found = Accuracy(np.array([[9, 1, 4], [0, 7, 0], [4, 2, 8]]))
    assert found.largest_confusions(3) == [(0, 2, 4), (2, 0, 4), (2, 1, 2)]
    assert found.largest_confusions(99)[-1] == (0, 1, 1)
    assert found.share == pytest.approx(24 / 35)


@pytest.mark.parametrize(("label", "text"), [(3, "3"), (3.0, "3"), (2.5, "2.5"), ("3", "3"), (np.True_.item(), "True")])
def test_labels_as_text(label, text):
    assert spelled(label) == text


def test_labels_that_the_model_does_not_know_are_named():
    with pytest.raises(ValueError, match=r"the labels 'cow', 'dog'; it was fitted on 'cat', 'hen'\. Remove or rename"):
        class_numbers(["cat", "dog", "cow"], ["cat", "hen"])
    many = [f"{k:02}" for k in range(12)]
    with pytest.raises(ValueError, match=r"the label 'x'; it was fitted on '00', .*'09' and 2 more"):
        class_numbers(["x", "03"], many)


def test_labels_that_cannot_be_printed_are_escaped():
    with pytest.raises(ValueError, match="label") as error:
        class_numbers(["\x1b[31m\udcff"], ["a"])
    assert str(error.value).isprintable()
    assert "'\\x1b[31m\\udcff'" in str(error.value)
