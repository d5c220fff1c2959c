from dataclasses import replace

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method import extraction, super_patches
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Threshold
from poolwise.method.extraction import prepare
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pool
from poolwise.method.scale import Scale
from poolwise.method.super_patches import super_patch_blocks
from poolwise.method.whitening import identity
from poolwise.support.types import ImageSource


def layer_of(codes, shape, descriptor, pooling):
    codes = (codes / (np.linalg.norm(codes, axis=1, keepdims=True) + 1e-9)).astype(np.float32)
    return Layer(
        shape,
        descriptor,
        identity(codes.shape[1]),
        codes,
        Threshold(0.25, two_sided=False),
        pooling,
        Scale.none(pooling.n_cells, len(codes)),
    )


def small_layer(rng, size, grid, *, stride=1, contrast="std", how="average"):
    """Four codes of 3 × 3 patches with two channels, on square images."""
    D = rng.normal(size=(4, 3 * 3 * 2)).astype(np.float32)
    D[0] = 1.0
    return layer_of(D, (size, size, 2), Patches(3, stride, contrast, 1.0), Pool(how, grid))


def samples(layer, images, n, seed=0, threads=1):
    with Threads(threads) as engine:
        return np.concatenate(list(super_patch_blocks(layer, images, n, rng=np.random.default_rng(seed), engine=engine)))


@pytest.mark.parametrize(("grid", "stride", "sizes"), [(2, 1, {(6, 6)}), ([(2, 1), (1, 1)], 2, {(5, 9), (9, 9)})])
def test_each_is_a_window_of_the_size_of_a_cell_pooled_whole(rng, grid, stride, sizes):
    images = rng.integers(0, 256, size=(3, 10, 10, 2), dtype=np.uint8)
    layer = small_layer(rng, 10, grid, stride=stride)
    whole = prepare(replace(layer, pooling=Pool("average", grid=1)))
    windows = [
        whole.pooled(image[None, y : y + h, x : x + w])[0, 0]
        for h, w in sizes
        for image in images
        for y in range(10 - h + 1)
        for x in range(10 - w + 1)
    ]
    X = samples(layer, images, 2000)
    assert X.shape == (2000, 4)
    distance = np.abs(X[:, None] - np.array(windows)[None]).max(axis=2)
    assert distance.min(axis=1).max() < 1e-5  # every sample is one of the windows,
    assert distance.min(axis=0).max() < 1e-5  # and every window was drawn, those at both ends too


def test_sizes_occur_as_often_as_cells_have_them(rng):
    bright = np.full((1, 9, 9, 2), 5.0)  # 7 × 7 positions: cells of 4 and 3 rows and columns
    counts = samples(small_layer(rng, 9, 2, contrast=None, how="sum"), bright, 4000)[:, 0]
    values, n = np.unique(np.round(counts / counts.max() * 16).astype(int), return_counts=True)
    assert values.tolist() == [9, 12, 16]
    np.testing.assert_allclose(n / 4000, [1 / 4, 1 / 2, 1 / 4], atol=0.03)


def test_same_seed_same_samples_on_any_number_of_threads(rng):
    images = rng.integers(0, 256, size=(50, 20, 20, 2), dtype=np.uint8)
    layer = small_layer(rng, 20, 2)
    assert len({samples(layer, images, 3000, threads=t).tobytes() for t in (1, 2, 4)}) == 1
    assert samples(layer, images, 3000, seed=1).tobytes() != samples(layer, images, 3000).tobytes()


class Source(ImageSource):
    """Images that are decoded when they are asked for; remembers which were."""

    def __init__(self, images):
        self.images, self.shape, self.dtype, self.read = images, images.shape, images.dtype, []

    def __getitem__(self, rows):
        self.read.extend(rows.tolist())
        return self.images[rows]


@pytest.mark.parametrize("bytes_at_once", [1, 5000, 1 << 20])
@pytest.mark.parametrize("block_bytes", [1, 50_000])
def test_a_source_gives_the_same_and_each_image_is_decoded_once_per_size(rng, monkeypatch, bytes_at_once, block_bytes):
    monkeypatch.setattr(super_patches, "_DECODED_BYTES_AT_ONCE", bytes_at_once)
    monkeypatch.setattr(extraction, "_BYTES_PER_BLOCK", block_bytes)
    images = rng.integers(0, 256, size=(50, 10, 10, 2), dtype=np.uint8)
    source, layer = Source(images), small_layer(rng, 10, 2)
    assert samples(layer, source, 300, threads=2).tobytes() == samples(layer, images, 300, threads=2).tobytes()
    assert len(source.read) == len(set(source.read)) > 40  # 8 × 8 positions: all four cells have one size


def test_mean_over_super_patches_is_near_the_mean_over_cells(photos, engine):
    cut = Patches()
    D = cut.sample(photos, 8, rng=np.random.default_rng(0), engine=engine).array
    layer = layer_of(D, (32, 32, 3), cut, Pool("average", grid=2))
    cells = prepare(layer).pooled(photos).reshape(-1, 8).mean(axis=0)
    np.testing.assert_allclose(samples(layer, photos, 4000).mean(axis=0), cells, rtol=0.15)


def test_every_encoder_gives_samples_of_its_outputs(rng, make_layer, photos, encoder):
    layer = make_layer(rng, 5, encoder=encoder)
    X = samples(layer, photos[:9], 200)
    assert X.shape == (200, layer.n_outputs)
    assert np.isfinite(X).all()
