"""Sources compared with arrays of the same pixels: slices, what is decoded and how often, patches, features."""

import pickle
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from poolwise import KMeans, Patches, Pool, open_images
from poolwise.engine.threads import Threads
from poolwise.images import ImageError
from poolwise.images.decoding import Decoder
from poolwise.method.descriptors.patches import sample_patches
from poolwise.method.super_patches import super_patch_blocks
from poolwise.support.types import ImageSource

from settings import paper_features

QUICK = {"n_codes": 8, "n_patches": 3000, "dictionary": KMeans(max_iter=5), "random_state": 0}


@pytest.fixture(scope="session")
def folder(photos, tmp_path_factory):
    """The photos as files, in order."""
    root = tmp_path_factory.mktemp("photos")
    for number, image in enumerate(photos):
        Image.fromarray(image).save(root / f"{number:03}.png", compress_level=1)
    return root


@pytest.fixture
def decoded(monkeypatch):
    """Names of the files decoded from now on."""
    names, decode, lock = [], Decoder.decode, threading.Lock()

    def count(self, path):
        with lock:
            names.append(path)
        return decode(self, path)

    monkeypatch.setattr(Decoder, "decode", count)
    return names


@pytest.mark.parametrize("memory", [0, 2**30])
def test_slices_and_row_numbers_cut_as_in_an_array(folder, photos, memory):
    source = open_images(folder, memory=memory)
    mask = np.arange(160) % 7 == 0
    assert source.shape == photos.shape
    slices = slice(3, 9), slice(None, None, -50), slice(5, 5), slice(150, 999)
    for rows in (*slices, np.array([7, 0, -1, 7]), [2, 3], mask, 4, -1):
        np.testing.assert_array_equal(source[rows], photos[rows])


@given(st.slices(160), st.lists(st.integers(-160, 159), max_size=6))
@settings(max_examples=40, deadline=None)
def test_any_slice_cuts_as_in_an_array(folder_source, photos, rows, numbers):
    np.testing.assert_array_equal(folder_source[rows], photos[rows])
    np.testing.assert_array_equal(folder_source[np.array(numbers, np.int64)], photos[np.array(numbers, np.int64)])


@pytest.fixture(scope="session")
def folder_source(folder):
    return open_images(folder)


def test_other_ways_to_cut_are_refused(folder_source):
    for rows in (160, -161, np.array([0, 160]), np.zeros((2, 2), int), np.zeros(3, bool), [0.5], (slice(2), 0), "a"):
        with pytest.raises(IndexError):
            folder_source[rows]


def test_numpy_takes_a_source_for_an_array(folder_source, photos):
    np.testing.assert_array_equal(np.asarray(folder_source), photos)
    assert np.asarray(folder_source, np.float32).dtype == np.float32


def test_a_source_says_what_it_is(folder_source):
    assert repr(folder_source) == "<FileImages (160, 32, 32, 3) uint8, no labels>"


def test_a_block_decodes_its_own_files_alone(folder, decoded):
    source = open_images(folder, memory=0)
    assert len(decoded) == 1
    source[10:13]
    assert [name[-7:] for name in decoded[1:]] == ["010.png", "011.png", "012.png"]


def test_what_fits_the_budget_is_decoded_once(folder, photos, decoded):
    source = open_images(folder, memory=photos.nbytes)
    for _ in range(2):
        np.testing.assert_array_equal(source[:], photos)
    assert len(decoded) == 160
    tight = open_images(folder, memory=photos.nbytes - 1)
    tight[:2], tight[:2]
    assert len(decoded) == 160 + 5


def test_writing_to_a_block_does_not_change_the_next(folder, photos):
    source = open_images(folder)
    source[:3][...] = 0
    np.testing.assert_array_equal(source[:3], photos[:3])


def test_threads_may_ask_at_once(folder, photos):
    source = open_images(folder)
    order = np.random.default_rng(0).permutation(np.tile(np.arange(160), 10)).reshape(-1, 8)
    with ThreadPoolExecutor(8) as pool:
        for rows, block in zip(order, pool.map(source.__getitem__, order), strict=True):
            np.testing.assert_array_equal(block, photos[rows])


def test_a_source_survives_the_way_between_processes(folder, photos):
    source = pickle.loads(pickle.dumps(open_images(folder)))  # noqa: S301
    np.testing.assert_array_equal(source[5:9], photos[5:9])


