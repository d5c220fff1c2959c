"""What the catalogue says of data sets is what their readers do."""

import subprocess
import sys

import pytest

from poolwise import datasets
from poolwise.cli.names import PARTS
from poolwise.datasets import load_photos
from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.home import parts_of

from serving import write_batches


def test_the_command_knows_their_names_and_parts():
    assert {name: tuple(entry.parts) for name, entry in CATALOGUE.items()} == PARTS
    assert all(name == entry.name for name, entry in CATALOGUE.items())


def test_official_numbers_are_those_that_the_readers_know():
    assert {name: entry.official for name, entry in CATALOGUE.items()} == {
        "cifar10": {"train": 50_000, "test": 10_000},
        "stl10": {"train": 5_000, "test": 8_000, "unlabeled": 100_000},
        "cub200": {"train": 5_994, "test": 5_794},
        "eurosat": {"train": 21_600, "test": 5_400},
        "photos": {"train": 3_200, "test": 1_600},
    }
    for entry in CATALOGUE.values():
        assert entry.parts == entry.reader.OFFICIAL == entry.official
        assert entry.reader.__name__ == f"poolwise.datasets.{entry.name}"
        assert getattr(datasets, entry.function) is getattr(entry.reader, entry.function)


def test_a_data_set_is_imported_when_it_is_asked_for():
    code = (
        "import sys; import poolwise.datasets as datasets\n"
        "before = 'poolwise.datasets.stl10' in sys.modules\n"
        "datasets.fetch_stl10\n"
        "print(before, *(f'poolwise.datasets.{name}' in sys.modules for name in ('stl10', 'cub200')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True False\n"
    with pytest.raises(AttributeError, match="has no attribute 'fetch_imagenet'"):
        _ = datasets.fetch_imagenet


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_pages_and_people_are_those_of_the_description(entry):
    words = entry.reader._DESCR.replace("\n", " ")
    if entry.archive is not None:
        assert entry.page in words
        assert entry.cite.split()[0].strip(",") in words
        assert entry.cite.rpartition(", ")[2] in words
        assert 0 < entry.download < entry.archive.max_bytes
    assert f"{entry.n_classes} " in words
    assert all(f"{count:,}" in words for count in entry.parts.values()) or entry.archive is None


def test_cifar10(tmp_path, rng, monkeypatch):
    write_batches(tmp_path / "cifar-10-batches-bin", rng)
    entry = CATALOGUE["cifar10"]
    assert not entry.is_complete(entry.found(tmp_path))
    monkeypatch.setattr(entry.reader, "OFFICIAL", {"train": 15, "test": 3})
    assert entry.is_complete(entry.found(tmp_path))
    for part, (_, count) in entry.found(tmp_path).items():
        assert entry.load(part, tmp_path, False).images.shape == (count, *entry.shape)


def test_photos(tmp_path):
    entry = CATALOGUE["photos"]
    there = entry.found(tmp_path)
    assert entry.is_complete(there)
    for part in entry.parts:
        read = entry.load(part, tmp_path, False)
        assert read.images.shape == (there[part][1], *entry.shape)
        assert (read.images == load_photos(subset=part).images).all()


@pytest.mark.parametrize("name", ["cifar10", "stl10", "cub200", "eurosat"])
def test_what_is_not_there_is_not_downloaded(tmp_path, name, server, monkeypatch):
    entry = CATALOGUE[name]
    monkeypatch.setattr(entry.reader, "ARCHIVE", server.archive())
    for part in entry.parts:
        assert parts_of(part, "unlabeled") == (part,)
        with pytest.raises(FileNotFoundError, match="does not exist"):
            entry.load(part, tmp_path / "home", False)
    assert server.requested == []
    assert not (tmp_path / "home").exists()
