"""Bands of any range: scaled as learned in `fit`, kept by the model, and the same features for the same picture."""

import numpy as np
import pytest

from poolwise import Patches, PooledFeatures, StackedFeatures, load, open_images, save, tune
from poolwise.method.bands import Banded, learn_bands


@pytest.fixture
def tiles(rng):
    """40 images of 12 bits, three bands of very different ranges."""
    base = rng.integers(0, 256, size=(40, 5, 5, 3)).repeat(4, axis=1).repeat(4, axis=2)
    return (base * np.array([12, 2, 0.5]) + np.array([300, 20, 5])).astype(np.uint16)


def small(**parameters):
    return PooledFeatures(6, n_candidates=None, n_patches=2000, pooling="average", random_state=0, n_jobs=1, **parameters)


def test_each_band_has_the_mean_and_spread_of_pixels(tiles):
    model = small().fit(tiles)
    x = model.look_at(tiles)[:]
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.mean(axis=(0, 1, 2)), 128, atol=0.01)
    np.testing.assert_allclose(x.std(axis=(0, 1, 2)), 40, rtol=1e-4)
    by_hand = 128 + 40 * (tiles - tiles.mean(axis=(0, 1, 2))) / tiles.std(axis=(0, 1, 2))
    np.testing.assert_allclose(x, by_hand, atol=0.01)


def test_features_are_those_of_images_scaled_by_hand_and_do_not_depend_on_units(tiles):
    model = small().fit(tiles)
    scaled = model.look_at(tiles)[:]
    expected = small(bands=None).fit(scaled).transform(scaled)
    np.testing.assert_array_equal(model.transform(tiles), expected)
    other = tiles.astype(np.int32) * 7 - 1000  # another gain and offset of the sensor
    np.testing.assert_allclose(small().fit(other).transform(other), expected, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_auto_leaves_pixels_of_8_bits_alone_whatever_their_type(rng, dtype):
    images = rng.integers(0, 256, size=(20, 16, 16, 3)).astype(dtype)
    model = small().fit(images)
    assert model.bands_ is None
    assert np.shares_memory(model.look_at(images), images)


def test_reflectances_are_warned_of_and_standardised_on_request(rng):
    images = rng.random((20, 16, 16, 3))
    with pytest.warns(UserWarning, match="standardise them with bands='standardize'"):
        small().fit(images)
    assert small(bands="standardize").fit(images).bands_ is not None


def test_ranges_become_0_to_255(tiles):
    model = small(bands=[(0, 4095), (0, 1000), (0, 255)]).fit(tiles)
    np.testing.assert_allclose(model.look_at(tiles)[:][..., 0], tiles[..., 0] / 4095 * 255, rtol=1e-5)
    with pytest.raises(ValueError, match="bands has 1 ranges, but the images have 3 channels"):
        small(bands=[(0, 4095)]).fit(tiles)
    for wrong in ("standardise", [(1, 0)], [(0, np.inf)], 5, []):
        with pytest.raises(ValueError, match="bands must be"):
            small(bands=wrong).fit(tiles)


def test_a_saved_model_scales_as_before(tiles, tmp_path):
    model = small().fit(tiles)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.get_params()["bands"] == "auto"
    np.testing.assert_array_equal(again.bands_.gain, model.bands_.gain)
    np.testing.assert_array_equal(again.transform(tiles[:5]), model.transform(tiles[:5]))
    save(small(bands=None).fit(tiles), tmp_path / "n.safetensors")
    assert load(tmp_path / "n.safetensors").bands_ is None


def test_bands_are_scaled_once_in_stacks_sources_and_searches(tiles, tmp_path):
    np.save(tmp_path / "tiles.npy", tiles)
    source = open_images(tmp_path / "tiles.npy")
    model = small().fit(source)
    np.testing.assert_array_equal(model.transform(source), small().fit(tiles).transform(tiles))
    seen = model.look_at(source)
    assert isinstance(seen, Banded)
    np.testing.assert_array_equal(model.transform(seen), model.transform(source))
    stack = StackedFeatures([small(), small(descriptor=Patches(2))], map_cells=4).fit(tiles)
    save(stack, tmp_path / "s.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "s.safetensors").transform(tiles), stack.transform(tiles))
    search = tune(source, np.arange(40) % 2, n_codes=8, trials=2, random_state=0, n_jobs=1)
    assert search.best.fit(source, np.arange(40) % 2).bands_ is not None


def test_a_band_that_does_not_vary_becomes_even():
    images = np.zeros((3, 4, 4, 2), np.uint16)
    images[..., 0] = 1000
    images[0, 0, 0, 1] = 900
    assert np.all(learn_bands(images)(images)[..., 0] == 128)
