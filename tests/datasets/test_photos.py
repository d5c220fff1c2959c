import numpy as np
import pytest
from sklearn.utils import Bunch

from poolwise.datasets import load_photos, photos


def test_it_is_a_bunch_as_scikit_learns():
    bunch = load_photos()
    assert isinstance(bunch, Bunch)
    assert bunch.images.shape == (4800, 32, 32, 3)
    assert bunch.images.dtype == np.uint8
    np.testing.assert_array_equal(bunch.data, bunch.images.reshape(4800, 3072))
    assert bunch.target.shape == bunch.is_train.shape == (4800,)
    assert len(bunch.target_names) == 16 >= 12
    assert "32×32" in bunch.DESCR


def test_subsets_are_the_parts_of_the_whole():
    whole, train, test = (load_photos(subset=s) for s in ("all", "train", "test"))
    np.testing.assert_array_equal(whole.images[whole.is_train], train.images)
    np.testing.assert_array_equal(whole.images[~whole.is_train], test.images)
    assert np.bincount(train.target).tolist() == [200] * 16
    assert np.bincount(test.target).tolist() == [100] * 16


def test_return_X_y():
    X, y = load_photos(subset="test", return_X_y=True)
    assert X.shape == (1600, 32, 32, 3)
    assert y.shape == (1600,)


def test_crops_are_pixels_of_their_picture():
    bunch = load_photos()
    for label, name in enumerate(bunch.target_names):
        picture = photos.read_picture(name)
        for i in np.flatnonzero(bunch.target == label)[::37]:
            y, x = bunch.corners[i]
            np.testing.assert_array_equal(bunch.images[i], picture[y : y + 32, x : x + 32])


def test_training_and_test_crops_are_further_apart_than_a_crop():
    bunch = load_photos()
    for label in range(16):
        train = bunch.corners[(bunch.target == label) & bunch.is_train]
        test = bunch.corners[(bunch.target == label) & ~bunch.is_train]
        between = np.abs(train[:, None] - test[None]).max(axis=2) - 32  # empty pixels between two crops, at least
        assert between.min() > 32


def test_colour_and_texture_are_there():
    bunch = load_photos(subset="train")
    grey = [np.ptp(bunch.images[bunch.target == label], axis=3).max() == 0 for label in range(16)]
    assert 4 <= sum(grey) <= 12


def test_loading_twice_gives_the_same():
    assert load_photos().images.tobytes() == load_photos().images.tobytes()


def test_an_unknown_subset_is_named():
    with pytest.raises(ValueError, match="got 'validation'"):
        load_photos(subset="validation")


def test_a_missing_picture_says_what_to_reinstall(monkeypatch):
    monkeypatch.setitem(photos.PICTURES, "cat", "no-such-file.png")
    with pytest.raises(FileNotFoundError, match="reinstall scikit-image"):
        load_photos()
