import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
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


def test_every_pixel_and_place_is_that_of_the_whole_pictures():
    """Digests of what was cut from scikit-image's own files, before only the crops' pixels were shipped."""
    bunch = load_photos()
    places = bunch.corners.astype("<i8").tobytes()
    assert hashlib.sha256(bunch.images.tobytes()).hexdigest() == (
        "4e6cdcd43b37734a9df1b413f30a18f9655d341b00bfd6d8f3ae0b9b6ac451e2"
    )
    assert hashlib.sha256(places).hexdigest() == "6227f3618ee6fce1d249fafa40417a4892972644a0b0889dc0a9dc5d51acc558"


@pytest.mark.parametrize("name", photos.PICTURES)
def test_shipped_pictures_are_scikit_images_where_a_crop_lies(name):
    skimage = pytest.importorskip("skimage")
    theirs = {"cat": "chelsea", "galaxies": "hubble_deep_field", "motorcycle": "motorcycle_left", "tissue": "ihc"}.get(
        name, name
    )
    (path,) = (Path(skimage.__file__).parent / "data").glob(f"{theirs}.*")
    if path.suffix == ".jpg":
        pytest.skip("decoders of JPEG may differ in a bit; the digest holds what was decoded")
    whole, bunch = np.asarray(Image.open(path).convert("RGB")), load_photos()
    own = bunch.target == photos.PICTURES.index(name)
    for image, (y, x) in zip(bunch.images[own], bunch.corners[own], strict=True):
        np.testing.assert_array_equal(image, whole[y : y + 32, x : x + 32])


def test_every_picture_has_its_licence():
    folder = files("poolwise.datasets") / "pictures"
    stated = (folder / "LICENSES.txt").read_text(encoding="utf-8")
    assert all(f"\n{name} " in stated for name in photos.PICTURES)
    assert sum(len(path.read_bytes()) for path in folder.iterdir()) < 3_000_000


def test_an_unknown_subset_is_named():
    with pytest.raises(ValueError, match="got 'validation'"):
        load_photos(subset="validation")


def test_a_missing_picture_says_what_to_reinstall(monkeypatch):
    monkeypatch.setattr(photos, "PICTURES", ("no-such-file",))
    with pytest.raises(FileNotFoundError, match="reinstall poolwise"):
        load_photos()
