import numpy as np
import pytest

from poolwise.report.draw.mosaic import by_colour, cluster_mosaic, code_mosaic


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


def test_codes_that_are_not_patches_are_refused():
    with pytest.raises(ValueError, match="are not patches of"):
        code_mosaic(np.zeros((3, 10)), (2, 2, 3))


def test_by_colour_puts_grey_first(rng):
    grey = np.repeat(rng.normal(size=(3, 4, 1)), 3, axis=2).reshape(3, 12)
    colour = rng.normal(size=(3, 12))
    order = by_colour(np.vstack([colour, grey]), 3)
    assert set(order[:3]) == {3, 4, 5}


def test_each_column_is_an_exemplar_above_its_codes_the_most_alike_first():
    codes = np.zeros((5, 4))
    codes[:, 0], codes[:, 1] = 1.0, np.array([-1.0, -0.5, 0.0, 0.5, 1.0])  # told apart by the second pixel
    cluster, closeness = np.array([0, 4, 4, 0, 4]), np.array([1.0, 0.2, 0.9, 0.3, 1.0])
    pixels = np.asarray(cluster_mosaic(codes, cluster, (2, 2, 1), closeness=closeness, zoom=1, gap=1))[..., 0]
    shades = np.round(127.5 + 127.5 * codes[:, 1]).astype(int)
    assert pixels[1, [2, 5]].tolist() == shades[[4, 0]].tolist()  # exemplars, the larger cluster first
    assert pixels[6, [2, 5]].tolist() == shades[[2, 3]].tolist()
    assert pixels[9, [2, 5]].tolist() == [shades[1], 255]
    assert pixels.shape == (12, 7)


def test_many_exemplars_go_into_bands_and_many_codes_are_cut(rng):
    codes, cluster = rng.normal(size=(30, 12)), np.repeat(np.arange(0, 30, 6), 6)
    one = cluster_mosaic(codes, cluster, (2, 2, 3), columns=5, most=2, zoom=1, gap=1)
    two = cluster_mosaic(codes, cluster, (2, 2, 3), columns=3, most=2, zoom=1, gap=1)
    assert one.size == (16, 12)
    assert two.size == (10, 32)
    alone = cluster_mosaic(codes[:3], np.arange(3), (2, 2, 3), zoom=1, gap=1)  # every code represents itself alone
    assert alone.size == (10, 4)
