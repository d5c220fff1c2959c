"""Files and arrays with pixels without data: read as they are where that was said, and resized without a trace of them."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from poolwise import open_images
from poolwise.images import ImageError
from poolwise.support.missing import missing_pixels


@pytest.fixture
def scene(rng):
    """(24, 30, 3) float32 with a corner and a pixel missing in one band, and where."""
    pixels = rng.uniform(10, 900, size=(24, 30, 3)).astype(np.float32)
    pixels[:5, :7] = np.nan
    pixels[15, 20, 1] = np.nan
    return pixels, np.isnan(pixels).any(axis=2)


def write(folder, *images):
    folder.mkdir()
    for number, pixels in enumerate(images):
        tifffile.imwrite(folder / f"{number}.tif", pixels, photometric="minisblack", planarconfig="contig")
    return folder


def test_nan_is_let_through_where_it_was_said(tmp_path, scene):
    pixels, missing = scene
    folder = write(tmp_path / "scenes", pixels, pixels)
    with pytest.raises(ImageError, match=r"0\.tif: it has pixels that are NaN or infinite; leave them out with nodata='nan'"):
        open_images(folder)
    images = open_images(folder, nodata="nan")
    assert (images.nodata, images.dtype, images.shape) == ("nan", np.float32, (2, 24, 30, 3))
    np.testing.assert_array_equal(missing_pixels(images[:], "nan"), [missing, missing])
    np.testing.assert_array_equal(images[1][~missing], pixels[~missing])


def test_whole_numbers_stay_what_they_are(tmp_path, scene):
    pixels, missing = scene
    whole = np.where(missing[..., None], 0, np.nan_to_num(pixels)).astype(np.uint16)
    images = open_images(write(tmp_path / "scenes", whole), nodata=0)
    assert images.dtype == np.uint16
    np.testing.assert_array_equal(images[0], whole)


@pytest.mark.parametrize("crop", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.int16])
def test_a_resized_pixel_that_one_without_data_contributes_to_has_none(tmp_path, scene, dtype, crop):
    """Two fillings of what is missing: a resized pixel that depends on them is missing, and no other."""
    pixels, missing = scene
    number = -9999 if dtype is not np.uint16 else 0
    given = np.where(missing[..., None], number, np.nan_to_num(pixels)).astype(dtype)
    options = {"resize": (8, 10), "crop": crop}
    found = open_images(write(tmp_path / "scene", given), nodata=number, **options)[0]
    low, high = (
        open_images(write(tmp_path / f"{fill}", np.where(missing[..., None], fill, given).astype(np.float32)), **options)[0]
        for fill in (100.0, 30_000.0)
    )
    depends = (np.abs(high - low) > 1e-3).any(axis=2)
    assert 0 < depends.sum() < 20
    np.testing.assert_array_equal((found == number).all(axis=2), depends)
    np.testing.assert_array_equal((found == number).any(axis=2), depends)
    np.testing.assert_allclose(found[~depends], low[~depends], atol=0.51 if dtype is not np.float32 else 1e-3)


def test_bands_and_greys_of_pixels_without_data_have_none(tmp_path, scene):
    pixels, missing = scene
    folder = write(tmp_path / "scenes", np.where(missing[..., None], -9999, np.nan_to_num(pixels)).astype(np.int16))
    two = open_images(folder, nodata=-9999, channels=(2, 0))[0]
    np.testing.assert_array_equal((two == -9999).all(axis=2), missing)
    grey = open_images(folder, nodata=-9999, grey=True)[0]
    np.testing.assert_array_equal((grey == -9999).all(axis=2), missing)


def test_pngs_may_have_a_number_too(tmp_path, rng):
    pixels = rng.integers(1, 256, size=(12, 12)).astype(np.uint8)
    pixels[:4] = 0
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = open_images(tmp_path, nodata=0, resize=(6, 6))[0][..., 0]
    assert not found[:2].any()
    assert (found[3:] > 0).all()


def test_arrays_are_checked_around_what_has_no_data(scene):
    pixels, _ = scene
    many = np.stack([pixels, pixels])
    with pytest.raises(ImageError, match="nodata='nan'"):
        open_images(many)[:]
    np.testing.assert_array_equal(open_images(many, nodata="nan")[:], many)
    many[1, 20, 20, 0] = 1e30
    with pytest.raises(ImageError, match="image 1 has pixels"):
        open_images(many, nodata="nan")[:]
    np.testing.assert_array_equal(open_images(many, nodata=1e30)[:], many)


def test_other_values_are_refused(scene):
    with pytest.raises(ValueError, match="nodata must be a number such as 0 or -9999, 'nan', or None; got 'none'"):
        open_images(scene[0][None], nodata="none")
