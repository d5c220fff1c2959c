"""The paper's figures of accuracy over K: K-means and PDL from dictionaries 2, 4 and 8 times as large; and PCA, the bound."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from poolwise.report.draw.look import COLOURS, MARKS, axes
from poolwise.reproduction.cells import Cell, kmeans, pca, pdl
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.results import NOTHING, Mean, Results, percent, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (100, 200, 400, 800, 1600, 3200)
TIMES = (2, 4, 8)
_WAYS = {"pdl": pdl, "pca": pca}


def grid_lines(dataset: str, way: str) -> dict[str, list[Cell]]:
    """K-means at every size, and `way` ("pdl" or "pca") for every K whose starting dictionary is among the sizes, by name."""
    lines = {"K-means": [kmeans(dataset, K) for K in SIZES]}
    return lines | {f"{n}× {way.upper()}": [_WAYS[way](dataset, K, n * K) for K in SIZES if n * K in SIZES] for n in TIMES}


def cells_of_both(way: str) -> Callable[[], list[Cell]]:
    """Those of CIFAR-10 and of STL-10."""
    return lambda: [cell for dataset in ("cifar10", "stl10") for line in grid_lines(dataset, way).values() for cell in line]


def pictures_of_both(name: str, way: str, title: str) -> Callable[[Results], Pictures]:
    """A chart for CIFAR-10 and one for STL-10, NAME-cifar.png and NAME-stl.png."""
    return lambda results: {
        f"{name}-cifar.png": draw_curves(results, "cifar10", way, f"CIFAR-10: {title}"),
        f"{name}-stl.png": draw_curves(results, "stl10", way, f"STL-10: {title}"),
    }


def draw_curves(results: Results, dataset: str, way: str, title: str) -> "Figure":
    """Accuracy over K, a line for K-means and for each n; the paper's figures as open marks where it has them."""
    figure, ax = axes("codes kept, K", "accuracy, %", title)
    for colour, (name, cells) in zip(COLOURS, grid_lines(dataset, way).items(), strict=False):
        band(ax, [(cell.K, found) for cell in cells if (found := results.of(cell))], name, colour)
        paper = [(cell.K, value) for cell in cells if (value := results.paper(cell)) is not None]
        if paper:
            ax.plot(*zip(*paper, strict=True), "o", mfc="none", mec=colour, ms=8, mew=1.2, zorder=1)
    ax.plot([], [], "o", mfc="none", mec="0.4", ms=8, label="the paper")
    ax.set_xscale("log", base=2)
    ax.set_xticks(SIZES, [str(K) for K in SIZES])
    ax.minorticks_off()
    ax.legend(frameon=False, loc="lower right")
    return figure


def grid_table(results: Results, dataset: str, way: str) -> str:
    """Rows M, columns K, as in the specification: ours, and the paper's below."""
    rows = []
    for M in SIZES:
        ours, papers = [f"{M:,}"], ["*paper*"]
        for K in SIZES:
            cell = kmeans(dataset, K) if K == M else _WAYS[way](dataset, K, M)
            ours.append(results.text(cell) if K <= M else "")
            papers.append(percent(results.paper(cell)) if K <= M else "")
        if any(text not in ("", NOTHING) for text in ours[1:]):
            rows.append(ours)
            if any(text not in ("", NOTHING) for text in papers[1:]):
                rows.append(papers)
    return table(["M \\ K", *(f"{K:,}" for K in SIZES)], rows)


def band(ax: Any, points: Sequence[tuple[float, Mean]], label: str, colour: str) -> None:
    """A line through means with the standard deviation as a shade."""
    if not points:
        return
    x = [at for at, _ in points]
    y, spread = [found.mean for _, found in points], [found.std for _, found in points]
    ax.plot(x, y, color=colour, marker=MARKS[colour], ms=4.5, lw=1.6, label=label, zorder=3)
    low, high = ([a - s for a, s in zip(y, spread, strict=True)], [a + s for a, s in zip(y, spread, strict=True)])
    ax.fill_between(x, low, high, color=colour, alpha=0.18, lw=0, zorder=2)


def _curves(results: Results) -> str:
    return f"""![Accuracy over K on CIFAR-10](fig-curves-cifar.png)
![Accuracy over K on STL-10](fig-curves-stl.png)

CIFAR-10, percent; rows are the starting dictionary's size M, columns the codes kept, the diagonal is K-means:

{grid_table(results, "cifar10", "pdl")}

STL-10, the paper's protocol:

{grid_table(results, "stl10", "pdl")}
"""


FIG_CURVES = Experiment(
    "fig-curves",
    "Accuracy over K: K-means, 2×, 4× and 8× PDL",
    _curves,
    cells_of_both("pdl"),
    pictures=pictures_of_both("fig-curves", "pdl", "accuracy over the codes kept"),
)


def _pca(results: Results) -> str:
    return f"""![Accuracy over K with PCA on CIFAR-10](fig-pca-cifar.png)
![Accuracy over K with PCA on STL-10](fig-pca-stl.png)

PCA needs all M codes for every image, so it saves nothing; no choice of K codes can be expected to do better. CIFAR-10:

{grid_table(results, "cifar10", "pca")}

STL-10:

{grid_table(results, "stl10", "pca")}
"""


FIG_PCA = Experiment(
    "fig-pca",
    "The same curves with PCA, a bound",
    _pca,
    cells_of_both("pca"),
    pictures=pictures_of_both("fig-pca", "pca", "K directions of all M outputs"),
)
