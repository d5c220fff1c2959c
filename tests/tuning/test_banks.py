"""The columns of a group's pooled numbers are the features of each of its settings."""

import numpy as np
import pytest

from poolwise import KMeans
from poolwise.engine.threads import Threads
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.tuning import banks
from poolwise.tuning.banks import ROUNDS, dressed, group, learn_bank, pool_images, view
from poolwise.tuning.settings import Setting
from poolwise.tuning.space import make_space

QUIET = Stages(False)
N = 20


@pytest.fixture(scope="module")
def learned(small):
    images = small[0][::2]
    with Threads(1) as engine:
        return images, learn_bank(Setting(6), images[:N], None, seed=0, engine=engine, stages=QUIET)


def naive(layer, setting, images):
    """By the statement of the method, in float64, and NumPy's mean and variance."""
    bare = dressed(layer, setting)
    x = bare.features(images).reshape(len(images), bare.n_cells, -1)
    mean, variance = x[:N].mean(axis=(0, 1)), x[:N].var(axis=(0, 1))
    return ((x - mean) / np.sqrt(variance + setting.scale_offset)).reshape(len(x), -1)


def compared(layer, images, settings, ceiling=1 << 30):
    seen = 0
    with Threads(2) as engine:
        for found in group(settings, len(images), ceiling):
            pooled = pool_images(dressed(layer, found.union), images, engine=engine, stages=QUIET)
            for setting in found.settings:
                X = view(pooled, setting, found.union, N, overwrite=setting == found.settings[-1])
                expected = naive(layer, setting, images)
                assert X.shape == expected.shape == (len(images), setting.n_features)
                assert np.abs(X - expected).max() <= 1e-4 * np.abs(expected).max()
                seen += 1
    return seen


def test_views_of_first_order(learned):
    images, layer = learned
    space = make_space(images.shape[1:], 6)
    near, far = space.views(np.random.default_rng(0))
    assert {"average", "max", "both"} == set(space.values["first"]["pool"])
    assert [found.union.pool for found in group([*near, *far], 10)] == ["both"]
    assert compared(layer, images, [*near, *far[::5]]) == len(near) + len(far[::5])


def test_views_of_second_order(learned):
    images, layer = learned
    settings = [
        Setting(6, grid, pool, scale_offset=offset, symmetry="mirror")
        for pool in ("root", "power")
        for offset in (1e-3, 1e-5)
        for grid in ((1,), (2,))
    ]
    assert len(group(settings, 10)) == 2
    assert compared(layer, images, settings) == 8


def test_symmetry_is_of_the_bank(learned):
    images, layer = learned
    settings = [Setting(6, symmetry=symmetry, pool="max") for symmetry in (None, "mirror", "dihedral")]
    assert len(group(settings, 10)) == 3
    assert compared(layer, images, settings) == 3


def test_groups_stay_below_the_ceiling():
    near, far = make_space((16, 16, 3), 6).views(np.random.default_rng(0))
    settings = [*near, *far]
    ceiling = 4 * 100 * 1500
    groups = group(settings, 100, ceiling)
    assert sorted(one.key for found in groups for one in found.settings) == sorted(one.key for one in settings)
    assert all(4 * 100 * found.union.n_features <= ceiling for found in groups if len(found.settings) > 1)
    assert len(groups) > len(group(settings, 100, 1 << 30))


@pytest.mark.parametrize("selection", ["kmeans", "supervised"])
def test_codes_are_those_of_a_fit_with_as_many_patches(small, selection):
    images, labels = small
    setting = Setting(4, selection=selection, two_sided=True, symmetry="mirror")
    targets = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
    with Threads(1) as engine:
        layer = learn_bank(setting, images, targets, seed=seed_of(0), engine=engine, stages=QUIET)
    fitted = setting.features(random_state=0, n_patches=banks.PATCHES, dictionary=KMeans(max_iter=ROUNDS)).fit(images, labels)
    np.testing.assert_array_equal(layer.codes, fitted.codes_)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(5, (1, 2), two_sided=True, symmetry="mirror"),
        Setting(5, (2,), "max", selection="supervised"),
        Setting(5, (1, 3), "power", scale_offset=1e-3),
    ],
    ids=lambda setting: setting.words,
)
def test_pixels_without_data_are_left_out_as_in_a_fit(small, setting):
    """Codes, pooled numbers and their scale; an image without any data has features 0."""
    images, labels = small[0][::3].astype(np.float32), small[1][::3]
    images[::4, :, 9:] = images[1, :3, :5] = images[2] = np.nan
    targets = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
    few = {"random_state": 0, "n_patches": banks.PATCHES, "dictionary": KMeans(max_iter=ROUNDS), "projection": None}
    with pytest.warns(UserWarning, match="1 of 25 images have no patch"):
        fitted = setting.features(nodata="nan", **few).fit(images, labels)
    with Threads(1) as engine:
        layer = learn_bank(setting, images, targets, seed=seed_of(0), engine=engine, stages=QUIET)
        pooled = pool_images(dressed(layer, setting), images, engine=engine, stages=QUIET)
        X = view(pooled, setting, setting, len(images))
    np.testing.assert_array_equal(layer.codes, fitted.codes_)
    assert not X[2].any()
    with pytest.warns(UserWarning, match="1 of 25 images have no patch"):
        expected = fitted.transform(images)
    np.testing.assert_allclose(X, expected, atol=1e-4 * np.abs(expected).max())
