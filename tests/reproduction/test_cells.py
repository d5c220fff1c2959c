"""Cells: their keys tell them apart, and the catalogue asks for those of the paper."""

from dataclasses import fields, replace

import pytest

from poolwise.reproduction.catalogue import experiment, experiments
from poolwise.reproduction.cells import Cell, a_quarter, in_runs, kmeans, pca, pdl
from poolwise.reproduction.published import CIFAR10
from poolwise.reproduction.running import cells_of

CELL = pdl("cifar10", 200, 800)
CHANGES = {
    "dataset": "stl10",
    "K": 100,
    "M": 1600,
    "seed": 1,
    "selection": "greedy",
    "projection": None,
    "svm": "searched",
    "labels": "folds",
    "quick": True,
}


@pytest.mark.parametrize("field", [field.name for field in fields(Cell)])
def test_every_field_changes_the_key(field):
    assert replace(CELL, **{field: CHANGES[field]}).key != CELL.key


def test_kmeans_pca_and_selection_have_different_keys():
    assert len({cell.key for cell in (kmeans("cifar10", 200), pca("cifar10", 200, 200), pdl("cifar10", 200, 200))}) == 3


def test_a_cell_comes_back_from_its_json():
    assert Cell(**CELL.to_json()) == CELL


def test_runs_take_the_seeds_in_turn():
    assert [(cell.seed, cell.K) for cell in in_runs([CELL, replace(CELL, K=100)], [3, 4])] == [
        (3, 200),
        (3, 100),
        (4, 200),
        (4, 100),
    ]


def test_table_1_asks_for_every_figure_of_the_papers_table():
    cells = set(experiment("table1-cifar").cells())
    for K, M in ((200, 200), (200, 400), (200, 800), (200, 1600), (1600, 1600), (1600, 3200)):
        assert (M, K) in CIFAR10
        assert (kmeans("cifar10", K) if K == M else pdl("cifar10", K, M)) in cells
    assert all(pca("cifar10", 200, M) in cells for M in (400, 800, 1600))


def test_the_ablations_have_every_way_with_and_without_projection():
    cells = set(experiment("ablations").cells())
    for way in ("affinity", "kmedoids", "greedy", "cholesky", "random", "authors"):
        assert pdl("cifar10", 200, 800, selection=way) in cells
        assert pdl("cifar10", 200, 800, selection=way, projection=None) in cells
    assert kmeans("cifar10", 200, svm="100 rounds") in cells


def test_stl_has_both_protocols_and_birds_one_run(tmp_path):
    assert {cell.labels for cell in experiment("table1-stl").cells()} == {"all", "folds"}
    assert {cell.seed for cell in cells_of([experiment("table2-birds")], first_seed=7, home=tmp_path)} == {7}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["table1-stl", "fig-curves", "fig-pca"])
def test_stl_is_learned_from_unlabelled_images_wherever_they_are(tmp_path, name, quick):
    def datasets():
        return {cell.dataset for cell in cells_of([experiment(name)], runs=1, quick=quick, home=tmp_path)}

    others = {"stl10-unit"} if name == "table1-stl" else {"cifar10"}
    assert datasets() == {"stl10", *others}
    (tmp_path / "stl10_binary").mkdir()
    (tmp_path / "stl10_binary" / "unlabeled_X.bin").write_bytes(b"")
    assert datasets() == {"stl10-unlabeled", *others}


def test_cells_of_all_are_each_there_once_and_can_be_limited(tmp_path):
    everything = experiments()
    cells = cells_of(everything, runs=2, home=tmp_path)
    assert len(cells) == len(set(cells))
    assert {cell.seed for cell in cells} == {0, 1}
    assert {cell.K for cell in cells_of(everything, runs=1, codes=[200], home=tmp_path)} == {200}
    assert all(cell.quick and cell.M <= 800 for cell in cells_of(everything, runs=1, quick=True, home=tmp_path))
    assert a_quarter(CELL).key != a_quarter(replace(CELL, K=100)).key
