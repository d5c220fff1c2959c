"""What scikit-learn's checks cannot ask of an estimator for images."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from poolwise import KMeans, LinearSVM, Patches, Pool, PooledFeatures, Standardize, Threshold
from poolwise.method.extraction import fused
from poolwise.method.presets import PRESETS
from poolwise.method.recipe import PARAMETERS

from settings import QUICK, QUICK_PRESET, paper_features


@pytest.mark.parametrize("preset", ["jia2012", "coates2011"])
def test_features_are_the_recipe_patch_by_patch(photos, preset):
    model = PooledFeatures.preset(preset, **QUICK_PRESET).fit(photos)
    layer, asked = model.layer_, PRESETS[preset]
    assert (layer.encoder, layer.pooling.how, layer.pooling.grids) == (asked["encoder"], asked["pooling"].how, ((2, 2),))
    assert layer.descriptor == asked["descriptor"].but(size=(6, 6))
    np.testing.assert_allclose(model.transform(photos[:4]), layer.features(photos[:4]), atol=1e-4)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_leave_nothing_of_learning_to_defaults_but_sizes(name):
    preset = PooledFeatures.preset(name)
    assert set(PARAMETERS) - set(PRESETS[name]) == {"n_codes", "n_super_patches"}
    assert {name: preset.get_params(deep=False)[name] for name in PRESETS[name]} == PRESETS[name]
    assert not preset.recipe.may_use_labels
    assert preset.recipe.decided(with_labels=True) == preset.recipe


def test_the_papers_parts_are_those_of_jia2012():
    assert paper_features(n_patches=400_000).recipe == PooledFeatures.preset("jia2012").recipe


def test_presets_have_the_constants_of_the_recipe():
    jia, coates = PooledFeatures.preset("jia2012"), PooledFeatures.preset("coates2011")
    for model in (jia, coates):
        assert (model.descriptor.size, model.descriptor.stride, model.pooling.grid, model.n_patches) == (6, 1, 2, 400_000)
        assert (model.descriptor.offset, model.whitening.offset, model.encoder.alpha, model.scale.offset) == (
            10,
            0.1,
            0.25,
            0.01,
        )
    assert (jia.descriptor.contrast, jia.whitening.form, jia.scale.form) == ("std", "std", "shared")
    assert (coates.descriptor.contrast, coates.whitening.form, coates.scale.form) == ("variance", "variance", "cell")
    assert jia.dictionary == KMeans("kmeans", init="patches", max_iter=100, tol=1e-4)
    assert coates.dictionary == KMeans("omp1", init="noise", max_iter=50, tol=0.0)
    assert (jia.pooling.how, jia.encoder.two_sided, coates.pooling.how, coates.encoder.two_sided) == (
        "average",
        False,
        "sum",
        True,
    )


def test_mosaiks_is_random_patches_whitened_two_sided_and_averaged_over_the_image(rng):
    images = rng.integers(0, 256, size=(30, 9, 8, 2), dtype=np.uint8)
    model = PooledFeatures.preset("mosaiks", n_codes=5, n_patches=2000, scale=None, random_state=0, n_jobs=1).fit(images)
    m, W, D = model.whitening_mean_, model.whitening_matrix_, model.codes_.astype(float)
    found = model.transform(images[:3])
    assert found.shape == (3, 10)
    np.testing.assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-6)
    windows = np.array([images[i, y : y + 3, x : x + 3].ravel() for i in range(30) for y in range(7) for x in range(6)])
    whitened = (windows - m) @ W
    unit = whitened / np.linalg.norm(whitened, axis=1, keepdims=True)
    np.testing.assert_allclose((unit @ D.T).max(axis=0), 1, rtol=1e-5)  # every code is a patch of an image
    for image, row in zip(images, found, strict=False):
        each = [(image[y : y + 3, x : x + 3].ravel() - m) @ W @ D.T for y in range(7) for x in range(6)]
        by_hand = [np.maximum(0, np.array(each) - 1).mean(axis=0), np.maximum(0, -np.array(each) - 1).mean(axis=0)]
        np.testing.assert_allclose(row, np.concatenate(by_hand), atol=1e-4)


def test_presets_take_keywords_and_refuse_unknown_names():
    model = PooledFeatures.preset("coates2011", n_codes=7, pooling__how="max")
    assert (model.n_codes, model.pooling) == (7, Pool("max", grid=2))
    assert PRESETS["coates2011"]["pooling"] == Pool("sum", grid=2)  # the preset stays as it is
    assert PooledFeatures.preset("coates2011", encoder="triangle").encoder == "triangle"
    with pytest.raises(ValueError, match="preset must be one of 'jia2012', 'coates2011', 'mosaiks', 'sift-bow'; got 'jia2013'"):
        PooledFeatures.preset("jia2013")
    with pytest.raises(ValueError, match=r"Invalid parameter 'pooling__pool' for .*: pooling__how, pooling__grid, pool"):
        PooledFeatures.preset("jia2012", pooling__pool="max")
    with pytest.raises(ValueError, match="Invalid parameter 'patch_size'"):
        PooledFeatures.preset("jia2012", patch_size=4)


def test_shared_scale_standardises_codes_over_all_cells_and_cell_scale_each_feature(photos):
    shared = paper_features(**QUICK, scale=Standardize(offset=0.0)).fit_transform(photos).reshape(-1, 8)
    np.testing.assert_allclose(shared.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(shared.std(0), 1, atol=1e-4)
    cell = paper_features(**QUICK, scale=Standardize("cell", offset=0.0)).fit_transform(photos)
    np.testing.assert_allclose(cell.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(cell.std(0, ddof=1), 1, atol=1e-4)
    raw = paper_features(**QUICK, scale=None).fit_transform(photos)
    assert raw.min() >= 0


def test_the_scale_has_its_offset_under_the_root(photos, model):
    raw = paper_features(**QUICK, scale=None).fit_transform(photos).astype(np.float64).reshape(-1, 8)
    np.testing.assert_allclose(model.pooled_mean_, raw.mean(0), rtol=1e-5)
    np.testing.assert_allclose(model.pooled_scale_, np.sqrt(raw.std(0) ** 2 + 0.01), rtol=1e-5)


@pytest.mark.parametrize("scale", ["shared", "cell", None])
def test_fit_transform_is_fit_then_transform_to_the_bit(photos, scale):
    a = paper_features(**QUICK, scale=scale).fit_transform(photos)
    b = paper_features(**QUICK, scale=scale).fit(photos).transform(photos)
    assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dictionary", ["kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"])
def test_same_seed_same_bits_on_1_2_and_4_threads(photos, dictionary):
    part = KMeans(dictionary, max_iter=5) if dictionary in KMeans.words else dictionary
    runs = [paper_features(**{**QUICK, "dictionary": part}, n_jobs=n).fit(photos) for n in (1, 2, 4)]
    assert len({run.codes_.tobytes() for run in runs}) == 1
    assert len({run.pooled_scale_.tobytes() for run in runs}) == 1
    assert len({run.transform(photos).tobytes() for run in runs}) == 1


def test_another_seed_gives_other_codes(photos, model):
    assert not np.array_equal(model.codes_, paper_features(**{**QUICK, "random_state": 1}).fit(photos).codes_)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_features_do_not_depend_on_the_batch_split(photos, model, size):
    whole = model.transform(photos)
    parts = [model.transform(photos[i : i + size]) for i in range(0, len(photos), size)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    ("shape", "settings", "features"),
    [
        ((32, 32), {}, 32),
        ((32, 32, 1), {}, 32),
        ((16, 40, 3), {}, 32),
        ((20, 20, 13), {}, 32),
        ((20, 24, 3), {"descriptor": Patches((3, 7))}, 32),
        ((33, 20, 3), {"descriptor": Patches(stride=3)}, 32),
        ((20, 20, 3), {"pooling": Pool("average", grid=(3, 1))}, 24),
        ((20, 20, 3), {"pooling": Pool("average", grid=[1, 2, (1, 3)])}, 64),
        ((20, 20, 3), {"encoder": Threshold(0.25, two_sided=True)}, 64),
        ((6, 6, 3), {"pooling": Pool("average", grid=1)}, 8),
        ((1, 50, 1), {"descriptor": Patches((1, 8)), "pooling": Pool("average", grid=(1, 2))}, 16),
    ],
)
def test_any_image_shape_patch_stride_and_grid(rng, shape, settings, features):
    images = rng.integers(0, 256, size=(30, *shape), dtype=np.uint8)
    model = paper_features(**QUICK, **settings)
    X = model.fit_transform(images)
    assert X.shape == (30, features)
    assert np.isfinite(X).all()
    assert len(set(model.get_feature_names_out())) == features
    assert model.image_shape_in_ == (shape if len(shape) == 3 else (*shape, 1))
    assert model.n_features_in_ == np.prod(shape)


def test_flattened_rows_are_the_same_images(photos, model):
    rows = photos.reshape(len(photos), -1)
    flat = paper_features(**QUICK, image_shape=(32, 32, 3)).fit(rows)
    assert flat.codes_.tobytes() == model.codes_.tobytes()
    np.testing.assert_array_equal(flat.transform(photos), model.transform(rows))


def test_grey_images_may_leave_out_the_channel(photos):
    grey = photos.mean(axis=3)
    a, b = (paper_features(**QUICK).fit_transform(x) for x in (grey, grey[..., None]))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.float16, np.float32, np.float64])
def test_every_number_type_gives_the_same_float32_features(photos, model, dtype):
    X = paper_features(**QUICK).fit(photos.astype(dtype)).transform(photos.astype(dtype))
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, model.transform(photos))


def test_read_only_memory_maps_are_read_in_place(tmp_path, photos, model):
    np.save(tmp_path / "images.npy", photos)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    assert paper_features(**QUICK).fit(mapped).transform(mapped).tobytes() == model.transform(photos).tobytes()


def test_views_that_are_not_contiguous_work(photos, model):
    np.testing.assert_array_equal(model.transform(photos[::-2, :, :, :]), model.transform(photos)[::-2])
    np.testing.assert_array_equal(model.transform(np.asfortranarray(photos)), model.transform(photos))


def test_input_is_never_written_to(photos):
    images = photos.astype(np.float32)
    before = images.copy()
    paper_features(**QUICK).fit_transform(images)
    np.testing.assert_array_equal(images, before)


def test_constant_images_give_finite_features(photos, model):
    for value in (0, 7, 255):
        assert np.isfinite(model.transform(np.full((2, 32, 32, 3), value, np.uint8))).all()
    mixed = photos.copy()
    mixed[:150] = 128
    for preset, parts in PRESETS.items():
        quick = QUICK_PRESET if isinstance(parts["dictionary"], KMeans) else {"n_codes": 6, "n_patches": 2000}
        assert np.isfinite(PooledFeatures.preset(preset, **quick).fit_transform(mixed)).all()


def test_parameters_changed_after_fit_wait_for_the_next_fit(photos):
    model = paper_features(**QUICK).fit(photos)
    before, names = model.transform(photos), model.get_feature_names_out()
    model.set_params(
        encoder=Threshold(alpha=3.0, two_sided=True), descriptor=Patches(stride=2, contrast=None), pooling=Pool("max", 3)
    )
    np.testing.assert_array_equal(model.transform(photos), before)
    model.set_params(encoder="triangle", pooling__grid=5, n_codes=3, whitening=None, scale=None)
    np.testing.assert_array_equal(model.transform(photos), before)
    np.testing.assert_array_equal(model.get_feature_names_out(), names)


@pytest.mark.parametrize("integer", [np.uint8, np.int16, np.uint64])
def test_numpy_integers_are_whole_numbers(photos, integer):
    parts = {"dictionary": KMeans(max_iter=integer(2)), "descriptor": Patches(integer(6), stride=integer(2))}
    model = paper_features(
        integer(4), n_patches=integer(200), pooling=Pool("average", grid=integer(2)), **parts, random_state=0
    )
    assert model.fit_transform(photos).shape == (len(photos), 16)


@pytest.mark.parametrize("pack", [list, tuple, lambda x: np.array([*x, None], dtype=object)[:-1]])
def test_a_list_of_images_is_a_batch(photos, model, pack):
    np.testing.assert_array_equal(model.transform(pack(photos[:3])), model.transform(photos[:3]))


def test_feature_names_say_cell_code_and_sign(photos):
    model = PooledFeatures.preset("coates2011", **{**QUICK_PRESET, "n_codes": 2}, pooling__grid=[1, (1, 2)]).fit(photos)
    names = list(model.get_feature_names_out())
    assert names[:4] == ["pool1x1_r0c0_code0_pos", "pool1x1_r0c0_code1_pos", "pool1x1_r0c0_code0_neg", "pool1x1_r0c0_code1_neg"]
    assert names[-1] == "pool1x2_r0c1_code1_neg"


def test_each_feature_is_of_the_cell_and_code_it_is_named_after(photos):
    model = paper_features(**QUICK, scale=None).fit(photos)
    image = np.full((1, 32, 32, 3), 100, np.uint8)
    image[0, :10, 22:] = photos[40][:10, 22:]  # contrast only in the top right corner
    change = np.abs(model.transform(image) - model.transform(np.full_like(image, 100)))[0]
    for name, moved in zip(model.get_feature_names_out(), change, strict=True):
        assert moved == pytest.approx(0, abs=1e-6) or "_r0c1_" in name
    assert change.max() > 0.01


def peak_memory(call):
    """Most bytes that NumPy held at once during a call, beyond what was there before."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_number_of_images(photos):
    few, many = np.resize(photos, (400, 32, 32, 3)), np.resize(photos, (2000, 32, 32, 3))
    model = paper_features(**QUICK, n_jobs=1).fit(photos)
    result = 4 * 32  # bytes of features per image
    transform = [peak_memory(lambda x=x: model.transform(x)) - result * len(x) for x in (few, many)]
    assert transform[1] - transform[0] < 200_000
    fit = [peak_memory(lambda x=x: paper_features(**QUICK, n_jobs=1).fit(x)) for x in (few, many)]
    assert fit[1] - fit[0] < 200_000


