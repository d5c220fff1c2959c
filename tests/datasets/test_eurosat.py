"""EuroSAT: tiny folders of the official layout and packed tiles, and the zip that the official archive is."""

import io
import zipfile

import numpy as np
import pytest
import tifffile

from poolwise.datasets import eurosat, fetch_eurosat
from poolwise.datasets.download import Archive, DownloadError
from poolwise.datasets.eurosat import NAMES, found, read_packed, tiles_of
from poolwise.datasets.unpacking import unpack
from poolwise.images import ImageError

pytestmark = pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
NUMBERS = (1, 2, 5, 10, 11)


def write_tiles(folder, rng):
    """Five tiles of every class; what is in them, by file name."""
    tiles = {}
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        for number in NUMBERS:
            pixels = rng.integers(0, 28_000, (64, 64, 13), dtype=np.uint16)
            path = folder / name / f"{name}_{number}.tif"
            tifffile.imwrite(path, pixels, photometric="minisblack", planarconfig="contig")
            tiles[path.name] = pixels
    return tiles


@pytest.fixture(scope="module")
def official(tmp_path_factory):
    """A folder that holds EuroSAT_MS, and its tiles."""
    home = tmp_path_factory.mktemp("eurosat")
    return home, write_tiles(home / "EuroSAT_MS", np.random.default_rng(0))


@pytest.fixture
def packed(tmp_path, rng):
    arrays = {f"x_{part}": rng.integers(0, 28_000, (n, 32, 32, 13), dtype=np.uint16) for part, n in (("train", 6), ("test", 3))}
    arrays |= {f"y_{part}": rng.integers(0, 10, n) for part, n in (("train", 6), ("test", 3))}
    np.savez(tmp_path / "eurosat32.npz", **arrays)
    return arrays


def test_pixels_and_labels_are_those_of_the_files_by_class_and_number(official):
    home, tiles = official
    for part, numbers in (("train", (1, 2, 11)), ("test", (5, 10))):
        bunch = fetch_eurosat(data_home=home, subset=part, verbose=False)
        expected = [(tiles[f"{name}_{number}.tif"], label) for label, name in enumerate(NAMES) for number in numbers]
        assert bunch.images.shape == (len(expected), 64, 64, 13)
        assert bunch.images.dtype == np.uint16
        for image, target, (pixels, label) in zip(bunch.images, bunch.target, expected, strict=True):
            np.testing.assert_array_equal(image, pixels)
            assert target == label
        assert bunch.target_names.tolist() == list(NAMES)
        assert bunch.data.shape == (len(expected), 64 * 64 * 13)
    whole = fetch_eurosat(data_home=home, subset="all", verbose=False)
    assert whole.is_train.tolist() == [True] * 30 + [False] * 20
    assert {part: count for part, (_, count) in found(home).items()} == {"train": 30, "test": 20}


