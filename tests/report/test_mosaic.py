import numpy as np
import pytest

from poolwise.report.mosaic import by_colour, code_mosaic


def test_each_code_is_stretched_about_grey_with_sharp_pixels():
    code = np.zeros((2, 2, 3))
    code[0, 0], code[1, 1] = 5.0, -2.5
    pixels = np.asarray(code_mosaic(code.reshape(1, -1), (2, 2, 3), zoom=4, gap=1))
    assert pixels.shape == (10, 10, 3)
    assert (pixels[1:5, 1:5] == 255).all()
    assert (pixels[5:9, 5:9] == 64).all()
    assert (pixels[1:5, 5:9] == 128).all()


@pytest.mark.parametrize(
    ("channels", "K", "columns", "size"), [(1, 5, None, (28, 19)), (13, 4, 4, (37, 10)), (3, 1, None, (10, 10))]
)
def test_any_number_of_codes_and_channels(rng, channels, K, columns, size):
    codes = rng.normal(size=(K, 4 * channels))
    assert code_mosaic(codes, (2, 2, channels), columns=columns, zoom=4, gap=1).size == size


def test_a_code_of_zeros_is_grey():
    assert np.asarray(code_mosaic(np.zeros((1, 4)), (2, 2, 1), zoom=1, gap=0)).tolist() == [[[128] * 3] * 2] * 2


def test_codes_that_are_no_patches_are_refused():
    with pytest.raises(ValueError, match="are not patches of"):
        code_mosaic(np.zeros((3, 10)), (2, 2, 3))


def test_by_colour_puts_grey_first(rng):
    grey = np.repeat(rng.normal(size=(3, 4, 1)), 3, axis=2).reshape(3, 12)
    colour = rng.normal(size=(3, 12))
    order = by_colour(np.vstack([colour, grey]), 3)
    assert set(order[:3]) == {3, 4, 5}
