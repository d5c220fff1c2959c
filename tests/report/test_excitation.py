"""What excites a code, against a loop over every patch of every image."""

import numpy as np
import pytest

from poolwise.encoding import encode
from poolwise.patches import normalize_contrast
from poolwise.report.excitation import Excitation, Sight, cut_regions, excite
from poolwise.whitening import Whitening


@pytest.mark.parametrize("kind", ["chosen", "two_sided", "plain"])
def test_the_best_patch_is_that_of_a_plain_loop(kind, request, labelled, engine):
    model, images = request.getfixturevalue(kind), labelled[0][::30]
    seen = excite(Sight.of(model), images, model.codes_, engine)
    white, K = Whitening(model.whitening_mean_, model.whitening_matrix_), len(model.codes_)
    for n, image in enumerate(images):
        patches = np.array([image[y : y + 6, x : x + 6].ravel() for y in range(27) for x in range(27)], np.float32)
        P = white(normalize_contrast(patches, "std", 10))
        F = encode(P, model.codes_, "threshold", 0.25)
        np.testing.assert_allclose(seen.best[n], F.max(axis=0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(seen.mean[n], F.mean(axis=0), rtol=1e-3, atol=1e-5)
        at = F[seen.y[n] * 27 + seen.x[n], np.arange(K)]
        np.testing.assert_allclose(at, F.max(axis=0), rtol=1e-4, atol=1e-4)


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
