"""Past the paper: accuracy over cost, for first- and second-order pooling of few codes."""

import statistics
from typing import TYPE_CHECKING, Any

from poolwise.method.encoders import Threshold
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.report.draw.look import COLOURS, panels
from poolwise.reproduction.budget import Setting
from poolwise.reproduction.cells import pdl
from poolwise.reproduction.experiment import Experiment, Pictures
from poolwise.reproduction.results import NOTHING, Results, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MANY = Threshold(alpha=(0.25, 1.0), two_sided=True)
_PICTURE = "budget.png"
_PRODUCTS_OF_PAPER = _TICKS = (100, 200, 400, 800, 1600)

SETTINGS = (
    Setting("cifar10", "one side, 2×2, random codes", 200, "random", gammas=(0.0003, 0.001, 0.003)),
    Setting("cifar10", "one side, 2×2, affinity", 200, "affinity", gammas=(0.0003, 0.001, 0.003)),
    Setting("cifar10", "one side, 2×2", 200, gammas=(0.0003, 0.001, 0.003)),
    Setting("cifar10", "two sides, two thresholds, 2×2", 200, encoder=_MANY, gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "the same, 3×3, mirrored training rows", 200, encoder=_MANY, pooling=Pool(grid=3), mirrored=True,
            gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "the same, 3×3, mirror symmetry", 200, encoder=_MANY, pooling=Pool(grid=3), symmetry="mirror",
            gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "the same, 3×3, mirror symmetry", 100, encoder=_MANY, pooling=Pool(grid=3), symmetry="mirror",
            gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "second order, power, mirror symmetry", 50, pooling=SecondOrder(2, "power"), symmetry="mirror",
            gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "second order, root, mirror symmetry", 50, pooling=SecondOrder(2), symmetry="mirror",
            gammas=(0.001, 0.003, 0.01)),
    Setting("cifar10", "second order, root, mirror symmetry", 100, pooling=SecondOrder(2), symmetry="mirror",
            gammas=(0.003, 0.01)),
    Setting("eurosat", "one side, 2×2, 3×3 patches, affinity", 200, "affinity", patch_size=3, gammas=(0.01, 0.05, 0.2)),
    Setting("eurosat", "two sides, one cell, 3×3 patches", 200, encoder=Threshold(two_sided=True), pooling=Pool(grid=1),
            patch_size=3, gammas=(0.001, 0.003, 0.01, 0.05)),
    Setting("eurosat", "two sides, one cell, 3×3 patches, dihedral", 200, encoder=Threshold(two_sided=True),
            pooling=Pool(grid=1), patch_size=3, symmetry="dihedral", gammas=(0.001, 0.003, 0.01, 0.05)),
    *(
        Setting("eurosat", "second order, root, one cell, 3×3 patches, dihedral", K, pooling=SecondOrder(1), patch_size=3,
                symmetry="dihedral", gammas=(0.001, 0.003, 0.01, 0.05))
        for K in (25, 50, 100)
    ),
)  # fmt: skip


def rows_of(results: Results) -> list[tuple[Setting, list[dict[str, Any]]]]:
    """Each setting with what was measured, one entry for each seed."""
    found = []
    for row in SETTINGS:
        runs = [results.store.finding(row.key(seed, results.quick)) for seed in range(10)]
        found.append((row, [run for run in runs if run is not None]))
    return found


def _section(results: Results) -> str:
    lines = []
    for row, runs in rows_of(results):
        if not runs:
            lines.append([f"{row.dataset}: {row.name}", f"{row.K}", *[NOTHING] * 6, "0"])
            continue
        accuracy = [100 * run["accuracy"] for run in runs]
        std = f" ± {statistics.stdev(accuracy):.2f}" if len(runs) > 1 else ""
        gammas = ", ".join(f"{gamma:g}" for gamma in sorted({run["gamma"] for run in runs}))
        lines.append([
            f"{row.dataset}: {row.name}",
            f"{row.K}",
            f"{runs[0]['products']:,}",
            f"{runs[0]['features']:,}",
            f"{statistics.mean(run['ms'] for run in runs):.2f}",
            gammas,
            f"{100 * statistics.mean(run['held_out'] for run in runs):.2f}",
            f"{statistics.mean(accuracy):.2f}{std}",
            f"{len(runs)}",
        ])  # fmt: skip
    header = ["setting", "codes", "products", "features", "ms", "γ", "held out %", "test %", "runs"]
    picture = f"![Accuracy over products per position]({_PICTURE})\n\n" if _is_measured(results) else ""
    return f"""{picture}{table(header, lines)}

Codes are chosen from 1,600 with labels (`selection="supervised"`), unless another way is named. *Products* are multiplications
per position and number of a patch: a code costs one, its mirror image another, second-order pooling K²/d more. γ was chosen on
a fifth of the training images, whose labels selection had seen, so "held out" is a little high; no other choice was made on
test images. EuroSAT: 13 bands at 32×32, 2,000 labels, each band scaled to mean 128 and standard deviation 40. Milliseconds are
of one image on two cores, often next to other work.
"""


def _pictures(results: Results) -> Pictures:
    return {_PICTURE: _draw(results)} if _is_measured(results) else {}


def _is_measured(results: Results) -> bool:
    return any(runs for _, runs in rows_of(results))


def _draw(results: Results) -> "Figure":
    figure, axs = panels(2, (11.5, 4.4))
    for ax, dataset, title in zip(axs, ("cifar10", "eurosat"), ("CIFAR-10", "EuroSAT, 2,000 labels"), strict=True):
        for order, colour, marker in (("first order", COLOURS[0], "o"), ("second order", COLOURS[1], "s")):
            points = [
                (runs[0]["products"], 100 * statistics.mean(run["accuracy"] for run in runs), row.K)
                for row, runs in rows_of(results)
                if runs and row.dataset == dataset and isinstance(row.pooling, SecondOrder) == (order == "second order")
            ]
            ax.plot([x for x, _, _ in points], [y for _, y, _ in points], marker, color=colour, label=f"{order}, by codes")
            for x, y, K in points:
                ax.annotate(f"{K}", (x, y), textcoords="offset points", xytext=(5, 4), fontsize=8)
        if dataset == "cifar10":
            paper = [(K, results.paper(pdl("cifar10", K, max(2 * K, 800)))) for K in _PRODUCTS_OF_PAPER]
            known = [(K, value) for K, value in paper if value is not None]
            ax.plot([K for K, _ in known], [value for _, value in known], "k--", lw=1, label="the paper's PDL")
        ax.set_xscale("log")
        ax.set_xticks(_TICKS, [f"{tick:,}" for tick in _TICKS])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("products per position and number of a patch")
        ax.set_ylabel("test accuracy %")
        ax.set_title(title, fontsize=11)
        ax.legend(frameon=False, fontsize=9)
    return figure


BUDGET = Experiment(
    "budget", "Past the paper: what a budget of codes can give", _section, pictures=_pictures, settings=SETTINGS, runs=3
)