def test_a_split_of_ours_has_the_numbers_of_the_catalogue(tmp_path):
    counts = [3000, 3000, 3000, 2500, 2500, 2000, 2500, 3000, 2500, 3000]  # of the official classes
    assert eurosat.OFFICIAL == {"train": sum(counts) * 4 // 5, "test": sum(counts) // 5}
    (tmp_path / "Forest").mkdir()
    for name in ("Forest_1.tif", "Forest_010.tif", "River_5.tif", "Forest_5.tif.txt", "Forest_15.tif"):
        (tmp_path / "Forest" / name).touch()
    assert [path.name for path, _ in tiles_of(tmp_path, "train")] == ["Forest_1.tif"]
    assert [path.name for path, _ in tiles_of(tmp_path, "test")] == ["Forest_15.tif"]


def test_packed_tiles_serve_where_official_ones_are_not_complete(tmp_path, rng, packed, monkeypatch):
    bunch = fetch_eurosat(data_home=tmp_path, subset="all", download_if_missing=False)
    np.testing.assert_array_equal(bunch.images, np.concatenate([packed["x_train"], packed["x_test"]]))
    np.testing.assert_array_equal(bunch.target, np.concatenate([packed["y_train"], packed["y_test"]]))
    for ours, name in zip(read_packed(tmp_path), ("x_train", "y_train", "x_test", "y_test"), strict=True):
        np.testing.assert_array_equal(ours, packed[name])
    assert found(tmp_path) == {"train": (tmp_path / "eurosat32.npz", 6), "test": (tmp_path / "eurosat32.npz", 3)}
    write_tiles(tmp_path / "EuroSAT_MS", rng)
    X, y = fetch_eurosat(data_home=tmp_path, return_X_y=True)
    assert (X.shape, y.shape) == ((6, 32, 32, 13), (6,))
    assert fetch_eurosat(data_home=tmp_path, size=64, verbose=False).images.shape == (30, 64, 64, 13)
    monkeypatch.setattr(eurosat, "OFFICIAL", {"train": 30, "test": 20})
    assert fetch_eurosat(data_home=tmp_path, verbose=False).images.shape == (30, 64, 64, 13)
    assert fetch_eurosat(data_home=tmp_path, size=32).images.shape == (6, 32, 32, 13)


def test_what_is_wrong_is_named(tmp_path, rng, packed):
    with pytest.raises(ValueError, match="size must be 32, 64 or None; got 96"):
        fetch_eurosat(data_home=tmp_path, size=96)
    with pytest.raises(FileNotFoundError, match="EuroSAT_MS does not exist"):
        fetch_eurosat(data_home=tmp_path, size=64, download_if_missing=False)
    (tmp_path / "EuroSAT_MS" / "River").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="holds no train tiles"):
        fetch_eurosat(data_home=tmp_path, size=64)
    tifffile.imwrite(tmp_path / "EuroSAT_MS" / "River" / "River_3.tif", np.zeros((64, 64, 3), np.uint8))
    with pytest.raises(ImageError, match=r"River_3.tif: it is \(64, 64, 3\) of uint8; expected \(64, 64, 13\) uint16"):
        fetch_eurosat(data_home=tmp_path, size=64, verbose=False)
    np.savez(tmp_path / "eurosat32.npz", **{**packed, "y_train": np.full(6, 10)})
    with pytest.raises(ImageError, match=r"record 0 has the label 10, expected 0\.\.9"):
        fetch_eurosat(data_home=tmp_path)
    np.savez(tmp_path / "eurosat32.npz", x_train=packed["x_train"])
    with pytest.raises(ImageError, match="no labels y_train"):
        fetch_eurosat(data_home=tmp_path)
    (tmp_path / "eurosat32.npz").unlink()
    with pytest.raises(FileNotFoundError, match="is not downloaded; give size=64"):
        fetch_eurosat(data_home=tmp_path, size=32)


def zip_of(files, attributes=0):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = attributes << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def test_the_official_zip_is_downloaded_checked_and_unpacked(tmp_path, official, server, monkeypatch):
    home, tiles = official
    files = {
        f"EuroSAT_MS/{path.parent.name}/{path.name}": path.read_bytes()
        for part in ("train", "test")
        for path, _ in tiles_of(home / "EuroSAT_MS", part)[:2]
    }
    server.content = zip_of(files)
    monkeypatch.setattr(eurosat, "ARCHIVE", server.archive("EuroSAT_MS"))
    bunch = fetch_eurosat(data_home=tmp_path / "home", subset="all", verbose=False)
    names = ["AnnualCrop_1.tif", "AnnualCrop_2.tif", "AnnualCrop_5.tif", "AnnualCrop_10.tif"]
    np.testing.assert_array_equal(bunch.images, [tiles[name] for name in names])
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["EuroSAT_MS"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zip_of({"../set/a": b"1"}), "leads out of its folder"),
        (zip_of({"/set/a": b"1"}), "leads out of its folder"),
        (zip_of({"set/a": b"/etc/passwd"}, 0o120777), "link, device or pipe"),
        (zip_of({"set/a": bytes(20_000)}), "unfolds into more than 10,000 bytes"),
        (zip_of({"other/a": b"1"}), "holds no folder set"),
        (zip_of({"set/a": b"12345" * 100}).replace(b"PK\x03\x04", b"PK\x03\x05", 1), "cannot be unpacked"),
    ],
)
def test_a_zip_that_is_not_what_it_should_be_leaves_nothing(tmp_path, content, reason):
    (tmp_path / "set.zip").write_bytes(content)
    with pytest.raises(DownloadError, match=reason):
        unpack(Archive("http://127.0.0.1/set.zip", "", "set", 10_000), tmp_path / "set.zip", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["set.zip"]
