"""Protocols: what the paper does to each data set."""

import numpy as np
import pytest

from poolwise import PooledFeatures
from poolwise.reproduction import protocols
from poolwise.reproduction.protocols import PROTOCOLS, Data, protocol_here
from poolwise.reproduction.published import ACCURACY

SMALL = {"n_codes": 6, "n_patches": 2_000, "dictionary__max_iter": 3, "random_state": 0}


def test_every_protocol_has_the_papers_figures():
    others = {"eurosat", "cifar10-10000", "cifar10-400", "photos", "cub200-once"}  # which the paper does not have
    assert set(PROTOCOLS) - others == set(ACCURACY)


def test_a_part_of_cifar10_is_tested_on_training_images_alone(monkeypatch):
    pixels, labels = np.arange(50_000, dtype=np.int32).reshape(-1, 1, 1, 1), np.arange(50_000) % 10
    whole = Data(pixels, labels, pixels[:3] - 10, labels[:3])
    monkeypatch.setattr(protocols, "_cifar10", lambda home: whole)
    part = PROTOCOLS["cifar10-10000"].load(None)
    assert (part.train.min(), part.train.max(), part.test.min(), part.test.max()) == (0, 9_999, 40_000, 44_999)
    np.testing.assert_array_equal(part.train_labels, part.train.ravel() % 10)
    np.testing.assert_array_equal(part.test_labels, part.test.ravel() % 10)


@pytest.mark.filterwarnings("ignore:all pixels lie within")
def test_pixels_in_0_to_1_are_an_offset_of_2550(data):
    divided = PooledFeatures.preset("jia2012", **SMALL).fit_transform((data.train / 255).astype(np.float32))
    offset = PooledFeatures.preset("jia2012", **SMALL, **PROTOCOLS["stl10-unit"].changes).fit_transform(data.train)
    np.testing.assert_allclose(divided, offset, atol=5e-3)


def test_birds_use_small_patches_and_maxima():
    model = PROTOCOLS["cub200"].features(1600, seed=0, quick=False, n_jobs=None, verbose=False)
    recipe = model.recipe
    assert (recipe.descriptor.patch_size, recipe.pooling.how, recipe.pooling.grids) == ((5, 5), "max", ((4, 4),))
    assert (model.n_codes, model.n_patches, model.dictionary.max_iter) == (1600, 400_000, 100)


def test_quick_features_take_fewer_patches_and_rounds_and_change_nothing_else():
    whole, few = (
        PROTOCOLS["stl10-unit"].features(100, seed=3, quick=quick, n_jobs=1, verbose=False).get_params()
        for quick in (False, True)
    )
    assert {name: few[name] for name in few if few[name] != whole[name] and "__" in name} == {"dictionary__max_iter": 10}
    assert few["n_patches"] == 40_000
    assert few["descriptor__offset"] == whole["descriptor__offset"] == 2550


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
    assert protocol_here("stl10", tmp_path) == "stl10"
    (tmp_path / "stl10_binary").mkdir()
    (tmp_path / "stl10_binary" / "unlabeled_X.bin").write_bytes(b"")
    assert protocol_here("stl10", tmp_path) == "stl10-unlabeled"
    assert [protocol_here(name, tmp_path) for name in ("cifar10", "stl10-unit", "cub200")] == [
        "cifar10",
        "stl10-unit",
        "cub200",
    ]


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
