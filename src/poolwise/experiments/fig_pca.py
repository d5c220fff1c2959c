"""The paper's figure of the bound: the same curves with PCA of all M outputs in place of a selection."""

from poolwise.experiments.cells import Cell
from poolwise.experiments.experiment import Experiment, Pictures
from poolwise.experiments.grids import draw_curves, grid_cells, grid_table
from poolwise.experiments.results import Results


def _cells(stl: str) -> list[Cell]:
    return grid_cells("cifar10", "pca") + grid_cells(stl, "pca")


def _section(results: Results) -> str:
    return f"""![Accuracy over K with PCA on CIFAR-10](reproduction/fig-pca-cifar.png)
![Accuracy over K with PCA on STL-10](reproduction/fig-pca-stl.png)

PCA needs all M codes for every image, so it saves nothing; no choice of K codes can be expected to do better. CIFAR-10:

{grid_table(results, "cifar10", "pca")}

STL-10:

{grid_table(results, results.stl, "pca")}
"""


def _pictures(results: Results) -> Pictures:
    return {
        "fig-pca-cifar.png": draw_curves(results, "cifar10", "pca", "CIFAR-10: K directions of all M outputs"),
        "fig-pca-stl.png": draw_curves(results, results.stl, "pca", "STL-10: K directions of all M outputs"),
    }


FIG_PCA = Experiment("fig-pca", "The same curves with PCA, a bound", _section, _cells, pictures=_pictures)
