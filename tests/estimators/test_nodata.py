"""`nodata`: nothing in pixels without data reaches what is learned or pooled, and all else stays to the bit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from poolwise import Patches, Pool, PooledFeatures, SecondOrder, Sift, StackedFeatures, Standardize, load, open_images, save
from poolwise.analysis.excitation import excite
from poolwise.engine.threads import Threads
from poolwise.report.study import study
from poolwise.support.missing import missing_pixels
from poolwise.tuning.task import as_task

FEW = {"n_patches": 1500, "random_state": 0, "n_jobs": 1}
SETTINGS = {
    "labels": {},
    "cells": {"scale": Standardize("cell"), "selection": "affinity", "pooling": Pool("average", grid=2)},
    "super patches": {"n_super_patches": 60, "pooling": "average", "selection": "affinity"},
    "second order": {"pooling": SecondOrder(grid=1), "n_codes": 4},
    "directions": {"pooling": SecondOrder(grid=2, directions=5, directions_by="labels"), "n_codes": 4},
    "sift": {"descriptor": Sift(bins=1), "n_candidates": None, "pooling": "max"},
    "convolutional": {"dictionary": "convolutional", "n_candidates": None, "pooling": "average"},
    "standardized": {"bands": "standardize", "pooling": "average", "symmetry": "dihedral"},
    "sparse": {"encoder": "omp", "n_candidates": 12, "pooling": "average", "selection": "affinity"},
}


@pytest.fixture
def tiles(rng):
    """30 tiles of 20 × 20 pixels and three bands, 1 to 255, and labels that show."""
    y = np.arange(30) % 2
    base = rng.integers(1, 256, size=(30, 5, 5, 3)).repeat(4, axis=1).repeat(4, axis=2)
    noise = rng.integers(-15, 16, size=base.shape) * (1 + 2 * y[:, None, None, None])
    return np.clip(base + noise, 1, 255).astype(np.uint8), y


@pytest.fixture
def edges(tiles):
    """The same with a third of the tiles at an edge of the scene; where data are missing, and labels."""
    x, y = tiles
    missing = np.zeros(x.shape[:3], np.bool_)
    missing[::6, :8] = missing[1::6, :, 14:] = missing[4, 3:5, 3:5] = True
    return x, missing, y


def model(nodata, **more):
    return PooledFeatures(**{"n_codes": 5, "n_candidates": 15, "nodata": nodata, **FEW, **more})


def holding(x, missing, number, bands=slice(None)):
    x = x.astype(np.float32)
    x[..., bands][missing] = number
    return x


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_pixels_without_data_hold_changes_nothing(edges, setting):
    x, missing, y = edges
    a, b = holding(x, missing, -9999), holding(x, missing, 250)
    b[missing, 1] = -9999  # one band is enough
    c = holding(x, missing, np.nan)
    found = [model(nodata, **SETTINGS[setting]).fit(z, y).transform(z) for nodata, z in ((-9999, a), (-9999, b), ("nan", c))]
    assert np.isfinite(found[0]).all()
    assert found[0].any(axis=1).all()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("setting", SETTINGS)
def test_without_missing_pixels_it_changes_no_bit(tiles, setting):
    x, y = tiles
    plain, other = (model(nodata, **SETTINGS[setting]) for nodata in (None, 0))
    np.testing.assert_array_equal(plain.fit_transform(x, y), other.fit_transform(x, y))
    np.testing.assert_array_equal(plain.codes_, other.codes_)
    np.testing.assert_array_equal(plain.transform(x[3:9]), other.transform(x[3:9]))


def test_features_are_those_of_the_formula(edges):
    x, missing, y = edges
    features = model("nan").fit(holding(x, missing, np.nan), y)
    expected = features.layer_.features(holding(x, missing, np.nan))
    np.testing.assert_allclose(features.transform(holding(x, missing, np.nan)), expected, atol=1e-4)


def test_all_of_it_on_one_thread_or_two(edges):
    x, missing, y = edges
    z = holding(x, missing, np.nan)
    one, two = (model("nan", n_jobs=n).fit_transform(z, y) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_images_without_any_data_give_zeros_and_one_warning(edges):
    x, missing, y = edges
    missing[7] = missing[9] = True
    z = holding(x, missing, 0)
    with pytest.warns(UserWarning, match="2 of 30 images have no patch of 6×6 pixels without missing pixels"):
        features = model(0).fit(z, y)
    for found in (lambda: features.transform(z), lambda: np.concatenate([X for _, X in features.transform_blocks(z)])):
        with pytest.warns(UserWarning, match="2 of 30 images have no patch without missing pixels") as seen:
            X = found()
        assert len(seen) == 1
        np.testing.assert_array_equal(np.flatnonzero(~X.any(axis=1)), [7, 9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.transform(z[:5])


def test_a_cell_without_data_has_the_mean_of_all(edges):
    x, missing, _ = edges
    missing[3, :10] = True
    features = model(0, pooling=Pool("average", grid=2), n_candidates=None).fit(x)
    X = features.transform(holding(x, missing, 0))[3].reshape(4, -1)
    assert not X[:2].any()
    assert X[2:].any(axis=1).all()


def test_learning_needs_patches_that_have_data(tiles):
    x, y = tiles
    with pytest.raises(ValueError, match=r"none of the 6,750 patches of 6×6 pixels in 30 images is without missing pixels"):
        model(0).fit(np.zeros_like(x), y)
    z = np.zeros_like(x)
    z[0, :7, :7] = x[0, :7, :7]
    with pytest.warns(UserWarning, match="29 of 30"), pytest.raises(ValueError, match="4"):
        model(0, n_candidates=None).fit(z)
    z[:, :9] = x[:, :9]
    with pytest.raises(ValueError, match=r"data in each of \d×\d cells; 0 of 30 have.*selection='affinity'"):
        model(0, selection="supervised", pooling="average").fit(z, y)
    with pytest.raises(ValueError, match="none of the 30 images looked at has a pixel with data"):
        model(0, bands="standardize").fit(np.zeros_like(x), y)


def test_nan_is_refused_with_the_remedy(tiles):
    x, _ = tiles
    z = x.astype(np.float32)
    z[3, 4, 4, 1] = np.nan
    for X in (z, z.reshape(30, -1)):
        with pytest.raises(ValueError, match="nodata='nan'"):
            PooledFeatures(4, image_shape=(20, 20, 3), **FEW).fit(X)
    z[3, 4, 4, 1] = np.inf
    with pytest.raises(ValueError, match="nodata='nan'"):
        PooledFeatures(4, **FEW).fit(z)
    with pytest.raises(ValueError, match="nodata='nan'"):
        PooledFeatures(4, **FEW).fit(open_images(z))
    fitted = PooledFeatures(4, **FEW).fit(x)
    with pytest.raises(ValueError, match="nodata='nan'"):
        fitted.transform(z)
    assert np.isfinite(fitted.set_params(nodata="nan").transform(z)).all()


def test_rows_arrays_sources_and_maps_are_alike(edges, tmp_path):
    x, missing, y = edges
    z = holding(x, missing, np.nan)
    np.save(tmp_path / "z.npy", z)
    expected = model("nan").fit(z, y).transform(z)
    for X in (z.reshape(30, -1), open_images(z, nodata="nan"), open_images(tmp_path / "z.npy", nodata="nan")):
        features = model("nan", image_shape=(20, 20, 3)).fit(X, y)
        np.testing.assert_array_equal(features.transform(X), expected)


def test_numbers_beyond_the_range_of_features_may_mark_missing_pixels(edges):
    x, missing, y = edges
    least = float(np.finfo(np.float32).min)  # of many GeoTIFF
    z = holding(x, missing, least)
    expected = model("nan").fit_transform(holding(x, missing, np.nan), y)
    np.testing.assert_array_equal(model(least).fit_transform(z, y), expected)
    np.testing.assert_array_equal(model(least).fit_transform(open_images(z, nodata=least), y), expected)


def test_sixteen_bits_with_a_missing_number_are_still_standardised(edges):
    x, missing, y = edges
    z = x.astype(np.int16) * 30
    z[missing] = -9999
    features = model(-9999).fit(z, y)
    data = features.bands_(z[~missing].astype(np.float32))
    np.testing.assert_allclose(data.mean(axis=0), 128, atol=0.1)
    small = x.astype(np.int16)
    small[missing] = -9999
    assert model(-9999).fit(small, y).bands_ is None  # 0..255, but for what is no data


def test_a_number_that_pixels_cannot_hold_is_warned_of(tiles):
    with pytest.warns(UserWarning, match=r"pixels of type uint8 are never nodata=-9999"):
        model(-9999).fit(*tiles)


def test_images_opened_otherwise_are_refused(tiles):
    x, y = tiles
    with pytest.raises(ValueError, match=r"opened with nodata=0\.0, but the features have nodata=None"):
        model(None).fit(open_images(x, nodata=0), y)


@pytest.mark.parametrize("nodata", ["NaN?", True, [0], float("inf")])
def test_other_values_are_refused(tiles, nodata):
    with pytest.raises(ValueError, match="nodata must be a number such as 0 or -9999, 'nan', or None"):
        model(nodata).fit(tiles[0])


def test_a_model_file_keeps_it(edges, tmp_path):
    x, missing, y = edges
    z = holding(x, missing, np.nan)
    features = model(np.nan).fit(z, y)
    save(features, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert loaded.nodata == "nan"
    np.testing.assert_array_equal(loaded.transform(z), features.transform(z))
    assert clone(model(-9999.0)).nodata == -9999.0


def test_functions_and_stacks_are_refused_in_words(tiles):
    x, _ = tiles
    with pytest.raises(ValueError, match=r"which pixels the descriptor .* looks at for a position is not known"):
        PooledFeatures(4, descriptor=lambda images: images[:, ::2, ::2], nodata=0, **FEW).fit(x)
    with pytest.raises(ValueError, match="a stack cannot leave these out; use one layer for nodata=0"):
        StackedFeatures([PooledFeatures(4, nodata=0, **FEW), PooledFeatures(4, descriptor=Patches(2), **FEW)]).fit(x)


def test_a_report_of_images_at_an_edge(edges):
    """The page shows patches that have data alone, and every region is what excites its code most of those."""
    x, missing, y = edges
    z = holding(x, missing, np.nan)
    features = model("nan").fit(z, y)
    with Threads(1) as engine:
        seen = excite(features.layer_, z, engine)
    for n in (0, 1, 4):
        F = features.layer_.activations(Patches()(np.nan_to_num(z[n : n + 1], nan=9)).reshape(225, -1))[:, :5]
        has_data = [not missing[n, i : i + 6, j : j + 6].any() for i in range(15) for j in range(15)]
        np.testing.assert_allclose(seen.best[n], F[has_data].max(axis=0), atol=1e-4)
        np.testing.assert_allclose(seen.mean[n], F[has_data].mean(axis=0), atol=1e-4)
    found = study(features, z, y)
    assert found.clusters.before is not None
    assert np.isfinite(found.clusters.before).all()
    assert found.regions.pixels.dtype == np.uint8


class Slices:
    """Something with shape, dtype and slices, which gives masked blocks, as netCDF4 does."""

    def __init__(self, masked):
        self.masked, self.shape, self.dtype = masked, masked.shape, masked.dtype

    def __getitem__(self, rows):
        return self.masked[rows]


@pytest.mark.parametrize(("dtype", "nodata"), [(np.uint8, 0), (np.float32, "nan"), (np.float32, -9999)])
def test_masks_of_numpy_are_missing_pixels(edges, dtype, nodata):
    """One masked band of a pixel is enough; what is under the mask is not looked at, however images are given."""
    x, missing, y = edges
    number = np.nan if nodata == "nan" else nodata
    expected = x.astype(dtype)
    expected[missing, 2] = number
    fitted = model(nodata).fit(expected, y)
    X = fitted.transform(expected)
    mask = np.zeros(x.shape, np.bool_)
    mask[missing, 2] = True
    masked = np.ma.masked_array(x.astype(dtype), mask)
    if dtype == np.float32:
        masked.data[mask] = 1e38  # too large for pixels
    under = masked.data.copy()
    np.testing.assert_array_equal(model(nodata).fit(masked, y).transform(masked), X)
    ways = (
        list(masked),
        masked.reshape(30, -1),
        open_images(masked, nodata=nodata),
        open_images(list(masked), nodata=nodata),
        open_images([(one, 0) for one in masked], nodata=nodata),
        open_images(Slices(masked), nodata=nodata),
        Slices(masked),
    )
    for given in ways:
        np.testing.assert_array_equal(fitted.transform(given), X)
    gathered = open_images(Slices(masked), nodata=nodata)[np.array([6, 3])]
    np.testing.assert_array_equal(missing_pixels(gathered, nodata), missing[[6, 3]])
    np.testing.assert_array_equal(gathered[~missing[[6, 3]]], expected[[6, 3]][~missing[[6, 3]]])
    assert as_task(masked, y, nodata=nodata).images[:].tobytes() == as_task(expected, y, nodata=nodata).images[:].tobytes()
    assert masked.data.tobytes() == under.tobytes()


def test_masks_without_nodata_are_refused(edges):
    x, missing, y = edges
    masked = np.ma.masked_array(x, np.repeat(missing[..., None], 3, axis=3))
    fitted, count = model(None).fit(x, y), f"{3 * missing.sum():,} numbers of the images are masked; give nodata"
    for refused in (
        lambda: model(None).fit(masked, y),
        lambda: fitted.transform(masked),
        lambda: fitted.transform(list(masked)),
        lambda: as_task(masked, y),
        lambda: open_images(masked)[:],
        lambda: open_images(Slices(masked))[:],
    ):
        with pytest.raises(ValueError, match=count):
            refused()
    with pytest.raises(ValueError, match=r"numbers of the images are masked; give nodata"):
        open_images([(one, 0) for one in masked])[:]
    for nodata in ("nan", -9999, 0.5, 300):
        with pytest.raises(ValueError, match=r"masked, and uint8 cannot hold nodata=.*, or the images as float32"):
            model(nodata).fit(masked, y)
    nothing = np.ma.masked_array(x, False)
    np.testing.assert_array_equal(fitted.transform(nothing), fitted.transform(x))
    with pytest.raises(ValueError, match="different shapes"):
        fitted.transform([masked[0], masked[1, :5]])
