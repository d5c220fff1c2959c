"""The paper's figure of accuracy over K: K-means, and PDL from dictionaries 2, 4 and 8 times as large."""

from poolwise.experiments.experiment import Experiment
from poolwise.experiments.grids import cells_of_both, grid_table, pictures_of_both
from poolwise.experiments.results import Results


def _section(results: Results) -> str:
    return f"""![Accuracy over K on CIFAR-10](reproduction/fig-curves-cifar.png)
![Accuracy over K on STL-10](reproduction/fig-curves-stl.png)

CIFAR-10, percent; rows are the starting dictionary's size M, columns the codes kept, the diagonal is K-means:

{grid_table(results, "cifar10", "pdl")}

STL-10, the paper's protocol:

{grid_table(results, results.stl, "pdl")}
"""


FIG_CURVES = Experiment(
    "fig-curves",
    "Accuracy over K: K-means, 2×, 4× and 8× PDL",
    _section,
    cells_of_both("pdl"),
    pictures=pictures_of_both("fig-curves", "pdl", "accuracy over the codes kept"),
)
