import numpy as np

from poolwise.support.tiles import arrange


def test_tiles_stand_in_rows(rng):
    tiles = rng.integers(0, 255, size=(5, 2, 3, 3)).astype(np.uint8)
    picture = arrange(tiles, 2, zoom=2, gap=1)
    assert picture.shape == (3 * 5 + 1, 2 * 7 + 1, 3)
    for k in range(5):
        y, x = 1 + k // 2 * 5, 1 + k % 2 * 7
        np.testing.assert_array_equal(picture[y : y + 4 : 2, x : x + 6 : 2], tiles[k])
    assert (picture[-5:, -7:] == 255).all()


def test_without_columns_the_picture_is_as_square_as_possible():
    tiles = np.zeros((7, 2, 2, 3), np.uint8)
    assert arrange(tiles).shape == (6, 6, 3)
    assert arrange(tiles[:4]).shape == (4, 4, 3)
    assert arrange(tiles[:1]).shape == (2, 2, 3)
