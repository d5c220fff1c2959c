"""What the paper claims, held against the committed results of `poolwise reproduce` (docs/reproduction)."""

from pathlib import Path

import pytest

from poolwise.experiments.anatomy import anatomy_name
from poolwise.experiments.cells import kmeans, pca, pdl
from poolwise.experiments.published import CIFAR10
from poolwise.experiments.results import Results
from poolwise.experiments.store import Store


@pytest.fixture(scope="module")
def results():
    return Results(Store(Path(__file__).parents[2] / "docs" / "reproduction"))


def test_kmeans_on_cifar10_is_where_the_paper_has_it(results):
    for K in (200, 1600):
        assert results.of(kmeans("cifar10", K)).mean == pytest.approx(CIFAR10[K, K], abs=0.8)
    assert results.of(kmeans("cifar10", 200)).runs >= 5


@pytest.mark.parametrize("M", [400, 800, 1600])
def test_pdl_with_200_codes_reaches_the_papers_figures_less_a_run_s_noise(results, M):
    found = results.of(pdl("cifar10", 200, M))
    assert found.runs >= 5
    assert found.mean >= CIFAR10[M, 200] - 0.3


def test_pdl_with_1600_codes_gains_over_kmeans(results):
    assert results.of(pdl("cifar10", 1600, 3200)).mean >= 78.4
    assert results.of(pdl("cifar10", 1600, 3200)).mean > results.of(kmeans("cifar10", 1600)).mean


@pytest.mark.parametrize("M", [400, 800, 1600])
def test_pca_bounds_selection(results, M):
    assert results.of(pca("cifar10", 200, M)).mean > results.of(pdl("cifar10", 200, M)).mean


def test_pooling_makes_codes_alike_and_exemplars_differ(results):
    found = results.store.finding(anatomy_name("6×6 average", 0, False))
    assert (found["K"], found["M"]) == (256, 3200)
    assert found["rho"]["before"] < 0.5 < found["rho"]["after"]
    assert found["rho"]["exemplars"] < 0.5
    assert {pair["kind"] for pair in found["pairs"]} == {"moved", "colour"}
    assert all(pair["before"] < 0.1 < 0.5 < pair["after"] for pair in found["pairs"])


def test_codes_of_a_larger_dictionary_beat_kmeans_even_at_random(results):
    base, random, chosen = results.together(
        [kmeans("cifar10", 200), pdl("cifar10", 200, 800, selection="random"), pdl("cifar10", 200, 800)]
    )
    assert random.mean > base.mean + 1
    assert chosen.mean > base.mean + 1
