"""Which images are held out, and differences on the same images."""

import numpy as np
import pytest

from poolwise.tuning.splits import FOLDS, MOST_HELD, Rung, compare, split, standard_error


def test_every_fold_is_a_partition_and_folds_hold_out_each_image_once(rng):
    labels = rng.integers(7, size=333)
    folds = split(labels, False, rng).folds
    assert len(folds) == FOLDS
    for learn, held in folds:
        assert sorted([*learn, *held]) == list(range(333))
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(333))
    assert max(len(held) for _, held in folds) - min(len(held) for _, held in folds) <= 1


def test_first_parts_have_all_classes_in_proportion(rng):
    labels = np.repeat(np.arange(4), [100, 200, 300, 400])
    learn, held = split(labels, False, rng).folds[0]
    for rows in (learn[:200], held[:80]):
        share = np.bincount(labels[rows], minlength=4) / len(rows)
        np.testing.assert_allclose(share, [0.1, 0.2, 0.3, 0.4], atol=0.04)


def test_classes_of_one_image_are_learned_from(rng):
    labels = np.r_[np.zeros(20, int), 1, 2, 2]
    for learn, held in split(labels, False, rng).folds:
        assert 20 in learn
        assert np.isin(labels[held], labels[learn]).all()
    assert split(np.arange(5), False, rng).folds == ()


def test_few_are_held_out_of_many(rng):
    labels = rng.integers(3, size=30_000)
    splits = split(labels, False, rng)
    learn, held = splits.folds[0]
    assert (len(learn), len(held)) == (28_000, MOST_HELD)
    assert splits.rung(500) == Rung(500, 1000, 1)
    assert splits.rung(10**6) == Rung(28_000, 2_000, 1)


def test_few_images_take_more_folds(rng):
    assert split(rng.integers(2, size=100), False, rng).rung(500) == Rung(80, 20, 5)
    assert split(rng.random(1000), True, rng).rung(500) == Rung(500, 200, 2)


def test_the_standard_error_of_a_difference_is_paired(rng):
    a, b = (rng.random((2, 400)) < [[0.7], [0.6]]).astype(np.float32)
    b = np.where(rng.random(400) < 0.8, a, b)
    difference, error = compare(a, b)
    d = [float(x) - float(y) for x, y in zip(a, b, strict=True)]
    mean = sum(d) / 400
    assert difference == pytest.approx(mean)
    assert error == pytest.approx((sum((x - mean) ** 2 for x in d) / 399 / 400) ** 0.5)
    assert error < 0.7 * np.hypot(standard_error(a), standard_error(b))
