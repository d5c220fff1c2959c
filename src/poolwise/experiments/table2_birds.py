"""Table 2: CUB-200-2011, 200 species of birds, 1600 codes."""

from poolwise.experiments.cells import Cell, kmeans, pca, pdl
from poolwise.experiments.experiment import Experiment
from poolwise.experiments.published import CUB200_OTHERS
from poolwise.experiments.results import NOTHING, Results, percent, table

_ROWS = {
    "K-means, 1600 codes": kmeans("cub200", 1600),
    "PDL, 1600 of 3200": pdl("cub200", 1600, 3200),
    "the same without transform": pdl("cub200", 1600, 3200, transform=None),
    "1600 random ones of 3200, with transform": pdl("cub200", 1600, 3200, selection="random"),
    "PCA, 1600 directions of 3200": pca("cub200", 1600, 3200),
}


def _cells(stl: str) -> list[Cell]:
    return list(_ROWS.values())


def _section(results: Results) -> str:
    rows = [] if results.quick else [[name, f"{value:.2f}", NOTHING, NOTHING, "", ""] for name, value in CUB200_OTHERS.items()]
    for name, cell in _ROWS.items():
        found = results.of(cell)
        rows.append([
            name,
            percent(results.paper(cell)),
            results.text(cell),
            results.difference(cell),
            f"{found.runs}" if found else "0",
            f"{found.total_seconds:,.0f}" if found else NOTHING,
        ])  # fmt: skip
    return f"""{table(["", "paper %", "ours %", "difference", "runs", "seconds"], rows)}

Percent of the 5,794 test images that are given the right one of 200 species. Crops of 1.5 times the box at 128×128, training
images mirrored, 5×5 patches, maximum over a grid of 4×4. The first three rows are others' results as the paper quotes them.

Ours has PDL below K-means, the paper above. With the few labels of STL-10 it is the transform that costs accuracy at γ = 0.005
(above). Whether that is the reason here was not measured yet: rows with a dash wait for it.
"""


TABLE2_BIRDS = Experiment("table2-birds", "Table 2: CUB-200-2011, 1600 codes", _section, _cells, runs=1)
