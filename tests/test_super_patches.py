from dataclasses import replace

import numpy as np
import pytest

from poolwise.encoding import fold_dictionary
from poolwise.engine import Threads
from poolwise.extraction import Extractor
from poolwise.super_patches import extract_super_patches
from poolwise.whitening import identity


def extractor(rng, grids, stride=1, pool="average"):
    D = rng.normal(size=(4, 3 * 3 * 2)).astype(np.float32)
    D[0] = 1.0
    folded = fold_dictionary(D / np.linalg.norm(D, axis=1, keepdims=True), identity(18), "threshold", 0.25, False)
    return Extractor((3, 3), stride, "std", 1.0, folded, pool, grids)


def samples(extractor, images, n, seed=0, threads=1):
    blocks = []
    with Threads(threads) as engine:
        extract_super_patches(extractor, images, n, np.random.default_rng(seed), engine, blocks.append)
    return np.concatenate(blocks)


@pytest.mark.parametrize(("grids", "stride", "sizes"), [(((2, 2),), 1, {(6, 6)}), (((2, 1), (1, 1)), 2, {(5, 9), (9, 9)})])
def test_each_is_a_window_of_the_size_of_a_cell_pooled_whole(rng, grids, stride, sizes):
    images = rng.integers(0, 256, size=(3, 10, 10, 2), dtype=np.uint8)
    model = extractor(rng, grids, stride)
    whole = replace(model, grids=((1, 1),))
    windows = [
        whole.extract(image[None, y : y + h, x : x + w])[0]
        for h, w in sizes
        for image in images
        for y in range(10 - h + 1)
        for x in range(10 - w + 1)
    ]
    X = samples(model, images, 2000)
    assert X.shape == (2000, 4)
    distance = np.abs(X[:, None] - np.array(windows)[None]).max(axis=2)
    assert distance.min(axis=1).max() < 1e-5  # every sample is one of the windows,
    assert distance.min(axis=0).max() < 1e-5  # and every window was drawn, those at both ends too


def test_sizes_occur_as_often_as_cells_have_them(rng):
    bright = np.full((1, 9, 9, 2), 5.0)  # 7 × 7 positions: cells of 4 and 3 rows and columns
    counts = samples(replace(extractor(rng, ((2, 2),), pool="sum"), contrast=None), bright, 4000)[:, 0]
    values, n = np.unique(np.round(counts / counts.max() * 16).astype(int), return_counts=True)
    assert values.tolist() == [9, 12, 16]
    np.testing.assert_allclose(n / 4000, [1 / 4, 1 / 2, 1 / 4], atol=0.03)


def test_same_seed_same_samples_on_any_number_of_threads(rng):
    images = rng.integers(0, 256, size=(50, 20, 20, 2), dtype=np.uint8)
    model = extractor(rng, ((2, 2),))
    assert len({samples(model, images, 3000, threads=t).tobytes() for t in (1, 2, 4)}) == 1
    assert samples(model, images, 3000, seed=1).tobytes() != samples(model, images, 3000).tobytes()


def test_mean_over_super_patches_is_near_the_mean_over_cells(photos):
    model = Extractor((6, 6), 1, "std", 10.0, fold_dictionary(*_codes(photos), "threshold", 0.25, False), "average", ((2, 2),))
    cells = model.extract(photos).reshape(-1, 8).mean(axis=0)
    np.testing.assert_allclose(samples(model, photos, 4000).mean(axis=0), cells, rtol=0.15)


def _codes(photos):
    from poolwise.patches import normalize_contrast, sample_patches

    P = normalize_contrast(sample_patches(photos, 8, (6, 6), np.random.default_rng(0)), "std", 10.0)
    return P / (np.linalg.norm(P, axis=1, keepdims=True) + 1e-9), identity(108)