def test_another_size_is_named_with_both_sizes_and_the_remedy(tmp_path):
    for name, size in {"a.png": (4, 3), "b.png": (4, 3), "c.png": (5, 3)}.items():
        Image.new("RGB", size).save(tmp_path / name)
    source = open_images(tmp_path)
    assert source[:2].shape == (2, 3, 4, 3)
    with pytest.raises(
        ImageError,
        match=r"c\.png: 3×5 pixels, but the first image, a\.png, has 3×4; give resize=\(height, width\), and crop=True",
    ):
        source[1:]
    assert open_images(tmp_path, resize=(2, 2))[:].shape == (3, 2, 2, 3)


def test_a_turned_first_file_rules_with_its_turned_size(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (4, 3)).save(tmp_path / "a.jpg", exif=exif)
    Image.new("RGB", (3, 4)).save(tmp_path / "b.png")
    assert open_images(tmp_path)[:].shape == (2, 4, 3, 3)


def test_the_first_file_rules_the_dtype(tmp_path, rng):
    deep = rng.integers(0, 65536, size=(3, 4), dtype=np.uint16)
    flat = rng.integers(0, 256, size=(3, 4), dtype=np.uint8)
    for name, image in {"a/1.png": deep, "a/2.png": flat, "b/1.png": flat, "b/2.png": deep}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / name)
    exact = open_images(tmp_path / "a", grey=True)
    assert exact.dtype == np.float32
    np.testing.assert_array_equal(exact[:][..., 0], [deep.astype(np.float32) / np.float32(257), flat])
    rounded = open_images(tmp_path / "b", grey=True)
    assert rounded.dtype == np.uint8
    np.testing.assert_array_equal(rounded[:][..., 0], [flat, np.rint(deep / 257)])


def test_floats_are_checked_block_by_block():
    images = np.ones((9, 4, 4, 1), np.float32)
    images[7, 2, 2] = np.nan
    images[8] = 1e30
    source = open_images(images)
    assert source[:7].shape == (7, 4, 4, 1)
    for rows in (slice(5, None), np.array([0, 7])):
        with pytest.raises(ImageError, match="image 7 has pixels that are NaN, infinite or above 1e"):
            source[rows]


