"""Table 1, CIFAR-10: K-means and PDL with 200 and 1600 codes."""

from poolwise.reproduction.cells import Cell
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.results import Results
from poolwise.reproduction.tables.table1 import budget_cells, budget_table


def _cells() -> list[Cell]:
    return budget_cells("cifar10")


def _section(results: Results) -> str:
    return f"""{budget_table(results, "cifar10")}

Percent of the 10,000 test images, mean ± standard deviation over runs. *Gain* is over K-means with as many codes. *PCA* keeps K
directions of all M outputs, a bound that saves no computing. *Seconds* are those of one run alone, from raw images to
accuracy: patches, K-means, encoding 60,000 images with all M codes, selection, SVM.
"""


TABLE1_CIFAR = Experiment("table1-cifar", "Table 1: CIFAR-10, 200 and 1600 codes", _section, _cells)
