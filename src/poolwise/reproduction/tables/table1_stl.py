"""Table 1, STL-10: the paper's protocol, all 5,000 labels; and the data set's own, ten folds of 1,000."""

from dataclasses import replace

from poolwise.reproduction.cells import Cell, Svm, kmeans, pdl
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.results import NOTHING, Results, table
from poolwise.reproduction.tables.table1 import budget_cells, budget_table

_SVMS: tuple[Svm, ...] = ("converged", "searched")
_LEARNED = {
    "stl10": "The unlabelled images were not here: dictionary, scale, covariance and\nselection are learned from the 5,000 "
    "training images, the paper's from 100,000 unlabelled ones.",
    "stl10-unlabeled": "Dictionary, scale, covariance and selection are learned from the 100,000 unlabelled images.",
}


def _compared() -> dict[str, Cell]:
    """What is tried with γ = 0.005 and with a γ of its own."""
    return {
        "200 codes, K-means": kmeans("stl10", 200),
        "200 of 800, no projection": pdl("stl10", 200, 800, projection=None),
        "200 of 800, projection": pdl("stl10", 200, 800),
        "1600 codes, K-means": kmeans("stl10", 1600),
        "1600 of 3200, no projection": pdl("stl10", 1600, 3200, projection=None),
        "1600 of 3200, projection": pdl("stl10", 1600, 3200),
    }


def _cells() -> list[Cell]:
    cells = budget_cells("stl10")
    cells += [*(replace(cell, labels="folds") for cell in cells), *budget_cells("stl10-unit")]
    return cells + [replace(cell, svm=svm) for cell in _compared().values() for svm in _SVMS]


def _section(results: Results) -> str:
    rows = []
    for name, cell in _compared().items():
        means = results.together(replace(cell, svm=svm) for svm in _SVMS)
        runs = max(mean.runs if mean else 0 for mean in means)
        chosen = results.gammas(replace(cell, svm="searched"))
        rows.append([name, *(str(mean) if mean else NOTHING for mean in means), chosen, f"{runs}"])
    return f"""The paper's protocol: images at 32×32, the SVM trained on all 5,000 labelled images, tested on 8,000.
{_LEARNED[results.stl]}

{budget_table(results, "stl10")}

**Why ours is higher.** The loader in the authors' public code resizes STL-10 with a function of scikit-image that gives pixels
in 0..1, while the constants of the method are for 0..255: the offset 10 of the contrast normalisation then exceeds any patch's
contrast, and the offset 0.1 of the whitening most of its eigenvalues. The same with pixels in 0..1, all else unchanged:

{budget_table(results, "stl10-unit")}

The gains over K-means are then the paper's too. What is left between the two may well be the dictionary, from 5,000 images
instead of 100,000; that was not measured.

The data set's own protocol, which the paper does not use: ten SVMs, each trained on a fold of 1,000 images, and the mean of
their accuracies. The same dictionaries and features as in the first table.

{budget_table(results, "stl10", folds=True)}

So few images need a larger γ, the projected features most of all: the projection stretches them, and the same γ holds them
down less. The SVM with γ = 0.005, and with γ chosen by cross-validation on the training images, each over the same runs:

{table(["", "γ = 0.005 %", "γ searched %", "γ", "runs"], rows)}
"""


TABLE1_STL = Experiment("table1-stl", "Table 1: STL-10, 200 and 1600 codes", _section, _cells)
