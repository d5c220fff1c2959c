"""The page: what stands in docs/reproduction.md is what the store says, and tables say what they should."""

import re
from pathlib import Path

import pytest

from poolwise.reproduction.catalogue import experiment
from poolwise.reproduction.cells import in_runs, kmeans, pca, pdl
from poolwise.reproduction.page import page, write_page
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store

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


def cells_of_row(text, start):
    """The cells of the first row that starts so, without padding."""
    row = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in row.split("|")[2:-1]]


def test_table_1_quotes_the_papers_table_and_the_curves_its_curves(store):
    """K-means with 1600 codes on CIFAR-10 has 77.97 in the paper's Table 1, and its gain +0.74; its curves have 77.96."""
    for accuracy, cell in ((0.778, kmeans("cifar10", 1600)), (0.785, pdl("cifar10", 1600, 3200))):
        store.add(cell, {"accuracy": accuracy, "seconds": {"svm": 1.0}})
    results = Results(store)
    sections = page(results).split("\n## ")
    table1, curves, bound, law = (
        next(text for text in sections if f"`poolwise reproduce {name}`" in text)
        for name in ("table1-cifar", "fig-curves", "fig-pca", "law")
    )
    assert cells_of_row(table1, "1600 codes, K-means")[:4] == ["77.97", "77.80", "-0.17", ""]
    assert cells_of_row(table1, "1600 codes, 2× PDL")[:5] == ["78.71", "78.50", "-0.21", "+0.74", "+0.70"]
    assert "77.96" not in table1
    assert cells_of_row(table1, "200 codes, K-means")[0] == "69.02"
    for text in (curves, bound):
        assert "77.96" in text
        assert "77.97" not in text
    assert "77.97" not in law
    assert results.paper(kmeans("cifar10", 1600)) == 77.96


def test_quick_tables_quote_nothing(store):
    table1 = experiment("table1-cifar").section(Results(store, quick=True))
    assert "77.9" not in table1
    assert cells_of_row(table1, "1600 codes, K-means")[0] == "–"


def test_a_cell_of_stl_is_that_of_the_protocol_that_was_measured(store):
    for dataset, accuracy in (("stl10", 0.5), ("stl10-unlabeled", 0.6)):
        store.add(kmeans(dataset, 200), {"accuracy": accuracy, "seconds": {}})
        results = Results(store)
        assert results.stl == dataset
        assert results.of(kmeans("stl10", 200)).mean == pytest.approx(100 * accuracy)
        assert results.paper(kmeans("stl10", 200)) == 53.22
        assert ("were not here" in experiment("table1-stl").section(results)) == (dataset == "stl10")


def test_means_together_are_over_common_runs(store):
    store.add(kmeans("cifar10", 200, svm="searched"), {"accuracy": 0.7, "seconds": {}})
    one, two = Results(store).together([kmeans("cifar10", 200), kmeans("cifar10", 200, svm="searched")])
    assert (one.runs, two.runs) == (1, 1)
    assert one.mean == pytest.approx(69.0)


def test_the_paper_has_figures_for_its_own_cells_alone(store):
    results = Results(store)
    assert results.paper(pdl("cifar10", 200, 800)) == 71.18
    for changed in ({"selection": "random"}, {"projection": None}, {"svm": "searched"}, {"labels": "folds"}):
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
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == page(Results(store))
    for name in re.findall(r"\]\((reproduction/[^)]+)\)", page(Results(store))):
        assert (DOCS / name).exists()
