"""The charts of a report as matplotlib's figures, for notebooks and papers. matplotlib is an extra, `poolwise[report]`."""

from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from poolwise.arrays import Array
from poolwise.report.clusters import correlations_after, order_of_candidates, order_of_codes, similarity_picture
from poolwise.report.findings import study_spectra

_BLUE, _ORANGE, _INK, _FAINT = "#0072B2", "#D55E00", "#333333", "#e4e4e4"
_DIVERGING = LinearSegmentedColormap.from_list("poolwise", ["#005493", "#ffffff", "#be4800"])


def draw_spectrum(model: Any) -> Figure:
    """Eigenvalues of the candidates' covariance C, and of its Nyström approximation from the codes kept."""
    spectra = study_spectra(model)
    figure, axes = _axes("number of the eigenvalue", "eigenvalue")
    K, M = len(model.codes_), len(model.candidates_)
    for values, label, colour, style in (
        (spectra.whole, f"C of all {M:,}", _BLUE, "-"),
        (spectra.approximate, f"Nyström, {K:,} codes", _ORANGE, "--"),
    ):
        kept = values[values > 1e-6 * values.max(initial=0)]
        axes.plot(np.arange(1, len(kept) + 1), kept, style, color=colour, lw=1.8, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(f"{100 * spectra.unexplained:.1f} % of the variance unexplained", loc="left", fontsize=11, color=_INK)
    axes.legend(frameon=False)
    return figure


def draw_objective(model: Any) -> Figure:
    """The objective of K-means per round."""
    figure, axes = _axes("round", "objective")
    axes.plot(np.arange(1, len(model.objective_) + 1), model.objective_, color=_BLUE, lw=1.8)
    return figure


def draw_similarity(model: Any, most: int = 800) -> Figure:
    """Correlation after pooling of every pair of candidates, cluster beside cluster; at most `most` pixels a side."""
    if model.candidates_ is None or model.covariance_ is None:
        raise ValueError("this model has no candidates: fit with n_candidates, and save without slim")
    C, M = model.covariance_, len(model.candidates_)
    closeness = correlations_after(C, model.cluster_)
    order = order_of_candidates(order_of_codes(C, M, model.selected_), model.selected_, model.cluster_, closeness)
    picture = similarity_picture(C, M, order, most)
    figure = Figure(figsize=(5.6, 4.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(picture, cmap=_DIVERGING, vmin=-1, vmax=1, interpolation="nearest", extent=(0, M, M, 0))
    axes.set_xlabel("candidates, by cluster")
    figure.colorbar(image, label="correlation after pooling")
    return figure


def draw_confusion(confusion: Array, classes: Any) -> Figure:
    """What is taken for what: (classes, classes) images, a row per true class, a column per predicted one."""
    share = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    n = len(confusion)
    figure = Figure(figsize=(2.4 + 0.32 * n, 2 + 0.32 * n), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.imshow(share, cmap="cividis", vmin=0, vmax=1)
    names = [str(name).replace("$", r"\$") for name in classes]
    axes.set_xticks(range(n), names, rotation=90)
    axes.set_yticks(range(n), names)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    for i, j in np.argwhere(confusion > 0) if n <= 40 else ():
        axes.text(j, i, f"{confusion[i, j]}", ha="center", va="center", fontsize=7, color="w" if share[i, j] < 0.6 else "k")
    return figure


def _axes(x: str, y: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(5.6, 3.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(color=_FAINT, lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes
