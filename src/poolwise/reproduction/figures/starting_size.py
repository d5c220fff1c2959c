"""The paper's figure of the gain at 200 codes over the size of the starting dictionary."""

from dataclasses import replace

from poolwise.report.draw.look import COLOURS, axes
from poolwise.reproduction.cells import Cell, kmeans, pca, pdl
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.figures.curves import band
from poolwise.reproduction.published import published
from poolwise.reproduction.results import Results, table

K = 200
STARTS = (400, 800, 1600, 3200)


def _cells() -> list[Cell]:
    return [kmeans("cifar10", K), *(way("cifar10", K, M) for M in STARTS for way in (pdl, pca))]


def _section(results: Results) -> str:
    base = results.of(kmeans("cifar10", K))
    rows = []
    for M in STARTS:
        ours, bound = results.of(pdl("cifar10", K, M)), results.of(pca("cifar10", K, M))
        if base and ours and bound:
            gain, most = ours.mean - base.mean, bound.mean - base.mean
            rows.append([f"{M:,}", f"{gain:+.2f}", f"{most:+.2f}", f"{gain / most:.0%}" if most > 0 else "", f"{ours.runs}"])
    return f"""![Gain over K-means by the starting dictionary's size](fig-starting-size.png)

Points gained over K-means with 200 codes, and the share of PCA's gain (the paper: about 70 %):

{table(["M", "PDL", "PCA", "share", "runs"], rows)}
"""


def _pictures(results: Results) -> Pictures:
    figure, ax = axes("starting dictionary, M", "gain, points", "CIFAR-10: points gained over K-means with 200 codes")
    base = results.of(kmeans("cifar10", K))
    for colour, (name, way) in zip(COLOURS, {"PDL": pdl, "PCA, the bound": pca}.items(), strict=False):
        found = [(M, mean) for M in STARTS if (mean := results.of(way("cifar10", K, M)))]
        if base:
            start = replace(base, mean=0.0)
            band(ax, [(K, start), *((M, replace(m, mean=m.mean - base.mean)) for M, m in found)], name, colour)
        first = published("cifar10", K, K) or 0.0
        paper = [(M, value - first) for M in STARTS if (value := results.paper(way("cifar10", K, M))) is not None]
        if paper:
            ax.plot(*zip(*paper, strict=True), "o", mfc="none", mec=colour, ms=8, mew=1.2)
    ax.plot([], [], "o", mfc="none", mec="0.4", ms=8, label="the paper")
    ax.set_xscale("log", base=2)
    ax.set_xticks([K, *STARTS], [str(M) for M in (K, *STARTS)])
    ax.minorticks_off()
    ax.legend(frameon=False, loc="lower right")
    return {"fig-starting-size.png": figure}


FIG_STARTING_SIZE = Experiment(
    "fig-starting-size", "Gain at 200 codes over the starting size", _section, _cells, pictures=_pictures
)
