"""Pixels without data: what is pooled of the others, next to loops over the patches that touch none of them."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise import Hog, Sift
from poolwise.engine.threads import Threads
from poolwise.method.bands import Banded, Bands, learn_bands
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import LLC, OMP, Lasso, Linear, Threshold
from poolwise.method.extraction import feature_blocks, features_of, prepare
from poolwise.method.extraction.plain import PlainPass
from poolwise.method.masked import Masked
from poolwise.method.pooling import MaxProducts, Pool, SecondOrder
from poolwise.method.pooling.cells import cell_edges
from poolwise.method.scale import Scale
from poolwise.method.statistics import Moments
from poolwise.method.symmetry import copies
from poolwise.support.missing import missing_pixels, whole_windows

SIDE = 14


@pytest.fixture
def images(rng):
    """Six images: whole, an edge missing, one quarter, a few pixels, all but one patch, all."""
    x = rng.uniform(0, 255, size=(6, SIDE, SIDE, 3)).astype(np.float32)
    x[1, :, :5] = x[2, :7, 7:] = np.nan
    x[3][rng.random((SIDE, SIDE)) < 0.02] = np.nan
    whole = x[4, 3:7, 5:9].copy()
    x[4] = np.nan
    x[4, 3:7, 5:9] = whole
    x[5] = np.nan
    return x


def small(make_layer, rng, **more):
    return make_layer(rng, 5, shape=(SIDE, SIDE, 3), **{"descriptor": Patches(4), **more})


def positions_with_data(image, layer):
    """(y, x) of the patches without a missing pixel, one by one."""
    (ph, pw), s = layer.descriptor.patch_size, layer.descriptor.stride
    h, w = layer.positions
    return [(i, j) for i in range(h) for j in range(w) if not np.isnan(image[i * s : i * s + ph, j * s : j * s + pw]).any()]


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_without_missing_pixels_are_those_of_a_loop(rng, stride):
    for _ in range(20):
        missing = rng.random((3, 11, 9)) < rng.choice([0, 0.02, 0.2, 1])
        found = whole_windows(missing, (3, 2), (stride, stride))
        for n in range(3):
            expected = [[not missing[n, y : y + 3, x : x + 2].any() for x in range(0, 8, stride)] for y in range(0, 9, stride)]
            assert found[n].tolist() == expected


def test_a_pixel_lacks_data_where_any_band_does():
    x = np.array([[[[0, 5], [5, 5], [0, 0]]]], np.uint16)
    assert missing_pixels(x, 0.0).tolist() == [[[True, False, True]]]
    assert not missing_pixels(x, "nan").any()
    assert not missing_pixels(x, -9999.0).any()
    assert not missing_pixels(x, 0.5).any()
    f = np.array([[[[1, np.nan], [np.inf, 1], [1, 2], [-9999, 1]]]], np.float32)
    assert missing_pixels(f, "nan").tolist() == [[[True, True, False, False]]]
    assert missing_pixels(f, -9999.0).tolist() == [[[True, True, False, True]]]
    least = float(np.finfo(np.float32).min)
    assert missing_pixels(np.full((1, 1, 1), least, np.float32), -3.4028235e38).all()


def test_numbers_stay_as_they_are_around_pixels_without_data(rng):
    for dtype, known in ((np.uint8, np.float32), (np.uint16, np.float32), (np.int32, np.float64), (np.float64, np.float64)):
        x = rng.integers(0, 4, size=(5, 6, 6, 2)).astype(dtype)
        masked = Masked(x, 0.0)
        assert masked.dtype == known
        missing = (x == 0).any(axis=3)
        for rows in (slice(1, 4), np.array([4, 0])):
            assert np.isnan(masked[rows][missing[rows]]).all()
            np.testing.assert_array_equal(masked[rows][~missing[rows]], x[rows][~missing[rows]])


REDUCE = {
    "average": lambda f: f.mean(axis=0),
    "sum": lambda f: f.sum(axis=0),
    "max": lambda f: f.max(axis=0),
    "rms": lambda f: np.sqrt((f**2).mean(axis=0)),
    "both": lambda f: np.concatenate([f.mean(axis=0), f.max(axis=0)]),
    "second_order": lambda f: (
        (f[:, :, None] * f[:, None, :]).mean(axis=0)[np.triu_indices(5)]
        * np.where(np.equal(*np.triu_indices(5)), 1, np.sqrt(2))
    ),
    "max_products": lambda f: np.sqrt((f[:, :, None] * f[:, None, :]).max(axis=0)[np.triu_indices(5)]),
}
POOLED = {how: Pool(how, grid=2) for how in Pool.words[1:]} | {
    "second_order": SecondOrder(grid=2, normalize=None),
    "max_products": MaxProducts(grid=2),
}


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("how", POOLED)
def test_a_cell_pools_its_patches_that_have_data(rng, make_layer, images, how, stride):
    layer = small(make_layer, rng, pooling=POOLED[how], descriptor=Patches(4, stride=stride))
    width = layer.pooling.width(5)
    layer = replace(layer, scale=Scale(rng.uniform(size=width), rng.uniform(1, 2, size=width)))
    h, w = layer.positions
    ye, xe = cell_edges(h, 2), cell_edges(w, 2)
    ready = prepare(layer)
    for image in images:
        here, expected = positions_with_data(image, layer), []
        for i in range(2):
            for j in range(2):
                cell = [(y, x) for y, x in here if ye[i] <= y < ye[i + 1] and xe[j] <= x < xe[j + 1]]
                patches = [image[y * stride : y * stride + 4, x * stride : x * stride + 4] for y, x in cell]
                if not patches:
                    expected.append(np.zeros(width))  # after scaling
                    continue
                P = np.concatenate([layer.descriptor(patch[None].astype(np.float64)).reshape(1, -1) for patch in patches])
                expected.append((REDUCE[how](layer.activations(P)) - layer.scale.mean) / layer.scale.spread)
        expected = np.concatenate(expected)
        tolerance = 1e-4 * max(1, np.abs(expected).max())
        for found in (layer.features(image[None])[0], features_of(ready, image[None])[0]):
            np.testing.assert_allclose(found, expected, atol=tolerance)
        np.testing.assert_allclose(features_of(PlainPass(layer), image[None])[0], expected, atol=tolerance)


def test_every_encoder_and_pooling(rng, make_layer, images, encoder, pooling):
    symmetry = None if isinstance(encoder, OMP | Lasso | LLC) else "mirror"
    layer = small(make_layer, rng, encoder=encoder, pooling=pooling.but(grid=[1, 2, (1, 3)]), symmetry=symmetry)
    expected = layer.features(images)
    assert np.isfinite(expected).all()
    for ready in (prepare(layer), PlainPass(layer)):
        found = features_of(ready, images)
        np.testing.assert_allclose(found, expected, atol=1e-4 * max(1, np.abs(expected).max()))
        assert not found[5].any()


@pytest.mark.parametrize("descriptor", [Sift(bins=1), Hog(cell=2), Sift(bins=1, stride=3)], ids=repr)
@pytest.mark.parametrize("encoder", [Threshold(0.25), Linear()], ids=repr)
def test_other_descriptors_leave_out_their_windows(rng, make_layer, images, descriptor, encoder):
    layer = small(make_layer, rng, descriptor=descriptor, encoder=encoder, pooling=Pool("max", grid=1))
    found = features_of(prepare(layer), images)
    np.testing.assert_allclose(found, layer.features(images), atol=1e-4)
    (height, width), (far, right) = descriptor.window(1, 1), descriptor.window(2, 2)
    h, w = layer.positions
    image, step = images[3], (far - height, right - width)
    F = layer.activations(descriptor(np.nan_to_num(image[None], nan=77)).reshape(h * w, -1)).reshape(h, w, -1)
    some = [
        F[y, x]
        for y in range(h)
        for x in range(w)
        if not np.isnan(image[y * step[0] : y * step[0] + height, x * step[1] : x * step[1] + width]).any()
    ]
    np.testing.assert_allclose(found[3], np.max(some, axis=0), atol=1e-4)


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_images_without_missing_pixels_keep_their_bits_next_to_others(rng, make_layer, images, make_pass):
    layer = small(make_layer, rng, symmetry="mirror")
    ready, whole = make_pass(layer), rng.uniform(0, 255, size=images.shape).astype(np.float32)
    alone = ready.pooled(whole)
    mixed = np.concatenate([images, whole])[[0, 6, 1, 7, 8, 2, 9, 10, 11]]
    np.testing.assert_array_equal(ready.pooled(mixed)[[1, 3, 4, 6, 7, 8]], alone)


@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_random_masks(rng, make_layer, make_pass):
    layer = small(make_layer, rng, pooling=Pool("both", grid=[1, 2]), symmetry="dihedral")
    ready = make_pass(layer)
    x = rng.uniform(0, 255, size=(12, SIDE, SIDE, 3)).astype(np.float32)
    for row, share in enumerate(rng.uniform(0, 0.2, size=12) ** 2):
        x[row][rng.random((SIDE, SIDE)) < share] = np.nan
    found = features_of(ready, x)
    np.testing.assert_allclose(found, layer.features(x), atol=1e-4)
    for view in copies(x, "dihedral"):  # the mask turns with the image
        np.testing.assert_allclose(features_of(ready, np.ascontiguousarray(view)), found, atol=1e-4)


def test_the_same_bits_on_any_number_of_threads_and_in_any_block(rng, make_layer, images, monkeypatch):
    from poolwise.method import extraction

    layer, many, found = small(make_layer, rng), np.concatenate([images] * 5), set()
    for size in (3, 30):
        monkeypatch.setattr(extraction, "block_size", lambda *_, size=size: size)
        for n_jobs in (1, 2):
            with Threads(n_jobs) as engine:
                found.add(np.concatenate([X for _, X in feature_blocks(prepare(layer), many, engine)]).tobytes())
    assert len(found) == 1


def test_sampled_patches_are_uniform_over_those_that_have_data(rng, engine):
    x = rng.integers(1, 200, size=(3, 6, 6, 1)).astype(np.uint8)
    x[1, 2:4] = 0  # one row of patches above and one below, 2 · 5 in place of 25
    x[2] = 0
    descriptor = Patches(2, contrast=None)
    with pytest.warns(UserWarning, match="1 of 3 images have no patch"):
        held = descriptor.sample(Masked(x, 0.0), 20_000, rng=rng, engine=engine)
    P = held.take(np.arange(20_000))
    assert np.isfinite(P).all()
    assert P.min() >= 1
    distinct, count = np.unique(P, axis=0, return_counts=True)
    expected = {}
    for n, each in ((0, 10_000 / 25), (1, 10_000 / 10)):
        for i in range(5):
            for j in range(5):
                patch = tuple(x[n, i : i + 2, j : j + 2].ravel().tolist())
                if 0 not in patch:
                    expected[patch] = expected.get(patch, 0) + each
    assert len(distinct) == len(expected) == 35
    for patch, times in zip(distinct.astype(int).tolist(), count, strict=True):
        assert abs(times - expected[tuple(patch)]) < 6 * np.sqrt(expected[tuple(patch)])


def test_samples_are_the_same_where_nothing_is_missing(rng, engine):
    x = rng.integers(1, 200, size=(9, 12, 12, 3)).astype(np.uint8)
    draws = []
    for images in (x, Masked(x, 0.0)):
        own = np.random.default_rng(3)
        draws.append((Patches(4).sample(images, 500, rng=own, engine=engine).take(np.arange(500)), own.random()))
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    assert draws[0][1] == draws[1][1]


def test_moments_leave_out_what_is_missing(rng):
    X = rng.normal(size=(50, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:10, 3] = np.nan
    X[:, 2] = np.nan
    moments = Moments(4, diagonal=True)
    for rows in (slice(0, 10), slice(10, 30), slice(30, 50)):
        moments.update(X[rows])
    np.testing.assert_allclose(moments.mean[[0, 1, 3]], np.nanmean(X[:, [0, 1, 3]], axis=0))
    np.testing.assert_allclose(moments.variance()[[0, 1, 3]], np.nanvar(X[:, [0, 1, 3]], axis=0))
    np.testing.assert_allclose(moments.variance(1)[[0, 1, 3]], np.nanvar(X[:, [0, 1, 3]], axis=0, ddof=1))
    assert (moments.mean[2], moments.variance()[2], moments.n[2]) == (0, 0, 0)


def test_bands_are_those_of_the_pixels_that_have_data(rng):
    x = rng.integers(1, 9000, size=(30, 8, 8, 2)).astype(np.uint16)
    x[0] = x[3, 2:] = x[7, 1, 1] = 0
    bands, data = learn_bands(Masked(x, 0.0)), x[x.all(axis=3)].astype(np.float64)
    np.testing.assert_allclose(bands(data).mean(axis=0), 128, rtol=1e-4)
    np.testing.assert_allclose(bands(data).std(axis=0), 40, rtol=1e-4)
    scaled = Banded(Masked(x, 0.0), bands)
    assert scaled.is_masked
    assert np.isnan(scaled[:][~x.all(axis=3)]).all()
    assert not Banded(x, Bands(np.ones(2), np.zeros(2))).is_masked
