"""Accuracy over K, for K-means and for starting dictionaries 2, 4 and 8 times as large: the cells, a chart, a table."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from poolwise.experiments.cells import Cell, kmeans, pca, pdl
from poolwise.experiments.drawing import band
from poolwise.experiments.experiment import Pictures
from poolwise.experiments.results import NOTHING, Results, percent, table
from poolwise.report.look import COLOURS, axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (100, 200, 400, 800, 1600, 3200)
TIMES = (2, 4, 8)
_WAYS = {"pdl": pdl, "pca": pca}


def grid_lines(dataset: str, way: str) -> dict[str, list[Cell]]:
    """K-means at every size, and `way` ("pdl" or "pca") for every K whose starting dictionary is among the sizes, by name."""
    lines = {"K-means": [kmeans(dataset, K) for K in SIZES]}
    return lines | {f"{n}× {way.upper()}": [_WAYS[way](dataset, K, n * K) for K in SIZES if n * K in SIZES] for n in TIMES}


def cells_of_both(way: str) -> Callable[[str], list[Cell]]:
    """Those of CIFAR-10 and of STL-10."""
    return lambda stl: [cell for dataset in ("cifar10", stl) for line in grid_lines(dataset, way).values() for cell in line]


def pictures_of_both(name: str, way: str, title: str) -> Callable[[Results], Pictures]:
    """A chart for CIFAR-10 and one for STL-10, NAME-cifar.png and NAME-stl.png."""
    return lambda results: {
        f"{name}-cifar.png": draw_curves(results, "cifar10", way, f"CIFAR-10: {title}"),
        f"{name}-stl.png": draw_curves(results, results.stl, way, f"STL-10: {title}"),
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