def test_fit_needs_little_beyond_its_patches(photos):
    patches = 200_000 * 108 * 4
    model = paper_features(8, n_patches=200_000, dictionary=KMeans(max_iter=2), n_jobs=1, random_state=0)
    assert peak_memory(lambda: model.fit(photos)) < patches + 60e6


def test_set_output_pandas(photos):
    frame = paper_features(**QUICK).set_output(transform="pandas").fit_transform(photos)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[0] == "pool2x2_r0c0_code0"


def test_clone_keeps_parameters_and_forgets_the_fit(model):
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "codes_")


def test_pickling_by_others_keeps_features(photos, model):
    twin = pickle.loads(pickle.dumps(model))  # noqa: S301  (joblib workers do this; we never read such files)
    np.testing.assert_array_equal(twin.transform(photos), model.transform(photos))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_a_pipeline(photos, n_jobs):
    labels = np.arange(len(photos)) // 10
    pipeline = make_pipeline(paper_features(**QUICK), LinearSVM())
    search = GridSearchCV(pipeline, {"pooledfeatures__n_codes": [1, 16]}, cv=2, n_jobs=n_jobs).fit(photos, labels)
    assert search.best_params_ == {"pooledfeatures__n_codes": 16}


def test_progress_goes_to_stderr_and_only_if_asked(photos, capsys, every_stage):
    paper_features(**QUICK).fit(photos).transform(photos)
    assert capsys.readouterr() == ("", "")
    paper_features(**QUICK, verbose=1).fit(photos).transform(photos)
    out, err = capsys.readouterr()
    assert out == ""
    for stage in ("patches", "whitening", "dictionary", "pooling", "transform"):
        assert f"PooledFeatures {stage}" in err


def test_it_reports_how_learning_went(model):
    assert model.n_iter_ == len(model.objective_) == 5
    assert model.converged_ is False
    assert set(model.timings_) == {"patches", "whitening", "dictionary", "pooling"}


def test_an_interrupt_passes_through_and_frees_blas(photos, monkeypatch):
    from threadpoolctl import threadpool_info

    before = [lib["num_threads"] for lib in threadpool_info()]
    monkeypatch.setattr(fused.FusedPass, "pooled", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        paper_features(**QUICK).fit(photos)
    assert [lib["num_threads"] for lib in threadpool_info()] == before
