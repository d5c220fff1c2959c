"""Protocols: what the paper does to each data set."""

import numpy as np
import pytest

from poolwise import PooledFeatures
from poolwise.experiments.protocols import PROTOCOLS, Data, stl10_here
from poolwise.experiments.published import ACCURACY

SMALL = {"n_codes": 6, "n_patches": 2_000, "max_iter": 3, "random_state": 0}


def test_every_protocol_has_the_papers_figures():
    assert set(PROTOCOLS) == set(ACCURACY)


@pytest.mark.filterwarnings("ignore:all pixels lie within")
def test_pixels_in_0_to_1_are_an_offset_of_2550(data):
    divided = PooledFeatures.preset("jia2012", **SMALL).fit_transform((data.train / 255).astype(np.float32))
    offset = PooledFeatures.preset("jia2012", **SMALL, **PROTOCOLS["stl10-unit"].changes).fit_transform(data.train)
    np.testing.assert_allclose(divided, offset, atol=5e-3)


def test_birds_use_small_patches_and_maxima():
    model = PROTOCOLS["cub200"].features(1600, 0, False, None, False)
    assert (model.patch_size, model.pool, model.grid, model.n_codes) == (5, "max", 4, 1600)


def test_birds_are_mirrored_left_right_for_training_alone(tmp_path, rng):
    images = rng.integers(0, 256, (4, 128, 128, 3), dtype=np.uint8)
    names = np.array([f"{k:03}.Bird" for k in range(1, 201)])
    labels = np.array([0, 1, 2, 3])
    np.savez(tmp_path / "cub128.npz", x_train=images, y_train=labels, x_test=images, y_test=labels, class_names=names)
    with pytest.warns(UserWarning, match="official"):
        data = PROTOCOLS["cub200"].load(tmp_path)
    assert len(data.train) == 8
    assert len(data.test) == 4
    np.testing.assert_array_equal(data.train[4:], images[:, :, ::-1])
    np.testing.assert_array_equal(data.train_labels, [0, 1, 2, 3, 0, 1, 2, 3])


def test_stl_is_learned_from_unlabelled_images_where_they_are(tmp_path):
    assert stl10_here(tmp_path) == "stl10"
    (tmp_path / "stl10_binary").mkdir()
    (tmp_path / "stl10_binary" / "unlabeled_X.bin").write_bytes(b"")
    assert stl10_here(tmp_path) == "stl10-unlabeled"


def test_quick_takes_images_evenly_and_keeps_folds(rng):
    n = 12_000
    images = np.arange(n, dtype=np.float32)[:, None, None, None]
    folds = (np.arange(0, n, 2), np.arange(1, n, 2))
    few = Data(images, np.arange(n), images, np.arange(n), images, folds).quick()
    assert len(few.train) == 4_000
    assert len(few.test) == 2_000
    assert few.train[-1, 0, 0, 0] == n - 1
    for fold, parity in zip(few.folds, (0, 1), strict=True):
        assert set(few.train_labels[fold] % 2) == {parity}
