"""The fetchers on the real files in POOLWISE_DATA: `make test-data`, seconds each."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
import tifffile
from PIL import Image

from poolwise.datasets import fetch_cifar10, fetch_cub200, fetch_eurosat, fetch_stl10
from poolwise.datasets.catalogue import CATALOGUE

pytestmark = pytest.mark.data


@pytest.fixture
def only(data_home, tmp_path):
    """A folder with one data set of the real one alone."""

    def link(name):
        if not (data_home / name).exists():
            pytest.skip(f"{data_home / name} is not there")
        (tmp_path / name).symlink_to((data_home / name).resolve())
        return tmp_path

    return link


def test_cifar10_is_whole_and_balanced(only):
    cifar = fetch_cifar10(data_home=only("cifar-10-batches-bin"), subset="all", download_if_missing=False)
    assert cifar.images.shape == (60_000, 32, 32, 3)
    assert np.bincount(cifar.target[cifar.is_train]).tolist() == [5000] * 10
    assert np.bincount(cifar.target[~cifar.is_train]).tolist() == [1000] * 10


def test_stl10_at_32_pixels_is_whole(only):
    stl = fetch_stl10(data_home=only("stl10_32.npz"), subset="all", download_if_missing=False)
    assert stl.images.shape == (13_000, 32, 32, 3)
    assert np.bincount(stl.target).tolist() == [1300] * 10
    assert stl.folds.shape == (10, 1000)
    for fold in stl.folds:
        assert np.bincount(stl.target[fold]).tolist() == [100] * 10


@pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
def test_stl10_originals_become_the_stored_small_ones_to_the_bit(only, data_home):
    ours = fetch_stl10(data_home=only("stl10_binary"), size=32, download_if_missing=False)
    with np.load(only("stl10_32.npz") / "stl10_32.npz") as stored:
        x, y = stored["x_train"][: len(ours.images)], stored["y_train"][: len(ours.images)]
    difference = np.abs(ours.images.astype(int) - x)
    print(f"\nSTL-10, {len(x)} images at 32×32 beside stl10_32.npz: at most {difference.max()} apart")
    np.testing.assert_array_equal(ours.images, x)
    np.testing.assert_array_equal(ours.target, y)


def as_jpeg(image):
    """What is left of an image after it was stored as those of cub128.npz were."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "JPEG", quality=90, subsampling=0)
    return np.asarray(Image.open(buffer)).astype(int)


@pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
def test_crops_of_the_birds_are_the_stored_ones_but_for_jpeg(only):
    """The sample has the first images of a few classes, so the k-th of a class and part is the k-th there in cub128.npz."""
    ours = fetch_cub200(data_home=only("CUB_200_2011"), subset="all", download_if_missing=False, verbose=False)
    with np.load(only("cub128.npz") / "cub128.npz") as stored:
        x = {True: stored["x_train"], False: stored["x_test"]}
        y = {True: stored["y_train"], False: stored["y_test"]}
    plain, packed = [], []
    for train in (True, False):
        for label in np.unique(ours.target):
            mine = ours.images[(ours.target == label) & (ours.is_train == train)]
            for image, row in zip(mine, np.flatnonzero(y[train] == label), strict=False):
                plain.append(np.abs(image.astype(int) - x[train][row]).mean())
                packed.append(np.abs(as_jpeg(image) - x[train][row]).mean())
    print(
        f"\nCUB-200-2011, {len(plain)} crops beside cub128.npz: mean absolute difference {np.mean(plain):.2f} of 255, at most "
        f"{max(plain):.2f} in an image; {np.mean(packed):.3f} and {max(packed):.3f} after ours were JPEGs too"
    )
    assert len(plain) == len(ours.images)
    assert np.mean(plain) < 2.4  # bicubic 2.27; bilinear 2.48, Lanczos 2.51, boxes not widened to whole pixels 2.63
    assert max(packed) < 0.1  # all other filters: 2 and more


@pytest.mark.parametrize(
    ("name", "file"), [("cifar10", "cifar-10-batches-bin"), ("stl10", "stl10_32.npz"), ("cub200", "cub128.npz")]
)
def test_what_is_found_without_reading_is_what_is_read(only, name, file):
    entry, home = CATALOGUE[name], only(file)
    there = entry.found(home)
    assert set(there) >= {"train", "test"}
    for part, (where, count) in there.items():
        assert where == home / file
        assert entry.load(part, home, False).images.shape == (count, *entry.shape)
        assert count == entry.parts[part]


@pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
def test_eurosat_tiles_keep_their_13_bands_and_packed_ones_serve_where_they_are_few(only, data_home):
    home = only("EuroSAT_MS")
    bunch = fetch_eurosat(data_home=home, subset="all", download_if_missing=False, verbose=False)
    assert bunch.images.shape == (20, 64, 64, 13)
    assert np.bincount(bunch.target).tolist() == [2] * 10
    first = tifffile.imread(home / "EuroSAT_MS" / "AnnualCrop" / "AnnualCrop_1.tif")
    np.testing.assert_array_equal(bunch.images[0], first)
    both = fetch_eurosat(data_home=only("eurosat32.npz"), subset="all", download_if_missing=False)
    assert both.images.shape == (3000, 32, 32, 13)


def test_eurosat_tiles_fit_evaluate_and_report_from_the_command_line(only, tmp_path):
    tiles, model, page = (str(only("EuroSAT_MS") / "EuroSAT_MS"), str(tmp_path / "m.safetensors"), str(tmp_path / "r.html"))

    def poolwise(*words):
        done = subprocess.run([sys.executable, "-m", "poolwise", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    options = ["--codes", "16", "--patches", "5000", "--patch-size", "3", "--statistics", "--seed", "0", "--quiet"]
    poolwise("fit", tiles, "-o", model, *options)
    described = json.loads(poolwise("inspect", model, "--json"))
    assert described["image_shape"] == [64, 64, 13]
    assert described["layers"][0]["statistics"] == "shared"
    assert json.loads(poolwise("evaluate", model, tiles, "--json", "--quiet"))["accuracy"] > 0.9  # of the images learned from
    poolwise("report", model, tiles, "-o", page, "--quiet")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "64×64 13-channel" in text
    assert "the mean, spread, least and largest number of each band" in text