def test_a_file_that_vanishes_later_is_named(folder, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    Image.new("RGB", (4, 4)).save(tmp_path / "b.png")
    source = open_images(tmp_path)
    (tmp_path / "b.png").unlink()
    with pytest.raises(ImageError, match=r"b\.png: .*No such file"):
        source[:]


@pytest.mark.parametrize("n_patches", [5, 100, 20_000])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_patches_of_a_source_are_those_of_the_array(folder, photos, monkeypatch, n_patches, threads):
    monkeypatch.setattr("poolwise.method.descriptors.sampling._DECODED_BYTES_PER_SHARD", 7 * photos[0].nbytes)
    monkeypatch.setattr("poolwise.method.descriptors.sampling._SAMPLES_PER_SHARD", 512)

    def sampled(images, threads):
        with Threads(threads) as engine:
            return sample_patches(images, n_patches, (6, 5), rng=np.random.default_rng(3), engine=engine).array

    np.testing.assert_array_equal(sampled(open_images(folder, memory=0), threads), sampled(photos, 1))


@pytest.mark.parametrize("n", [100, 2000])
def test_sampling_patches_decodes_each_image_drawn_once_and_no_other(folder, monkeypatch, decoded, engine, n):
    monkeypatch.setattr("poolwise.method.descriptors.sampling._DECODED_BYTES_PER_SHARD", 20_000)
    source = open_images(folder, memory=0)
    decoded.clear()
    sample_patches(source, n, (6, 6), rng=np.random.default_rng(0), engine=engine)
    drawn = np.unique(np.random.default_rng(0).integers(160, size=n))
    assert sorted(name[-7:-4] for name in decoded) == [f"{row:03}" for row in drawn]


class Endless(ImageSource):
    """5,000 images of 96×96 pixels, 138 MB, that exist only while somebody looks at them."""

    shape, dtype = (5000, 96, 96, 3), np.dtype(np.uint8)

    def __getitem__(self, rows):
        return np.random.default_rng(0).integers(0, 256, size=(len(np.arange(5000)[rows]), 96, 96, 3), dtype=np.uint8)


def test_a_source_larger_than_memory_is_never_held_whole():
    model = paper_features(**{**QUICK, "n_patches": 10_000}, descriptor=Patches(4, stride=16), n_jobs=2)
    model.fit(Endless()[:100])
    tracemalloc.start()
    try:
        model.fit(Endless()).transform(Endless())
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()


def super_patches(layer, images, n, threads):
    with Threads(threads) as engine:
        return list(super_patch_blocks(layer, images, n, rng=np.random.default_rng(0), engine=engine))


@pytest.mark.parametrize("grid", [2, [1, 3]])
@pytest.mark.parametrize("n", [3, 2000])
def test_super_patches_of_a_source_are_those_of_the_array(folder, photos, grid, n):
    layer = paper_features(**QUICK, pooling=Pool("average", grid=grid)).fit(photos).layer_
    expected = super_patches(layer, photos, n, 1)
    for threads in (1, 3):
        found = super_patches(layer, open_images(folder, memory=0), n, threads)
        assert [block.tobytes() for block in found] == [block.tobytes() for block in expected]


def test_super_patches_of_one_size_decode_each_image_once(folder, photos, decoded, monkeypatch):
    monkeypatch.setattr("poolwise.method.super_patches._DECODED_BYTES_AT_ONCE", 10_000)
    layer = paper_features(**QUICK, pooling=Pool("average", grid=1)).fit(photos).layer_
    source = open_images(folder, memory=0)
    decoded.clear()
    super_patches(layer, source, 2000, 2)
    assert len(decoded) == len(set(decoded)) == 160


@pytest.mark.parametrize("memory", [0, 2**30])
@pytest.mark.parametrize(
    "options", [{}, {"n_candidates": 20}, {"n_candidates": 20, "n_super_patches": 500}, {"n_candidates": 20, "scale": "cell"}]
)
def test_features_of_a_source_are_those_of_the_array(folder, photos, memory, options):
    a = paper_features(**QUICK, **options).fit(photos)
    b = paper_features(**QUICK, **options, n_jobs=3).fit(open_images(folder, memory=memory))
    np.testing.assert_array_equal(a.codes_, b.codes_)
    np.testing.assert_array_equal(a.transform(photos), b.transform(open_images(folder, memory=memory)))
    assert b.image_shape_in_ == (32, 32, 3)
    assert b.n_features_in_ == 3072


def test_fit_transform_of_a_source_is_that_of_the_array(folder, photos):
    found = paper_features(**QUICK).fit_transform(open_images(folder))
    np.testing.assert_array_equal(found, paper_features(**QUICK).fit_transform(photos))


def test_cross_validation_takes_a_source(folder, photos):
    labels = np.repeat(np.arange(16), 10)
    model = make_pipeline(paper_features(**QUICK), LinearSVC(dual=False))
    found = cross_val_score(model, open_images(folder, labels=labels), labels, cv=3)
    np.testing.assert_array_equal(found, cross_val_score(model, photos, labels, cv=3))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_features_of_a_memory_map_are_those_of_the_array(photos, tmp_path, dtype):
    np.save(tmp_path / "x.npy", photos.astype(dtype))
    found = paper_features(**QUICK).fit_transform(open_images(tmp_path / "x.npy"))
    np.testing.assert_array_equal(found, paper_features(**QUICK).fit_transform(photos))


def test_fit_decodes_each_file_once_where_memory_allows(folder, decoded):
    paper_features(**QUICK, n_jobs=1).fit(open_images(folder))
    assert len(decoded) == 160


def test_a_broken_file_fails_fit_with_its_name_and_leaves_the_model(folder, tmp_path, photos):
    for number, image in enumerate(photos[:30]):
        Image.fromarray(image).save(tmp_path / f"{number:02}.png")
    (tmp_path / "17.png").write_bytes(b"broken")
    model = paper_features(**QUICK).fit(photos)
    before = dict(model.__dict__)
    with pytest.raises(ImageError, match=r"17\.png: its content is not a PNG"):
        model.fit(open_images(tmp_path))
    assert model.__dict__ == before


def test_a_source_of_another_shape_than_fitted_is_refused(folder, photos):
    model = paper_features(**QUICK).fit(photos)
    with pytest.raises(ValueError, match="images of 32×32 pixels with 1 channel were given, but this model was fitted on"):
        model.transform(open_images(folder, grey=True))
    with pytest.raises(ValueError, match="do not agree with image_shape"):
        paper_features(**QUICK, image_shape=(16, 16, 3)).fit(open_images(folder))


def test_a_float_source_on_another_scale_is_reported(photos):
    with pytest.warns(UserWarning, match="all pixels lie within"):
        paper_features(**QUICK).fit(open_images(photos / 255))
    model = paper_features(**QUICK).fit(open_images(photos))
    with pytest.warns(UserWarning, match="the images seem to be scaled differently"):
        model.transform(open_images(photos / 255))


def test_a_source_makes_the_estimator_forget_column_names(photos, folder):
    import pandas as pd

    model = paper_features(**QUICK, image_shape=(32, 32, 3))
    model.fit(pd.DataFrame(photos.reshape(160, -1), columns=[f"p{i}" for i in range(3072)]))
    assert hasattr(model, "feature_names_in_")
    assert not hasattr(model.fit(open_images(folder)), "feature_names_in_")
