"""All experiments by name, in the order of the paper. Nothing heavy is imported before one is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolwise.reproduction.experiment import Experiment

SUMMARIES = {
    "table1-cifar": "accuracy on CIFAR-10 with 200 and 1600 codes",
    "ablations": "next to it: ways of selection, with and without projection, three SVMs",
    "table1-stl": "accuracy on STL-10 with 200 and 1600 codes, all labels and folds",
    "table2-birds": "accuracy on CUB-200-2011 with 1600 codes",
    "fig-pairs": "two pairs of codes that pooling makes alike",
    "fig-codes": "256 of 3200 codes, and their clusters",
    "fig-statistics": "responses before and after pooling, and spectra",
    "fig-starting-size": "gain at 200 codes over the starting dictionary's size",
    "fig-curves": "accuracy over K for K-means, 2×, 4× and 8× PDL",
    "fig-pca": "the same with PCA, a bound",
    "law": "accuracy = a + b K^(-1/4)",
    "budget": "past the paper: accuracy over cost, first and second order",
    "defaults": "the defaults next to those of 2012 and to tune, on six data sets",
    "domains": "the defaults, tune and two presets next to what others would try, on six data sets",
    "gamma": "γ of LinearSVM() next to the searched one, on six data sets",
    "satellite": "statistics of bands, alone and beside codes, and random features on EuroSAT",
    "parts": "encoders, descriptors, dictionaries, poolings and layers on CIFAR-10",
}
_PLACES = {
    "table1-cifar": "tables.table1_cifar:TABLE1_CIFAR",
    "ablations": "tables.ablations:ABLATIONS",
    "table1-stl": "tables.table1_stl:TABLE1_STL",
    "table2-birds": "tables.table2_birds:TABLE2_BIRDS",
    "fig-pairs": "figures.pairs:FIG_PAIRS",
    "fig-codes": "figures.codes:FIG_CODES",
    "fig-statistics": "figures.statistics:FIG_STATISTICS",
    "fig-starting-size": "figures.starting_size:FIG_STARTING_SIZE",
    "fig-curves": "figures.curves:FIG_CURVES",
    "fig-pca": "figures.curves:FIG_PCA",
    "law": "tables.law:LAW_OF_ACCURACY",
    "budget": "tables.budget:BUDGET",
    "defaults": "tables.defaults:DEFAULTS",
    "domains": "tables.domains:DOMAINS",
    "gamma": "tables.gamma:GAMMA",
    "satellite": "tables.satellite:SATELLITE",
    "parts": "tables.parts:PARTS",
}


def experiment(name: str) -> "Experiment":
    """One experiment."""
    module, _, attribute = _PLACES[name].partition(":")
    found: Experiment = getattr(import_module(f"poolwise.reproduction.{module}"), attribute)
    return found


def experiments() -> "list[Experiment]":
    """All of them."""
    return [experiment(name) for name in SUMMARIES]
