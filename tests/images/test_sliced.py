"""Arrays of zarr, h5py, dask and others, compared with the array that was written; what is read, and by how many at once."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
import zarr

from poolwise import Patches, PooledFeatures, open_images
from poolwise.images import ImageError

from settings import paper_features

QUICK = {"n_codes": 4, "n_patches": 500, "descriptor": Patches(3), "random_state": 0}


def write_zarr(folder, images):
    return zarr.create_array(str(folder / "x.zarr"), data=images, chunks=(7, *images.shape[1:]))


def write_h5(folder, images):
    file = h5py.File(folder / "x.h5", "w")
    return file.create_dataset("x", data=images, chunks=(7, *images.shape[1:]), compression="gzip")


def write_plain_h5(folder, images):
    return h5py.File(folder / "x.h5", "w").create_dataset("x", data=images)


def as_dask(folder, images):
    return pytest.importorskip("dask.array").from_array(images, chunks=(7, *images.shape[1:]))


def as_map(folder, images):
    np.save(folder / "x.npy", images)
    return np.load(folder / "x.npy", mmap_mode="r")


LIBRARIES = [write_zarr, write_h5, write_plain_h5, as_dask, as_map]


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, size=(30, 8, 9, 3), dtype=np.uint8)


@pytest.fixture(params=LIBRARIES)
def array(request, tmp_path, images):
    return request.param(tmp_path, images)


def test_rows_are_cut_as_in_the_array(array, images, rng):
    source = open_images(array, labels=np.arange(30))
    assert (source.shape, source.dtype, source.labels[-1]) == (images.shape, np.uint8, 29)
    lists = np.array([29, 0, 0, 8, 7]), np.arange(5, 20), [3], np.arange(30) % 4 == 1, [], rng.integers(0, 30, 50)
    for rows in (slice(3, 17), slice(None, None, -4), slice(20, 3), slice(25, 99), *lists, 4, -1):
        np.testing.assert_array_equal(source[rows], images[np.asarray(rows, int) if isinstance(rows, list) else rows])


def test_threads_may_ask_at_once(array, images):
    source = open_images(array)
    order = np.random.default_rng(0).permutation(np.tile(np.arange(30), 20)).reshape(-1, 6)
    with ThreadPoolExecutor(8) as pool:
        for rows, block in zip(order, pool.map(source.__getitem__, order), strict=True):
            np.testing.assert_array_equal(block, images[rows])


def test_features_are_those_of_the_array_in_memory(array, images):
    model = paper_features(**QUICK).fit(images)
    expected = model.transform(images)
    for threads in (1, 3):
        found = paper_features(**QUICK, n_jobs=threads).fit(open_images(array))
        np.testing.assert_array_equal(found.codes_, model.codes_)
        np.testing.assert_array_equal(found.transform(open_images(array)), expected)
    np.testing.assert_array_equal(paper_features(**QUICK).fit(array).transform(array), expected)


@pytest.mark.parametrize("write", [write_zarr, write_plain_h5, as_dask])
@pytest.mark.parametrize("dtype", [">u2", "<f4", "f8", "i2", "?"])
def test_numbers_of_any_kind_and_order_are_kept(tmp_path, rng, write, dtype):
    images = rng.integers(0, 2 if dtype == "?" else 3000, size=(9, 4, 5)).astype(dtype)
    source = open_images(write(tmp_path, images[..., None]))
    assert source.dtype == np.dtype(dtype).newbyteorder("=")
    assert source.dtype.isnative
    np.testing.assert_array_equal(source[:][..., 0], images)


def test_greys_without_an_axis_of_channels_get_one(tmp_path, images):
    source = open_images(write_plain_h5(tmp_path, images[..., 0]))
    assert source.shape == (30, 8, 9, 1)
    np.testing.assert_array_equal(source[[4, 2]][..., 0], images[[4, 2], ..., 0])


class Counted:
    """An array that knows slices alone, and counts what is asked for, and by how many at once."""

    def __init__(self, array, chunks=None):
        self._array, self.shape, self.dtype, self.asked, self.inside, self.most = array, array.shape, array.dtype, [], 0, 0
        if chunks is not None:
            self.chunks = chunks

    def __getitem__(self, rows):
        assert type(rows) is slice
        assert rows.step is None
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.asked.append((rows.start, rows.stop))
        threading.Event().wait(0.001)
        self.inside -= 1
        return self._array[rows]


@pytest.mark.parametrize(
    ("chunks", "spans"),
    [
        (None, [(1, 3), (6, 8), (9, 10)]),
        ((4, 8, 9, 3), [(1, 3), (6, 8), (9, 10)]),
        ((8, 8, 9, 3), [(1, 8), (9, 10)]),
        (((8, 8, 8, 6), (8,), (9,), (3,)), [(1, 8), (9, 10)]),
    ],
)
def test_scattered_rows_are_read_as_spans_within_chunks(images, chunks, spans):
    array = Counted(images, chunks)
    source = open_images(array)
    array.asked.clear()
    np.testing.assert_array_equal(source[[9, 1, 2, 7, 6]], images[[9, 1, 2, 7, 6]])
    assert array.asked == spans
    array.asked.clear()
    source[np.arange(5, 25)]
    assert array.asked == [(5, 25)]


def test_one_thread_at_a_time_reads_and_nothing_is_read_to_open(images):
    array = Counted(images)
    source = open_images(array)
    assert array.asked == [(0, 1)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(source.__getitem__, range(30)))
    assert array.most == 1


def test_chunks_of_dask_that_cut_images_are_refused_with_the_remedy(images):
    cut = pytest.importorskip("dask.array").from_array(images, chunks=(7, 8, 5, 1))
    with pytest.raises(ImageError, match=r"chunks cut images, along the axes 2, 3; give array\.rechunk\({2: -1, 3: -1}\)"):
        open_images(cut)
    np.testing.assert_array_equal(open_images(cut.rechunk({2: -1, 3: -1}))[4:9], images[4:9])


def test_a_large_array_is_read_in_blocks(images):
    array = Counted(np.tile(images, (400, 1, 1, 1)))
    PooledFeatures(4, n_candidates=None, n_patches=500, random_state=0, selection="affinity").fit(array).transform(array)
    assert max(stop - start for start, stop in array.asked) < 12_000


def test_a_zarr_source_survives_the_way_between_processes(tmp_path, images):
    source = pickle.loads(pickle.dumps(open_images(write_zarr(tmp_path, images))))  # noqa: S301
    np.testing.assert_array_equal(source[5:9], images[5:9])


def test_floats_that_are_no_numbers_are_named_by_their_image(tmp_path, images):
    broken = images.astype(np.float32)
    broken[17, 3, 3, 1] = np.nan
    source = open_images(write_zarr(tmp_path, broken))
    for rows in (slice(10, 20), [2, 17, 3]):
        with pytest.raises(ImageError, match="the Array: image 17 has pixels that are NaN, infinite"):
            source[rows]


def test_what_is_no_array_of_images_is_refused(tmp_path, images):
    with h5py.File(tmp_path / "g.h5", "w") as file:
        data = file.create_dataset("images", data=images)
        file.create_dataset("labels", data=np.arange(30))
        file.create_dataset("names", data=["a"] * 30)
        with pytest.raises(ImageError, match="the File: it holds several arrays, 'images', 'labels', 'names'; give the one of"):
            open_images(file)
        with pytest.raises(ImageError, match=r"the Dataset: it has shape \(30, 8\); expected numbers of shape \(n, height"):
            open_images(file.create_dataset("flat", data=images[:, :, 0, 0]))
        with pytest.raises(ImageError, match=r"the Dataset: it has shape \(0, 4, 4\)"):
            open_images(file.create_dataset("none", data=np.zeros((0, 4, 4))))
        with pytest.raises(ImageError, match="the Dataset: its pixels are complex128; expected whole or real numbers"):
            open_images(file.create_dataset("waves", data=np.zeros((2, 4, 4), complex)))
        with pytest.raises(ValueError, match="resize, crop, grey, channels, page and stack are for image files"):
            open_images(data, resize=(4, 4))
        with pytest.raises(ValueError, match=r"labels of shape \(3,\) for 30 images"):
            open_images(data, labels=[1, 2, 3])
        with pytest.raises(ValueError, match=r"columns=\('a', 'b'\) are those of a table; the Dataset is not one"):
            open_images(data, columns=("a", "b"))
        np.testing.assert_array_equal(open_images(data, labels=file["labels"]).labels, np.arange(30))
        texts = file.create_dataset("texts", data=["ü", "b"] * 15)
        assert open_images(data, labels=texts).labels.tolist() == ["ü", "b"] * 15
        source = open_images(data)
    with pytest.raises(ImageError, match="the Dataset: images 3 to 4 cannot be read"):
        source[3:5]
    with pytest.raises(ImageError, match=r"the Dataset: it cannot be read .*is its file still open"):
        open_images(data)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("images", data=images)
    with pytest.raises(ImageError, match="the Group: it holds several arrays, 'images'"):
        open_images(group)
