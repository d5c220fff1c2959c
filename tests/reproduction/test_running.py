"""Measuring: every cell once, at once in the store, and on from where it stopped."""

import pytest

from poolwise.reproduction import protocols, running
from poolwise.reproduction.cells import Cell, kmeans, pca, pdl
from poolwise.reproduction.protocols import Settings
from poolwise.reproduction.running import measure
from poolwise.reproduction.store import Store

CELLS = [kmeans("photos", 8), pdl("photos", 4, 16), pca("photos", 4, 16), pdl("photos", 8, 16, projection=None)]


@pytest.fixture
def settings(protocol, monkeypatch):
    monkeypatch.setitem(protocols.PROTOCOLS, "photos", protocol)
    return Settings(n_jobs=1)


def test_cells_of_one_start_share_its_dictionary(settings, tmp_path, monkeypatch):
    made = []

    class Counted(running.Start):
        def __init__(self, protocol, data, M, *, seed, **more):
            made.append((M, seed))
            super().__init__(protocol, data, M, seed=seed, **more)

    monkeypatch.setattr(running, "Start", Counted)
    store, said = Store(tmp_path), []
    measure(CELLS, store, settings, said.append)
    assert made == [(8, 0), (16, 0)]
    assert all(0.0625 < store.get(cell)["accuracy"] <= 1 for cell in CELLS)
    assert any("4 of 4" in line for line in said)


def test_interrupted_it_goes_on_where_it_was_with_the_same_numbers(settings, tmp_path, monkeypatch):
    whole = Store(tmp_path / "whole")
    measure(CELLS, whole, settings, lambda text: None)
    classify, left = running.classify, [2]

    def interrupt(*arguments):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return classify(*arguments)

    monkeypatch.setattr(running, "classify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measure(CELLS, Store(tmp_path / "parts"), settings, lambda text: None)
    assert len(Store(tmp_path / "parts").all()) == 2
    monkeypatch.setattr(running, "classify", classify)
    said, parts = [], Store(tmp_path / "parts")
    measure(CELLS, parts, settings, said.append)
    assert any("2 of 2" in line for line in said)
    for cell in CELLS:
        assert parts.get(cell)["accuracy"] == whole.get(cell)["accuracy"]
    said.clear()
    measure(CELLS, parts, settings, said.append)
    assert said == []


def test_the_same_seed_gives_the_same_accuracy_on_one_and_two_threads(settings, protocol, tmp_path):
    cell = Cell("photos", 4, 16, 5, "affinity", "nystrom")
    measure([cell], Store(tmp_path / "one"), settings, lambda text: None)
    measure([cell], Store(tmp_path / "two"), Settings(n_jobs=2), lambda text: None)
    assert Store(tmp_path / "one").get(cell)["accuracy"] == Store(tmp_path / "two").get(cell)["accuracy"]
