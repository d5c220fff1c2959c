"""Statistics of bands per cell and copy against loops over pixels, and as features beside the codes' wherever these are."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise import Patches, Pool, PooledFeatures, SecondOrder, StackedFeatures, load, open_images, save
from poolwise.engine.threads import Threads
from poolwise.method.band_statistics import OFFSET, band_statistics, learn_band_scale, names_of_bands, statistics_of
from poolwise.method.extraction import features_of, prepare
from poolwise.method.scale import Scale, Standardize
from poolwise.modelfile import ModelFileError, describe
from poolwise.modelfile.layer import shell, to_json
from poolwise.support.parameters import ParameterError
from poolwise.support.progress import Stages

GRIDS = [[(1, 1)], [(2, 3)], [(1, 1), (2, 2), (3, 1)]]


def by_loops(image, grids):
    """(cells, 4c), pixel by pixel in Python."""
    H, W, c = image.shape
    found = []
    for rows, columns in grids:
        for i in range(rows):
            for j in range(columns):
                inside = [
                    image[y, x].astype(float) for y in range(H) for x in range(W) if (y * rows // H, x * columns // W) == (i, j)
                ]
                numbers = []
                for k in range(c):
                    band = [pixel[k] for pixel in inside]
                    mean = sum(band) / len(band)
                    spread = (sum((v - mean) ** 2 for v in band) / len(band)) ** 0.5
                    numbers.append((mean, spread, min(band), max(band)))
                found.append([one[which] for which in range(4) for one in numbers])
    return np.array(found)


def turned(images, symmetry):
    """Every copy, written out."""
    if symmetry is None:
        return [images]
    both = [images, np.flip(images, 2)]
    if symmetry == "mirror":
        return both
    upright = both + [np.flip(one, 1) for one in both]
    return upright + [np.transpose(one, (0, 2, 1, 3)) for one in upright]


@pytest.mark.parametrize("grids", GRIDS, ids=str)
@pytest.mark.parametrize("symmetry", [None, "mirror", "dihedral"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_statistics_are_those_of_every_cell_averaged_over_copies(rng, grids, symmetry, dtype):
    images = (rng.random((3, 7, 7, 5)) * (200 if dtype == np.uint8 else 60_000)).astype(dtype)
    expected = np.mean([[by_loops(image, grids) for image in view] for view in turned(images, symmetry)], axis=0)
    np.testing.assert_allclose(band_statistics(images, grids, symmetry), expected, rtol=2e-6, atol=1e-3)
    if symmetry is None:
        np.testing.assert_allclose(statistics_of(images, grids), expected, rtol=1e-12)


def test_a_large_level_keeps_the_digits_of_a_small_spread(rng):
    images = (60_000 + rng.integers(0, 3, size=(2, 8, 8, 1))).astype(np.float32)
    np.testing.assert_allclose(band_statistics(images, [(1, 1)], None)[:, 0, 1], images.std(axis=(1, 2))[:, 0], rtol=1e-5)


@pytest.mark.parametrize("form", ["shared", "cell", None])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_scale_is_that_of_all_images(rng, form, threads):
    images = rng.integers(0, 256, size=(50, 6, 6, 2), dtype=np.uint8)
    grids = [(1, 1), (2, 2)]
    standardize = None if form is None else Standardize(form)
    with Threads(threads) as engine:
        scale = learn_band_scale(images, grids, "mirror", standardize, engine=engine, stages=Stages())
    s = np.stack([np.mean([by_loops(view[0], grids) for view in turned(image[None], "mirror")], axis=0) for image in images])
    ddof, axes = (1, 0) if form == "cell" else (0, (0, 1))
    np.testing.assert_allclose(scale.mean, s.mean(axis=axes), rtol=1e-5)
    np.testing.assert_allclose(scale.spread, np.sqrt(s.var(axis=axes, ddof=ddof) + OFFSET), rtol=1e-4)


@pytest.mark.parametrize("pooling", [Pool("average", [1, (2, 3)]), Pool("both", 2), SecondOrder((1, 2))], ids=repr)
@pytest.mark.parametrize("symmetry", [None, "dihedral"])
def test_a_layer_has_them_behind_the_numbers_of_codes(rng, make_layer, pooling, symmetry):
    layer = make_layer(rng, 5, shape=(9, 9, 2), descriptor=Patches(3), pooling=pooling, symmetry=symmetry)
    numbers = 8 * layer.n_cells
    own = replace(layer, statistics=Scale(rng.normal(size=8), 1 + rng.random(8)))
    images = rng.integers(0, 256, size=(4, 9, 9, 2), dtype=np.uint8)
    found, codes = features_of(prepare(own), images), features_of(prepare(layer), images)
    assert (own.n_features, own.n_band_features, own.n_code_features) == (layer.n_features + numbers, numbers, layer.n_features)
    np.testing.assert_array_equal(found[:, : layer.n_features], codes)
    s = np.mean([[by_loops(one, pooling.grids) for one in view] for view in turned(images, symmetry)], axis=0)
    expected = (s - own.statistics.mean) / own.statistics.spread
    np.testing.assert_allclose(found[:, layer.n_features :], expected.reshape(4, -1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(own.features(images)[:, layer.n_features :], expected.reshape(4, -1), rtol=1e-6, atol=1e-9)
    assert own.sized(3).n_band_features == numbers


def small(**parameters):
    given = {"pooling": "average", "n_patches": 2000, "random_state": 0, "n_jobs": 1, "descriptor": Patches(3)} | parameters
    return PooledFeatures(6).set_params(**given)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(5).integers(0, 256, size=(40, 12, 12, 3), dtype=np.uint8)


KINDS = {
    "plain": {"n_candidates": None},
    "selected": {"n_candidates": 12},
    "cell": {"n_candidates": 12, "scale": "cell"},
    "unscaled": {"n_candidates": None, "scale": None},
    "pca": {"n_candidates": 12, "projection": "pca"},
    "second": {"n_candidates": None, "pooling": SecondOrder([1, 2]), "symmetry": "dihedral"},
    "second of candidates": {"n_candidates": 12, "pooling": SecondOrder(2)},
    "directions": {"n_candidates": None, "pooling": SecondOrder(1, directions=5)},
    "super-patches": {"n_candidates": 12, "n_super_patches": 100},
    "coupled": {"n_candidates": 12, "encoder": "triangle"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_as_without_them_and_files_keep_them(images, kind, tmp_path):
    without, model = small(**KINDS[kind]).fit(images), small(statistics=True, **KINDS[kind])
    both = model.fit_transform(images)
    codes = without.transform(images)
    np.testing.assert_array_equal(model.codes_, without.codes_)
    np.testing.assert_array_equal(both[:, : codes.shape[1]], codes)
    assert model.n_features_out_ == both.shape[1] == codes.shape[1] + 12 * model.layer_.n_cells
    np.testing.assert_array_equal(model.transform(images), both)
    np.testing.assert_allclose(model.layer_.features(images), both, atol=2e-3, rtol=2e-3)
    bands = both[:, codes.shape[1] :].reshape(len(images), model.layer_.n_cells, 12)
    axes = 0 if kind == "cell" else (0, 1)
    np.testing.assert_allclose(bands.mean(axis=axes), 0, atol=1e-3)
    names = model.get_feature_names_out()
    assert len(names) == both.shape[1] == len(set(names))
    assert names[codes.shape[1]].endswith("_band0_mean")
    assert names[-1].endswith("_band2_largest")
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.transform(images), both)
    assert again.statistics is True
    assert describe(tmp_path / "m.safetensors").n_features == both.shape[1]
    save(model, tmp_path / "slim.safetensors", slim=True)
    np.testing.assert_array_equal(load(tmp_path / "slim.safetensors").transform(images), both)


def test_choosing_again_keeps_them(images, tmp_path):
    model = small(statistics=True, n_candidates=12).fit(images)
    save(model, tmp_path / "m.safetensors")
    fewer = small(statistics=True, n_candidates=12).set_params(n_codes=4).fit(images)
    for again in (model.reselect(n_codes=4), load(tmp_path / "m.safetensors").reselect(n_codes=4)):
        np.testing.assert_array_equal(again.transform(images), fewer.transform(images))


def test_labels_that_choose_the_grid_choose_the_cells_of_statistics(images):
    labels = (images[:, :6].mean(axis=(1, 2, 3)) > images[:, 6:].mean(axis=(1, 2, 3))).astype(int)
    model = small(pooling="auto", statistics=True, n_candidates=12).fit(images, labels)
    assert model.transform(images).shape[1] == model.layer_.n_code_features + 12 * model.layer_.n_cells


def test_sources_bands_and_threads_give_the_same(images, tmp_path):
    wide = images.astype(np.uint16) * 100
    np.save(tmp_path / "wide.npy", wide)
    source = open_images(tmp_path / "wide.npy")
    one, two = small(statistics=True).fit(wide), small(statistics=True, n_jobs=2).fit(source)
    assert one.bands_ is not None
    np.testing.assert_array_equal(one.transform(wide), two.transform(source))
    bands = one.layer_.n_band_features
    other = small(statistics=True).fit(images.astype(np.int32) * 7 - 300)  # another gain and offset of the sensor
    np.testing.assert_allclose(
        other.transform(images.astype(np.int32) * 7 - 300)[:, -bands:], one.transform(wide)[:, -bands:], atol=2e-3
    )


def test_a_level_that_contrast_takes_away_is_in_them(rng):
    dark = rng.integers(0, 100, size=(30, 12, 12, 1))
    images = np.concatenate([dark, dark + 100]).astype(np.float32)
    without = small(n_candidates=None).fit(images).transform(images)
    model = small(n_candidates=None, statistics=True).fit(images)
    bands = model.transform(images)[:, without.shape[1] :]
    np.testing.assert_allclose(without[:30], without[30:], atol=0.05)
    assert (bands[30:, 0] - bands[:30, 0]).min() > 1


def test_a_stack_has_those_of_its_images_and_refuses_those_of_maps(images, tmp_path):
    first, second = small(statistics=True), small(descriptor=Patches(2), pooling__grid=1)
    stack = StackedFeatures([first, second], map_cells=4).fit(images)
    alone = StackedFeatures([small(), second], map_cells=4).fit(images)
    bands = stack.layers_[0].layer_.n_band_features
    assert stack.n_features_out_ == alone.n_features_out_ + bands
    assert stack.maps_[0].statistics is None
    codes = alone.layers_[0].n_features_out_
    expected = alone.transform(images)
    np.testing.assert_array_equal(np.delete(stack.transform(images), np.s_[codes : codes + bands], axis=1), expected)
    save(stack, tmp_path / "s.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "s.safetensors").transform(images), stack.transform(images))
    with pytest.raises(ParameterError, match="layers above the first see maps"):
        StackedFeatures([small(), second.set_params(statistics=True)]).fit(images)


def test_a_files_layer_says_how_they_are_scaled(rng, make_layer):
    layer = make_layer(rng, 5, shape=(9, 9, 2), descriptor=Patches(3))
    assert "statistics" not in to_json(layer)
    for scale, form in ((Scale(np.zeros(8), np.ones(8)), "shared"), (Scale(np.zeros((4, 8)), np.ones((4, 8))), "cell")):
        told = to_json(replace(layer, statistics=scale))
        assert told["statistics"] == form
        assert shell(told, "layer").statistics.mean.shape == scale.mean.shape
    with pytest.raises(ModelFileError, match="statistics"):
        shell({**to_json(layer), "statistics": "some"}, "layer")


def test_words_and_names():
    assert names_of_bands(1) == ["band0_mean", "band0_spread", "band0_least", "band0_largest"]
    with pytest.raises(ValueError, match="statistics must be True or False; got 'yes'"):
        small(statistics="yes").fit(np.zeros((4, 12, 12, 1)))


@pytest.mark.parametrize("symmetry", [None, "mirror", "dihedral"])
def test_pixels_without_data_are_left_out(rng, symmetry):
    images = rng.normal(100, 20, (4, 8, 8, 2)).astype(np.float32)
    missing = rng.random((4, 8, 8)) < 0.4
    missing[0] = False
    missing[1, :4] = True  # two cells in which nothing is left
    missing[2] = True
    images[missing] = np.nan
    found = band_statistics(images, [(2, 2)], symmetry)
    np.testing.assert_array_equal(found[:1], band_statistics(images[:1], [(2, 2)], symmetry))
    for image, each in zip(images, found, strict=True):
        for cell, (top, left) in enumerate([(0, 0), (0, 4), (4, 0), (4, 4)]):
            numbers = []
            for view in turned(image[None], symmetry):
                kept = view[0, top : top + 4, left : left + 4].reshape(16, 2)
                kept = kept[~np.isnan(kept[:, 0])]
                if len(kept):
                    numbers.append(np.concatenate([kept.mean(0), kept.std(0), kept.min(0), kept.max(0)]))
            np.testing.assert_allclose(each[cell], np.mean(numbers, axis=0) if numbers else np.full(8, np.nan), rtol=1e-4)


def test_what_pixels_without_data_hold_changes_nothing(rng):
    images = rng.integers(1, 256, (12, 10, 10, 2)).astype(np.float32)
    missing = rng.random((12, 10, 10)) < 0.05
    images[missing, 0] = -1
    other = images.copy()
    other[missing, 1] = rng.integers(0, 256, int(missing.sum()))
    model = PooledFeatures(5, descriptor=Patches(3), n_patches=400, statistics=True, nodata=-1, random_state=0).fit(images)
    X = model.transform(images)
    np.testing.assert_array_equal(X, model.fit_transform(other))
    nan = np.where(missing[..., None], np.float32(np.nan), images)
    np.testing.assert_allclose(X, model.layer_.features(nan), atol=2e-3)
