"""Table 1, STL-10: the paper's protocol, all 5,000 labels; and the data set's own, ten folds of 1,000."""

from dataclasses import replace

from poolwise.experiments.cells import Cell
from poolwise.experiments.experiment import Experiment
from poolwise.experiments.results import Results
from poolwise.experiments.table1 import budget_cells, budget_table

_LEARNED = {
    "stl10": "The unlabelled images were not here: dictionary, scale, covariance and selection are learned from the 5,000 "
    "training images, the paper's from 100,000 unlabelled ones.",
    "stl10-unlabeled": "Dictionary, scale, covariance and selection are learned from the 100,000 unlabelled images.",
}


def _cells(stl: str) -> list[Cell]:
    cells = budget_cells(stl)
    return cells + [replace(cell, labels="folds") for cell in cells]


def _section(results: Results) -> str:
    return f"""The paper's protocol: images at 32×32, the SVM trained on all 5,000 labelled images, tested on 8,000.
{_LEARNED[results.stl]}

{budget_table(results, results.stl)}

The data set's own protocol, which the paper does not use: ten SVMs, each trained on a fold of 1,000 images, and the mean of
their accuracies. The same dictionaries and features.

{budget_table(results, results.stl, folds=True)}
"""


TABLE1_STL = Experiment("table1-stl", "Table 1: STL-10, 200 and 1600 codes", _section, _cells)
