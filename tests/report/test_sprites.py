"""Many pictures in one: every tile is where the page looks for it, and many of them stay small."""

import base64
import io

import numpy as np
from PIL import Image

from poolwise.report.draw.sprites import photo_sprite, sprite


def decoded(address):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))).convert("RGB"))


def tile(pixels, number, columns, h, w):
    y, x = divmod(number, columns)
    return pixels[y * h : (y + 1) * h, x * w : (x + 1) * w]


def test_few_codes_are_there_to_the_bit(rng):
    tiles = rng.integers(0, 256, (37, 6, 5, 3), dtype=np.uint8)
    address, columns = sprite(tiles)
    pixels = decoded(address)
    for number in range(37):
        np.testing.assert_array_equal(tile(pixels, number, columns, 6, 5), tiles[number])


def test_many_codes_have_fewer_shades_and_are_smaller(rng):
    tiles = rng.integers(0, 256, (12_800, 6, 6, 3), dtype=np.uint8)
    address, columns = sprite(tiles)
    pixels = decoded(address)
    assert len(np.unique(pixels)) <= 33  # and the ground between tiles
    assert len(address) < 4 / 3 * 0.72 * tiles.size
    for number in (0, 1, 6_400, 12_799):
        assert np.abs(tile(pixels, number, columns, 6, 6).astype(int) - tiles[number]).max() <= 7


def test_many_photographs_become_a_jpeg(rng):
    smooth = np.linspace(0, 255, 12, dtype=np.uint8)
    tiles = np.broadcast_to(smooth[None, :, None, None], (2_000, 12, 12, 3)).copy()
    assert photo_sprite(tiles[:50])[0].startswith("data:image/png")
    address, columns = photo_sprite(tiles)
    assert address.startswith("data:image/jpeg")
    assert np.abs(tile(decoded(address), 7, columns, 12, 12).astype(int) - tiles[7]).mean() < 8
