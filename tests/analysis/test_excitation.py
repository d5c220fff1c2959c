"""What excites a code, against a loop over every patch of every image."""

import tracemalloc

import numpy as np
import pytest

from poolwise import Patches, Threshold
from poolwise.analysis import excitation
from poolwise.analysis.excitation import Excitation, cut_regions, excite
from poolwise.method.descriptors.patches import normalize_contrast
from poolwise.method.whitening import Whitening

from settings import paper_features


@pytest.mark.parametrize("kind", ["chosen", "two_sided", "plain"])
def test_the_best_patch_is_that_of_a_plain_loop(kind, request, labelled, engine):
    model, images = request.getfixturevalue(kind), labelled[0][::30]
    seen = excite(model.layer_, images, engine)
    white, K = Whitening(model.whitening_mean_, model.whitening_matrix_), len(model.codes_)
    for n, image in enumerate(images):
        patches = np.array([image[y : y + 6, x : x + 6].ravel() for y in range(27) for x in range(27)], np.float32)
        P = white(normalize_contrast(patches, "std", 10))
        F = Threshold(0.25, two_sided=False)(P, model.codes_)
        np.testing.assert_allclose(seen.best[n], F.max(axis=0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(seen.mean[n], F.mean(axis=0), rtol=1e-3, atol=1e-5)
        at = F[seen.y[n] * 27 + seen.x[n], np.arange(K)]
        np.testing.assert_allclose(at, F.max(axis=0), rtol=1e-4, atol=1e-4)


def test_positions_are_pixels_whatever_the_stride_and_the_blocks(labelled, engine, monkeypatch):
    """With a stride, patches that are not square and blocks of a few positions: the patch at (y, x) is the one that excites."""
    descriptor = Patches(size=(5, 8), stride=3)
    model = paper_features(7, descriptor=descriptor, n_patches=2_000, random_state=0, n_jobs=1).fit(labelled[0])
    images = labelled[0][::40, :, :29]
    whole = excite(model.layer_, images, engine)
    monkeypatch.setattr(excitation, "_POSITIONS_PER_BLOCK", 1)
    parts = excite(model.layer_, images, engine)
    for seen in (whole, parts):
        assert set(np.unique(seen.y % 3)) == set(np.unique(seen.x % 3)) == {0}
        for n, image in enumerate(images):
            for k in range(7):
                y, x = seen.y[n, k], seen.x[n, k]
                p = normalize_contrast(image[y : y + 5, x : x + 8].reshape(1, -1).astype(np.float32), "std", 10)
                assert model.layer_.activations(p)[0, k] == pytest.approx(seen.best[n, k], rel=1e-4, abs=1e-4)
    np.testing.assert_array_equal(whole.y, parts.y)
    np.testing.assert_array_equal(whole.x, parts.x)


def test_memory_does_not_grow_with_the_size_of_an_image(rng, engine):
    """All patches of this image would be 67 MB; only a block of them is made at a time."""
    images = rng.integers(0, 256, size=(1, 400, 400, 3), dtype=np.uint8)
    layer = paper_features(8, n_patches=2_000, dictionary="patches", random_state=0, n_jobs=1).fit(images).layer_
    tracemalloc.start()
    try:
        excite(layer, images, engine)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_top_and_classes():
    best = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 5.0]])
    zeros = np.zeros((3, 2), int)
    seen = Excitation(best, zeros, zeros, np.array([[1.0, 0.0], [3.0, 0.0], [4.0, 0.0]]))
    assert seen.top(2).tolist() == [[0, 2], [2, -1]]
    share = seen.by_class(np.array([0, 0, 2]), 3)  # nothing of class 1
    assert share.tolist() == [[pytest.approx(2 / 3), 0], [0, 0], [pytest.approx(4 / 3), 0]]


def test_regions_hold_their_patch(rng):
    images = rng.integers(0, 256, size=(4, 9, 11, 3)).astype(np.uint8)
    y, x = np.array([[0, 6], [3, 2], [6, 6], [1, 0]]), np.array([[0, 8], [4, 3], [8, 0], [5, 5]])
    seen = Excitation(np.ones((4, 2)), y, x, np.ones((4, 2)))
    top = np.array([[0, 1], [2, -1], [3, 0]])
    regions, up, left = cut_regions(images, seen, top, (3, 3))
    assert regions.shape == (3, 2, 6, 6, 3)
    for i in range(3):
        for k in range(2):
            n = top[i, k]
            if n < 0:
                assert not regions[i, k].any()
                continue
            a, b = up[i, k], left[i, k]
            patch = images[n, y[n, k] : y[n, k] + 3, x[n, k] : x[n, k] + 3]
            np.testing.assert_array_equal(regions[i, k, a : a + 3, b : b + 3], patch)


def test_images_smaller_than_a_region(rng):
    images = rng.integers(0, 256, size=(1, 4, 4, 1)).astype(np.uint8)
    zeros = np.zeros((1, 1), int)
    regions, y, x = cut_regions(images, Excitation(zeros + 1, zeros, zeros, zeros), zeros, (3, 3))
    np.testing.assert_array_equal(regions[0, 0], images[0])
    assert (y.item(), x.item()) == (0, 0)
