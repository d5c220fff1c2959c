"""The paper's figure of the bound: the same curves with PCA of all M outputs in place of a selection."""

from poolwise.experiments.experiment import Experiment
from poolwise.experiments.grids import cells_of_both, grid_table, pictures_of_both
from poolwise.experiments.results import Results


def _section(results: Results) -> str:
    return f"""![Accuracy over K with PCA on CIFAR-10](reproduction/fig-pca-cifar.png)
![Accuracy over K with PCA on STL-10](reproduction/fig-pca-stl.png)

PCA needs all M codes for every image, so it saves nothing; no choice of K codes can be expected to do better. CIFAR-10:

{grid_table(results, "cifar10", "pca")}

STL-10:

{grid_table(results, results.stl, "pca")}
"""


FIG_PCA = Experiment(
    "fig-pca",
    "The same curves with PCA, a bound",
    _section,
    cells_of_both("pca"),
    pictures=pictures_of_both("fig-pca", "pca", "K directions of all M outputs"),
)
