"""Measuring: every cell once, at once in the store, and on from where it stopped."""

import pytest

from poolwise.experiments import running
from poolwise.experiments.cells import Cell, kmeans, pca, pdl
from poolwise.experiments.running import Settings, measure
from poolwise.experiments.store import Store

CELLS = [kmeans("photos", 8), pdl("photos", 4, 16), pca("photos", 4, 16), pdl("photos", 8, 16, transform=None)]


@pytest.fixture
def settings(protocol, monkeypatch):
    monkeypatch.setitem(running.PROTOCOLS, "photos", protocol)
    return Settings(n_jobs=1)


def test_cells_of_one_start_share_its_dictionary(settings, tmp_path, monkeypatch):
    made = []

    class Counted(running.Start):
        def __init__(self, *arguments):
            made.append(arguments[2:4])
            super().__init__(*arguments)

    monkeypatch.setattr(running, "Start", Counted)
    store, told = Store(tmp_path), []
    measure(CELLS, store, settings, told.append)
    assert made == [(8, 0), (16, 0)]
    assert all(0.0625 < store.get(cell)["accuracy"] <= 1 for cell in CELLS)
    assert any("4 of 4" in line for line in told)


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
    told, parts = [], Store(tmp_path / "parts")
    measure(CELLS, parts, settings, told.append)
    assert any("2 of 2" in line for line in told)
    for cell in CELLS:
        assert parts.get(cell)["accuracy"] == whole.get(cell)["accuracy"]
    told.clear()
    measure(CELLS, parts, settings, told.append)
    assert told == []


def test_the_same_seed_gives_the_same_accuracy_on_one_and_two_threads(settings, protocol, tmp_path):
    cell = Cell("photos", 4, 16, 5, "affinity", "nystrom")
    measure([cell], Store(tmp_path / "one"), settings, lambda text: None)
    measure([cell], Store(tmp_path / "two"), Settings(n_jobs=2), lambda text: None)
    assert Store(tmp_path / "one").get(cell)["accuracy"] == Store(tmp_path / "two").get(cell)["accuracy"]
