"""The page: what stands in docs/reproduction.md is what the store says, and tables say what they should."""

import re
from pathlib import Path

import pytest

from poolwise.experiments.cells import in_runs, kmeans, pca, pdl
from poolwise.experiments.page import page, write_page
from poolwise.experiments.results import Results
from poolwise.experiments.store import Store

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "reproduction")
    for base, cell in ((0.69, kmeans("cifar10", 200)), (0.712, pdl("cifar10", 200, 800)), (0.72, pca("cifar10", 200, 800))):
        for run in in_runs([cell], [0, 1, 2]):
            result = {"accuracy": base + 0.001 * run.seed, "seconds": {"dictionary": 10.0, "selection": 1.0, "svm": 1.0}}
            store.add(run, {**result, "unexplained": 0.02} if cell.M > cell.K else result)
    return store


def test_mean_std_difference_and_gain_are_those_of_the_runs(store):
    results = Results(store)
    found = results.of(pdl("cifar10", 200, 800))
    assert (found.mean, found.std, found.runs) == (pytest.approx(71.3), pytest.approx(0.1), 3)
    assert results.text(pdl("cifar10", 200, 800)) == "71.30 ± 0.10"
    assert results.difference(pdl("cifar10", 200, 800)) == "+0.12"
    row = next(line for line in page(results).splitlines() if line.startswith("| 200 codes, 4× PDL"))
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        "71.18", "71.30 ± 0.10", "+0.12", "+2.16", "+2.20", "72.12", "72.10 ± 0.10", "3", "12",
    ]  # fmt: skip


def test_means_together_are_over_common_runs(store):
    store.add(kmeans("cifar10", 200, svm="searched"), {"accuracy": 0.7, "seconds": {}})
    one, two = Results(store).together([kmeans("cifar10", 200), kmeans("cifar10", 200, svm="searched")])
    assert (one.runs, two.runs) == (1, 1)
    assert one.mean == pytest.approx(69.0)


def test_the_paper_has_figures_for_its_own_cells_alone(store):
    results = Results(store)
    assert results.paper(pdl("cifar10", 200, 800)) == 71.18
    for changed in ({"selection": "random"}, {"transform": None}, {"svm": "searched"}, {"labels": "folds"}):
        assert results.paper(pdl("cifar10", 200, 800, **changed)) is None
    assert Results(store, quick=True).paper(pdl("cifar10", 200, 800)) is None


def test_the_page_is_written_with_its_pictures(store):
    path = write_page(store, Results(store))
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"\]\((reproduction/[^)]+)\)", text))
    assert "reproduction/fig-starting-size.png" in named
    for name in named:
        assert (path.parent / name).stat().st_size > 0


def test_the_committed_page_is_what_its_store_says():
    store = Store(DOCS / "reproduction")
    assert store.all()
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == page(Results(store, stl=store.stl()))
    for name in re.findall(r"\]\((reproduction/[^)]+)\)", page(Results(store, stl=store.stl()))):
        assert (DOCS / name).exists()
