"""`transform -o FOLDER`: shards written once and whole, and a second run that goes on where the first stopped."""

import csv
import json

import numpy as np
import pytest

from poolwise import PooledFeatures, load
from poolwise.images import open_images


@pytest.fixture
def eleven(monkeypatch):
    """Eleven images of 32 features in a shard."""
    monkeypatch.setattr("poolwise.cli.shards._BYTES_PER_SHARD", 11 * 32 * 4)


def transform(poolwise, made, folder, *words):
    return poolwise("transform", made.model, made.test, "-o", folder, "--json", "--quiet", *words)


def shards_of(folder):
    return np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])


def test_shards_hold_what_the_library_computes(made, poolwise, tmp_path, eleven):
    done = transform(poolwise, made, tmp_path / "shards")
    assert done.code == 0, done.err
    assert json.loads(done.out)["shards"] == json.loads(done.out)["written"] == 3
    images = open_images(made.test)
    assert [len(np.load(path)) for path in sorted((tmp_path / "shards").glob("*.npy"))] == [11, 11, 8]
    assert np.array_equal(shards_of(tmp_path / "shards"), load(made.model)[0].transform(images))
    rows = []
    for path in sorted((tmp_path / "shards").glob("*.csv")):
        with path.open(newline="") as file:
            rows += list(csv.DictReader(file))
    assert [row["path"] for row in rows] == images.names
    assert [int(row["row"]) for row in rows] == list(range(30))


def test_a_run_that_stopped_is_completed(made, poolwise, tmp_path, eleven, monkeypatch):
    folder = tmp_path / "shards"
    blocks, seen = PooledFeatures.transform_blocks, []

    def stopping(self, images):
        for rows, X in blocks(self, images):
            yield rows, X[:15]
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PooledFeatures, "transform_blocks", stopping)
        assert transform(poolwise, made, folder).code == 130
    assert sorted(path.name for path in folder.iterdir()) == ["00000.csv", "00000.npy", "shards.json"]
    first = (folder / "00000.npy").stat()

    def counting(self, images):
        seen.append(len(images))
        return blocks(self, images)

    monkeypatch.setattr(PooledFeatures, "transform_blocks", counting)
    assert json.loads(transform(poolwise, made, folder).out)["written"] == 2
    assert seen == [19]
    assert (folder / "00000.npy").stat().st_mtime_ns == first.st_mtime_ns
    assert np.array_equal(shards_of(folder), load(made.model)[0].transform(open_images(made.test)))
    (folder / "00001.npy").unlink()
    assert json.loads(transform(poolwise, made, folder).out)["written"] == 1
    assert json.loads(transform(poolwise, made, folder).out)["written"] == 0
    assert np.array_equal(shards_of(folder), load(made.model)[0].transform(open_images(made.test)))


def test_shards_of_something_else_are_left_alone(made, poolwise, tmp_path):
    folder = tmp_path / "shards"
    assert transform(poolwise, made, folder).code == 0
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = poolwise("transform", made.features, made.test, "-o", folder, "--quiet")
    assert (done.code, "are of another model" in done.err) == (3, True)
    done = poolwise("transform", made.model, made.train, "-o", folder, "--quiet")
    assert (done.code, "are of another images and other rows" in done.err) == (3, True)
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    (folder / "shards.json").write_text("[]")
    assert "does not describe shards" in transform(poolwise, made, folder).err


def test_the_same_names_elsewhere_or_read_otherwise_are_other_images(made, poolwise, tmp_path):
    images, folder = open_images(made.test), tmp_path / "shards"
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", images[:] if name == "a" else images[::-1])
    assert poolwise("transform", made.model, tmp_path / "a.npy", "-o", folder, "--quiet").code == 0
    done = poolwise("transform", made.model, tmp_path / "b.npy", "-o", folder, "--quiet")
    assert (done.code, "are of another source" in done.err) == (3, True)
    folder = tmp_path / "more"
    assert transform(poolwise, made, folder, "--resize", "32").code == 0
    done = poolwise("transform", made.model, made.test, "-o", folder, "--quiet", "--resize", "32", "--crop")
    assert (done.code, "are of another source" in done.err) == (3, True)


def test_a_folder_with_something_else_is_refused(made, poolwise, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for folder in (tmp_path / "mine", tmp_path / "no" / "shards"):
        assert transform(poolwise, made, folder).code == 2
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def read_zarr(folder):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(folder), mode="r")
    return group["features"][:], group["path"][:].tolist()


def read_parquet(folder):
    pytest.importorskip("pyarrow")
    table = __import__("pyarrow.parquet").parquet.read_table(folder)
    assert table["row"].to_pylist() == list(range(len(table)))
    return np.array(table["features"].to_pylist(), np.float32), table["path"].to_pylist()


@pytest.mark.parametrize(("ending", "read"), [(".zarr", read_zarr), (".parquet", read_parquet)])
def test_other_formats_hold_the_same_and_are_completed(made, poolwise, tmp_path, eleven, monkeypatch, ending, read):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    folder, blocks = tmp_path / f"x{ending}", PooledFeatures.transform_blocks

    def stopping(self, images):
        for rows, X in blocks(self, images):
            yield rows, X[:15]
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PooledFeatures, "transform_blocks", stopping)
        assert transform(poolwise, made, folder).code == 130
    first = sorted(folder.rglob("*0*"))[-1]
    before, images = first.stat().st_mtime_ns, open_images(made.test)
    done = transform(poolwise, made, folder)
    assert done.code == 0, done.err
    assert (json.loads(done.out)["written"], json.loads(done.out)["shards"]) == (2, 3)
    assert first.stat().st_mtime_ns == before
    X, names = read(folder)
    assert np.array_equal(X, load(made.model)[0].transform(images))
    assert names == images.names
    assert json.loads(transform(poolwise, made, folder).out)["written"] == 0
    done = poolwise("transform", made.features, made.test, "-o", folder, "--quiet")
    assert (done.code, "are of another model" in done.err) == (3, True)


def test_without_pyarrow_parquet_is_a_usage_error(made, poolwise, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.cli.shard_formats.find_spec", lambda name: None)
    done = transform(poolwise, made, tmp_path / "x.parquet")
    assert (done.code, "pip install pyarrow" in done.err, list(tmp_path.iterdir())) == (2, True, [])
