"""What is told of data sets is what their readers do."""

import pytest

from poolwise.cli.names import PARTS
from poolwise.datasets import load_photos
from poolwise.datasets.catalogue import CATALOGUE
from poolwise.datasets.home import parts_of

from serving import write_batches


def test_the_command_knows_their_names_and_parts():
    assert {name: tuple(entry.parts) for name, entry in CATALOGUE.items()} == PARTS
    assert all(name == entry.name for name, entry in CATALOGUE.items())


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_pages_and_people_are_those_of_the_description(entry):
    words = entry.module._DESCR.replace("\n", " ")
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
    monkeypatch.setattr(entry.module, "OFFICIAL", {"train": 15, "test": 3})
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


@pytest.mark.parametrize("name", ["cifar10", "stl10", "cub200"])
def test_what_is_not_there_is_not_downloaded(tmp_path, name, server, monkeypatch):
    entry = CATALOGUE[name]
    monkeypatch.setattr(entry.module, "ARCHIVE", server.archive())
    for part in entry.parts:
        assert parts_of(part, "unlabeled") == (part,)
        with pytest.raises(FileNotFoundError, match="is not there"):
            entry.load(part, tmp_path / "home", False)
    assert server.requested == []
    assert not (tmp_path / "home").exists()
