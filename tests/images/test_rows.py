"""Some rows of an array or source."""

import numpy as np
import pytest
import tifffile

from poolwise import KMeans, PooledFeatures, open_images
from poolwise.images.mirrored import Mirrored
from poolwise.support.rows import RowsOf

from settings import paper_features

ORDER = np.array([7, 3, 100, 3])


@pytest.mark.parametrize("opened", [False, True])
def test_rows_in_their_order_cut_as_in_an_array(photos, opened):
    part = RowsOf(open_images(photos) if opened else photos, ORDER)
    assert part.shape == (4, 32, 32, 3)
    assert part.dtype == np.uint8
    assert len(part) == 4
    for rows in (slice(None), slice(1, 3), slice(None, None, -1), np.array([3, 0]), slice(4, 4)):
        np.testing.assert_array_equal(part[rows], photos[ORDER][rows])


def test_features_of_rows_are_those_of_the_array(photos):
    model = paper_features(4, n_patches=2000, dictionary=KMeans(max_iter=3), random_state=0)
    rows = np.arange(0, 160, 3)
    np.testing.assert_array_equal(model.fit_transform(RowsOf(photos, rows)), model.fit_transform(photos[rows]))


@pytest.mark.parametrize("part", [lambda images: RowsOf(images, np.arange(4)), Mirrored])
def test_bands_are_scaled_as_those_of_the_whole(tmp_path, rng, part):
    """Reflectances in files, which `plan` wraps: as numbers of pixels they would drown in the contrast's offset."""
    for number in range(5):
        pixels = rng.random((8, 9, 3)).astype(np.float32)
        tifffile.imwrite(tmp_path / f"{number}.tif", pixels, photometric="rgb")
    images = open_images(tmp_path)
    model = PooledFeatures(3, None, n_patches=300, random_state=0).set_params(descriptor__size=3)
    assert model.fit(images).bands_ is not None
    assert model.fit(part(images)).bands_ is not None
