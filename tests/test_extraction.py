"""The fused pass equals the pipeline done patch by patch, for every encoder, pooling, shape and stride."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise import encoding, extraction
from poolwise.encoding import encode, fold_dictionary
from poolwise.engine import Threads
from poolwise.extraction import Extractor
from poolwise.patches import normalize_contrast, view_patches
from poolwise.pooling import as_grids, pool_activations
from poolwise.whitening import Whitening


def random_whitening(rng, d):
    G = rng.normal(size=(d, d)) / np.sqrt(d)
    return Whitening(0.1 * rng.normal(size=d), np.eye(d) + 0.2 * (G + G.T))


def make(rng, d, K, *, patch=(6, 6), stride=1, contrast="std", encoder="threshold", two_sided=False, pool="average", grid=2):
    D, white = rng.normal(size=(K, d)), random_whitening(rng, d)
    D = (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(np.float32)
    folded = fold_dictionary(D, white, encoder, 0.25, two_sided)
    return Extractor(patch, stride, contrast, 10.0, folded, pool, as_grids(grid)), D, white


def naive(image, extractor, D, white, encoder, two_sided, grid):
    """Patch by patch in float64, each stage as its room states it."""
    view = view_patches(image.astype(np.float64), extractor.patch_size, extractor.stride)
    h, w = view.shape[:2]
    F = [
        encode(
            white(normalize_contrast(p.reshape(1, -1), extractor.contrast, 10.0)),
            D.astype(np.float64),
            encoder,
            0.25,
            two_sided,
        )[0]
        for row in view
        for p in row
    ]
    return pool_activations(np.array(F).reshape(h, w, -1), extractor.pool, grid).ravel()


@pytest.mark.parametrize(
    ("encoder", "two_sided"), [("threshold", False), ("threshold", True), ("triangle", False), ("vq", False)]
)
@pytest.mark.parametrize("pool", ["average", "max", "sum", "rms"])
def test_every_encoder_and_pooling(rng, photos, encoder, two_sided, pool):
    grid = [1, 2, (1, 3)]
    extractor, D, white = make(rng, 108, 20, encoder=encoder, two_sided=two_sided, pool=pool, grid=grid)
    X = extractor.extract(photos[:3])
    assert X.dtype == np.float32
    assert X.shape == (3, 8 * (40 if two_sided else 20))
    for i in range(3):
        expected = naive(photos[i], extractor, D, white, encoder, two_sided, grid)
        tolerance = 1e-4 * max(1.0, np.abs(expected).max())  # sums reach hundreds
        np.testing.assert_allclose(X[i], expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("contrast", ["std", "variance", None])
@pytest.mark.parametrize(
    ("shape", "patch", "stride", "grid"),
    [
        ((12, 19, 1), (3, 5), 1, (2, 3)),
        ((20, 11, 13), (4, 4), 2, 2),
        ((9, 9, 2), (9, 9), 1, 1),
        ((25, 30, 3), (5, 2), 3, (3, 1)),
    ],
)
def test_any_shape_patch_stride_and_contrast(rng, shape, patch, stride, grid, contrast):
    images = rng.uniform(0, 255, size=(2, *shape)).astype(np.float32)
    images = images / 50 if contrast is None else images
    extractor, D, white = make(rng, patch[0] * patch[1] * shape[2], 7, patch=patch, stride=stride, contrast=contrast, grid=grid)
    X = extractor.extract(images)
    for i in range(2):
        np.testing.assert_allclose(X[i], naive(images[i], extractor, D, white, "threshold", False, grid), atol=1e-4)


@pytest.mark.parametrize("K", [64, 65, 320, 700])
@pytest.mark.parametrize("two_sided", [False, True])
def test_more_codes_than_one_tile_holds(rng, photos, K, two_sided):
    extractor, D, white = make(rng, 108, K, two_sided=two_sided)
    expected = naive(photos[0], extractor, D, white, "threshold", two_sided, 2)
    np.testing.assert_allclose(extractor.extract(photos[:1])[0], expected, atol=1e-4)


@pytest.mark.parametrize("pool", ["max", "average"])
def test_triangle_where_codes_are_patches_themselves(rng, photos, pool):
    extractor, _, white = make(rng, 108, 20, encoder="triangle", pool=pool)
    P = view_patches(photos[0].astype(np.float64), (6, 6))[::6, ::6].reshape(-1, 108)
    D = white(normalize_contrast(P, "std", 10.0))[:20].astype(np.float32)
    extractor = replace(extractor, dictionary=fold_dictionary(D, white, "triangle", 0.25, False))
    expected = naive(photos[0], extractor, D, white, "triangle", False, 2)
    np.testing.assert_allclose(extractor.extract(photos[:1])[0], expected, atol=1e-4)


def test_bright_images_without_contrast_normalisation_keep_their_digits(rng, photos):
    images = 60_000 + photos[:1].astype(np.float64) / 50
    extractor, D, white = make(rng, 108, 10, contrast=None)
    white = Whitening(white.m + 60_000, white.W)
    extractor = replace(extractor, dictionary=fold_dictionary(D, white, "threshold", 0.25, False))
    expected = naive(images[0].astype(np.float32), extractor, D, white, "threshold", False, 2)
    np.testing.assert_allclose(extractor.extract(images)[0], expected, atol=1e-4)


@pytest.mark.parametrize("tile", [1, 10, 40, 200])
@pytest.mark.parametrize("pool", ["average", "max", "rms"])
@pytest.mark.parametrize("stride", [1, 2])
def test_tiles_of_positions_do_not_show(rng, photos, monkeypatch, tile, pool, stride):
    extractor, _, _ = make(rng, 108, 9, pool=pool, grid=[2, 3], stride=stride)
    whole = extractor.extract(photos[:2])
    monkeypatch.setattr(extraction, "_TILE_POSITIONS", tile)
    np.testing.assert_allclose(extractor.extract(photos[:2]), whole, atol=1e-5)
    for rows in (1, 5, 2000):
        other = replace(extractor, dictionary=replace(extractor.dictionary, rows=rows))
        np.testing.assert_allclose(other.extract(photos[:2]), whole, atol=1e-5)


@pytest.mark.parametrize("shape", [(1024, 320), (9, 64)])
def test_both_shapes_of_products_give_the_same_features(rng, photos, monkeypatch, shape):
    expected = make(np.random.default_rng(1), 108, 400)[0].extract(photos[:2])
    monkeypatch.setattr(encoding, "product_tile", lambda inner: shape)
    np.testing.assert_allclose(make(np.random.default_rng(1), 108, 400)[0].extract(photos[:2]), expected, atol=1e-5)


def test_large_flat_bright_regions_keep_their_digits(rng):
    image = np.full((1, 40, 40, 3), 250.0) + rng.normal(scale=0.01, size=(1, 40, 40, 3))
    extractor, D, white = make(rng, 108, 10)
    expected = naive(image[0].astype(np.float32), extractor, D, white, "threshold", False, 2)
    np.testing.assert_allclose(extractor.extract(image)[0], expected, atol=1e-4)


def test_blocks_and_threads_do_not_change_a_bit(rng, photos, monkeypatch):
    extractor, _, _ = make(rng, 108, 33)
    expected = extractor.extract(photos)
    for n_jobs, block_bytes in [(1, 1 << 20), (2, 1), (4, 100_000)]:
        monkeypatch.setattr(extraction, "_BLOCK_BYTES", block_bytes)
        out = np.empty_like(expected)
        done = []
        with Threads(n_jobs) as engine:
            extractor.extract_into(photos, engine, out.__setitem__, done.append)
        assert out.tobytes() == expected.tobytes()
        assert done[-1] == len(photos)
        assert done == sorted(done)


def test_blocks_hold_about_a_megabyte_of_pixels_and_features_together(rng):
    for K, shape in [(9, (32, 32, 3)), (2000, (32, 32, 3)), (9, (512, 512, 13))]:
        extractor, _, _ = make(rng, 36 * shape[2], K)
        n = extractor.block_size(shape)
        assert n == 1 or 4 * n * (np.prod(shape) + 2 * extractor.n_features) <= 1 << 20


def test_uint8_float32_and_float64_give_the_same(rng, photos):
    extractor, _, _ = make(rng, 108, 9)
    a, b, c = (extractor.extract(photos[:2].astype(t)) for t in (np.uint8, np.float32, np.float64))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)
