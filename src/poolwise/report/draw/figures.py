"""The charts of a report as matplotlib's figures, for notebooks and papers. matplotlib is an extra, `poolwise[report]`."""

from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from poolwise.analysis.clusters import correlations_after, order_of_candidates, order_of_codes, similarity_picture
from poolwise.analysis.spectra import study_spectra
from poolwise.estimators import PooledFeatures
from poolwise.report.draw.look import COLOURS, INK, axes, blank
from poolwise.support.types import Array

_INCHES = (5.6, 3.8)
_LETTERS = 28  # of a class on an axis, at most
_DIVERGING = LinearSegmentedColormap.from_list("poolwise", ["#005493", "#ffffff", "#be4800"])


def draw_spectrum(model: PooledFeatures) -> Figure:
    """Eigenvalues of the candidates' covariance C, and of its Nyström approximation from the codes kept."""
    spectra = study_spectra(model)
    figure, ax = axes("number of the eigenvalue", "eigenvalue", size=_INCHES)
    K, M = len(model.codes_), len(model.require_candidates().codes)
    for values, label, colour, style in (
        (spectra.whole, f"C of all {M:,}", COLOURS[0], "-"),
        (spectra.approximate, f"Nyström, {K:,} codes", COLOURS[1], "--"),
    ):
        kept = values[values > 1e-6 * values.max(initial=0)]
        ax.plot(np.arange(1, len(kept) + 1), kept, style, color=colour, lw=1.8, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title(f"{100 * spectra.unexplained:.1f} % of the variance unexplained", loc="left", fontsize=11, color=INK)
    ax.legend(frameon=False)
    return figure


def draw_objective(model: PooledFeatures) -> Figure:
    """The objective of K-means per round."""
    figure, ax = axes("round", "objective", size=_INCHES)
    ax.plot(np.arange(1, len(model.objective_) + 1), model.objective_, color=COLOURS[0], lw=1.8)
    return figure


def draw_similarity(model: PooledFeatures, most: int = 800) -> Figure:
    """Correlation after pooling of every pair of candidates, cluster by cluster; at most `most` pixels a side."""
    candidates, cluster = model.require_clusters()
    C, M = candidates.statistics.covariance, len(candidates.codes)
    closeness = correlations_after(C, cluster)
    order = order_of_candidates(order_of_codes(C, M, model.selected_), model.selected_, cluster, closeness)
    picture = similarity_picture(C, M, order, most)
    figure = blank((5.6, 4.8))
    ax = figure.subplots()
    image = ax.imshow(picture, cmap=_DIVERGING, vmin=-1, vmax=1, interpolation="nearest", extent=(0, M, M, 0))
    ax.set_xlabel("candidates, by cluster")
    figure.colorbar(image, label="correlation after pooling")
    return figure


def draw_confusion(confusion: Array, classes: Any) -> Figure:
    """What is taken for what: (classes, classes) images, a row per true class, a column per predicted one."""
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    n = len(confusion)
    figure = blank((2.4 + 0.32 * n, 2 + 0.32 * n))
    ax = figure.subplots()
    ax.imshow(share, cmap="cividis", vmin=0, vmax=1)
    names = [_shortened(str(name)).replace("$", r"\$") for name in classes]
    ax.set_xticks(range(n), names, rotation=90)
    ax.set_yticks(range(n), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    for i, j in np.argwhere(confusion > 0) if n <= 40 else ():
        ax.text(j, i, f"{confusion[i, j]}", ha="center", va="center", fontsize=7, color="w" if share[i, j] < 0.6 else "k")
    return figure


def _shortened(name: str) -> str:
    """Its beginning and end: long names would leave no room for the picture, and many differ only at the end."""
    half = _LETTERS // 2
    return name if len(name) <= _LETTERS else f"{name[: half - 1]}…{name[-half:]}"
