"""Warnings where a choice looks like a mistake: grids too fine for the images, γ too small for the features."""

import warnings

import numpy as np
import pytest

from poolwise import LinearSVM, Patches, Pool, PooledFeatures, SecondOrder
from poolwise.estimators.images import GridWarning
from poolwise.estimators.linear_svm import GammaWarning

from settings import QUICK


@pytest.mark.parametrize(
    ("settings", "side", "words"),
    [
        ({"pooling": Pool(grid=2)}, 8, r"of 8×8 pixels have 3×3 positions of 6×6 patches.* Pool\(grid=2\) .* 1 to 4 of them"),
        ({"pooling": Pool("max", grid=[1, 4])}, 12, r"7×7 positions.* Pool\(grid=\[1, 4\]\) .* 1 to 4 of them"),
        ({"pooling": SecondOrder(grid=(3, 1))}, 8, r"SecondOrder\(grid=\(3, 1\)\) .* has 3 of them.* Give a coarser grid"),
        ({"descriptor": Patches(4, stride=4), "pooling": Pool()}, 12, r"3×3 positions .* smaller size or stride"),
    ],
)
def test_a_grid_too_fine_for_the_images_gets_a_warning(photos, settings, side, words):
    with pytest.warns(GridWarning, match=words) as caught:
        PooledFeatures(**QUICK, **settings).fit(photos[:, :side, :side])
    assert [one.filename for one in caught] == [__file__]


def test_grids_that_fit_and_rows_that_were_clipped_get_no_warning(photos, rng):
    rows = rng.integers(0, 256, size=(40, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PooledFeatures(**QUICK).fit(photos[:, :9, :9])  # 4×4 positions
        PooledFeatures(**QUICK).fit(rows)
    with pytest.warns(GridWarning, match="1×7 pixels"):
        PooledFeatures(**QUICK, descriptor=Patches((1, 6)), pooling=Pool(grid=(1, 2)), image_shape=(1, 7)).fit(rows)


@pytest.fixture
def few(rng):
    """20 samples with 400 features, four classes."""
    return rng.normal(size=(20, 400)), np.arange(20) % 4


@pytest.mark.parametrize(("settings", "gamma"), [({"gamma": 0.003}, 0.003), ({"gamma": None}, 0.005), ({"C": 50.0}, 0.0005)])
def test_a_gamma_far_too_small_for_many_features_gets_a_warning(few, settings, gamma):
    guess = LinearSVM().fit(*few).gamma_
    with pytest.warns(GammaWarning, match="20 samples with 400 features") as caught:
        svm = LinearSVM(**settings).fit(*few)
    (one,) = caught
    assert one.filename == __file__
    assert svm.gamma_ == pytest.approx(gamma)
    assert gamma < guess / 100
    for words in (f"a gamma of {gamma:.3g}", f"gamma='auto' would be {guess:.3g}", "LinearSVMCV"):
        assert words in str(one.message)
    assert ("C = 50" in str(one.message)) == ("C" in settings)


def test_a_gamma_that_is_large_enough_or_has_samples_enough_gets_no_warning(few):
    X, y = few
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guess = 0.025 * np.sqrt(4) * X.var(axis=0).sum() / len(X)  # γ₀ (docs/svm.md)
        LinearSVM(guess / 99).fit(X, y)
        LinearSVM(guess / 1000).fit(X[:, :80], y)
    with pytest.warns(GammaWarning):
        LinearSVM(guess / 101).fit(X, y)


def test_a_warning_that_is_an_error_leaves_the_classifier_as_it_was(few):
    svm = LinearSVM().fit(*few)
    before = svm.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GammaWarning):
            svm.set_params(gamma=1e-6).fit(*few)
    assert svm.coef_ is before
