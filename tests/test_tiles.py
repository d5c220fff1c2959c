import numpy as np
import pytest

from poolwise.tiles import arrange, draw_tiles, unwhiten


def test_unwhitening_undoes_whitening(rng):
    A = rng.normal(size=(12, 12))
    lam, V = np.linalg.eigh(A @ A.T)
    W = (V / np.sqrt(lam)) @ V.T
    patches = rng.normal(size=(5, 12))
    np.testing.assert_allclose(unwhiten(patches @ W, W), patches, atol=1e-9)


def test_directions_that_whitening_left_out_stay_out(rng):
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    W = (V * [2, 1, 3, 1, 0, 0]) @ V.T
    patches = rng.normal(size=(4, 6))
    np.testing.assert_allclose(unwhiten(patches @ W, W), patches @ V[:, :4] @ V[:, :4].T, atol=1e-12)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_tiles_are_a_plain_loop(rng, channels):
    D, shape = rng.normal(size=(7, 6 * channels)), (2, 3, channels)
    for code, tile in zip(D, draw_tiles(D, shape), strict=True):
        pixels = code.reshape(shape) if channels == 3 else np.stack([code.reshape(shape).mean(axis=2)] * 3, axis=2)
        np.testing.assert_array_equal(tile, np.round(127.5 + 127.5 * pixels / np.abs(pixels).max()))


def test_tiles_stand_in_rows(rng):
    tiles = rng.integers(0, 255, size=(5, 2, 3, 3)).astype(np.uint8)
    picture = arrange(tiles, 2, zoom=2, gap=1)
    assert picture.shape == (3 * 5 + 1, 2 * 7 + 1, 3)
    for k in range(5):
        y, x = 1 + k // 2 * 5, 1 + k % 2 * 7
        np.testing.assert_array_equal(picture[y : y + 4 : 2, x : x + 6 : 2], tiles[k])
    assert (picture[-5:, -7:] == 255).all()
