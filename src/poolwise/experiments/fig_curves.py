"""The paper's figure of accuracy over K: K-means, and PDL from dictionaries 2, 4 and 8 times as large."""

from poolwise.experiments.cells import Cell
from poolwise.experiments.experiment import Experiment, Pictures
from poolwise.experiments.grids import draw_curves, grid_cells, grid_table
from poolwise.experiments.results import Results


def _cells(stl: str) -> list[Cell]:
    return grid_cells("cifar10", "pdl") + grid_cells(stl, "pdl")


def _section(results: Results) -> str:
    return f"""![Accuracy over K on CIFAR-10](reproduction/fig-curves-cifar.png)
![Accuracy over K on STL-10](reproduction/fig-curves-stl.png)

CIFAR-10, percent; rows are the starting dictionary's size M, columns the codes kept, the diagonal is K-means:

{grid_table(results, "cifar10", "pdl")}

STL-10, the paper's protocol:

{grid_table(results, results.stl, "pdl")}
"""


def _pictures(results: Results) -> Pictures:
    return {
        "fig-curves-cifar.png": draw_curves(results, "cifar10", "pdl", "CIFAR-10: accuracy over the codes kept"),
        "fig-curves-stl.png": draw_curves(results, results.stl, "pdl", "STL-10: accuracy over the codes kept"),
    }


FIG_CURVES = Experiment("fig-curves", "Accuracy over K: K-means, 2×, 4× and 8× PDL", _section, _cells, pictures=_pictures)
