"""Some rows of an array or source."""

import numpy as np
import pytest

from poolwise import KMeans, open_images
from poolwise.images.rows import RowsOf

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
