"""The text of the page: figures, captions and charts of findings, as text and SVG for the template."""

from typing import Any

import numpy as np

from poolwise.report.budget import Curve
from poolwise.report.draw.sprites import correlation_picture, png
from poolwise.report.draw.svg import Line, line_chart
from poolwise.report.study import Findings
from poolwise.report.words import note_on_codes, note_on_features, note_on_work

_MOST_CLASSES_IN_MATRIX = 40  # of more, the matrix would not be read
_CONFUSIONS_SHOWN = 12
_SHADES = 5


def figures(found: Findings, learned_from: bool) -> list[dict[str, str]]:
    """The numbers below the first sentence."""
    features, layer, K = found.features, found.features.layer_, len(found.features.codes_)
    shown = []
    if found.accuracy is not None:
        count, of = int(np.trace(found.accuracy.confusion)), int(found.accuracy.confusion.sum())
        note = f"{count:,} of {of:,} images" + (", which it has learned from" if learned_from else "")
        shown.append({"name": "Accuracy", "value": f"{100 * found.accuracy.share:.1f}", "unit": "%", "note": note})
    M, above = features.n_candidates_, "".join(f"; {len(one.codes):,} in layer {n}" for n, one in enumerate(found.above, 2))
    shown.append({"name": "Codes", "value": f"{K:,}", "unit": "", "note": note_on_codes(features) + above})
    note = f"numbers per image, of {1 + len(found.above)} layers" if found.above else note_on_features(layer)
    shown.append({"name": "Features", "value": f"{found.n_features:,}", "unit": "", "note": note})
    what = "features, measured here" if found.n_images is not None else "features, measured here on noise"
    what = "features, estimated: too large to measure" if "time" in found.missing else what
    shown.append({"name": "Time per image", "value": f"{found.milliseconds:.3g}", "unit": "ms", "note": what})
    value, unit = _large(sum(found.multiply_adds.values()))
    share = ", ".join(f"{name} {_spoken(n)}" for name, n in found.multiply_adds.items() if n) + note_on_work(layer)
    shown.append({"name": "Multiplications per image", "value": value, "unit": unit, "note": share})
    if found.spectra is not None and M is not None and len(features.selected_) < M:
        share = f"{100 * (1 - found.spectra.unexplained):.1f}"
        shown.append(
            {"name": "Variance explained", "value": share, "unit": "%", "note": f"of all {M:,} candidates, by the {K:,} kept"}
        )
    return shown


def _large(n: int) -> tuple[str, str]:
    """
    >>> _large(15_746_400), _large(1_200)
    (('15.7', 'million'), ('1,200', ''))
    """
    for power, word in ((9, "billion"), (6, "million")):
        if n >= 10**power:
            return f"{n / 10**power:.1f}", word
    return f"{n:,}", ""


def _spoken(n: int) -> str:
    return " ".join(_large(n)).strip()


def accuracy_section(found: Findings, learned_from: bool) -> dict[str, Any] | None:
    """The confusion matrix and its largest entries."""
    if found.accuracy is None:
        return None
    confusion, names = found.accuracy.confusion, found.classes
    largest = [
        {"true": names[i], "predicted": names[j], "count": n}
        for i, j, n in found.accuracy.largest_confusions(_CONFUSIONS_SHOWN)
    ]
    caution = (
        " These are the images that the model learned from, so it is better here than it will be on others."
        if learned_from
        else ""
    )
    rows = [] if len(names) > _MOST_CLASSES_IN_MATRIX else [_row(confusion, names, i) for i in range(len(names))]
    shown = (
        "A row is a true class, a column a predicted class. Look for orange away from the diagonal: classes that it confuses."
        if rows
        else f"With {len(names):,} classes the matrix is too large to read, so here are the mistakes that are made most often."
    )
    return {"text": shown + caution, "rows": rows, "largest": largest}


def _row(confusion: Any, names: list[str], i: int) -> dict[str, Any]:
    total = int(confusion[i].sum())
    cells = []
    for j, n in enumerate(confusion[i].tolist()):
        share = n / total if total else 0
        shade = (
            0 if n == 0 else min(_SHADES, 1 + int(share * _SHADES)) if i == j else min(_SHADES, 1 + int(share * 2 * _SHADES))
        )
        cells.append(
            {
                "count": n,
                "kind": "hit" if i == j else "miss",
                "shade": shade,
                "title": f"{names[i]} taken for {names[j]}: {n:,} of {total:,}",
            }
        )
    return {"name": names[i], "cells": cells, "right": f"{100 * confusion[i, i] / total:.0f} %" if total else "–"}


def charts(found: Findings, budget: list[Curve], frontier: Line | None = None) -> list[dict[str, Any]]:
    """Each with a sentence on what it shows and what to look for; those that cannot be made are left out."""
    made = [
        _frontier(frontier),
        _budget(budget, len(found.features.codes_)),
        _spectra(found),
        _similarity(found),
        _objective(found),
    ]
    return [chart for chart in made if chart is not None]


def _chart(name: str, title: str, text: str, lines: list[Line], **axes: Any) -> dict[str, Any]:
    svg = line_chart(lines, alt=f"{title}. {text}", **axes)
    return {
        "name": name,
        "title": title,
        "text": text,
        "svg": svg,
        "picture": None,
        "lines": [line.name for line in lines][: 3 * (len(lines) > 1)],
    }


def _budget(curves: list[Curve], K: int) -> dict[str, Any] | None:
    if not curves:
        return None
    lines = [Line(one.name, one.codes, one.accuracy, True, one.measured) for one in curves[:3]]
    hollow = " Hollow marks are predicted." if not all(all(one.measured) for one in curves) else ""
    text = (
        f"Accuracy of dictionaries of different sizes; this model has {K:,} codes.{hollow} Look for where the line flattens: "
        f"more codes than that cost time and give little."
    )
    axes = {"x_label": "codes", "y_label": "accuracy", "log_x": True, "percent": True}
    return _chart("budget", "Accuracy over budget", text, lines, **axes)


def _frontier(line: Line | None) -> dict[str, Any] | None:
    if line is None or len(line.x) < 2:
        return None
    text = (
        "Settings of the search such that none is better and cheaper, on held-out images. Look for where the line flattens: "
        "time beyond that gives little."
    )
    axes = {"x_label": "milliseconds per image", "y_label": line.name, "log_x": True, "percent": line.name != "R²"}
    return _chart("search", "Score over time per image", text, [line], **axes)


def _spectra(found: Findings) -> dict[str, Any] | None:
    spectra = found.spectra
    if spectra is None:
        return None
    K, M = len(found.features.codes_), found.features.n_candidates_
    whole = Line(f"covariance of all {M:,}", np.arange(1, len(spectra.whole) + 1).tolist(), spectra.whole.tolist())
    near = spectra.approximate
    lines = [whole]
    C = found.features.covariance_
    if C is not None and len(near) < len(C):
        lines.append(Line(f"from the {K:,} kept (Nyström)", np.arange(1, len(near) + 1).tolist(), near.tolist()))
    floor = 1e-6 * float(spectra.whole.max(initial=0))
    lines = [Line(line.name, line.x, [y if y > floor else 0.0 for y in line.y]) for line in lines]
    about = (
        ""
        if spectra.is_exact
        else f" Only the {len(spectra.whole)} largest are drawn, from random projections, good to a few percent."
    )
    text = (
        f"Eigenvalues of the covariance of pooled responses, and of its Nyström approximation from the codes kept, which "
        f"leaves {100 * spectra.unexplained:.1f}\u00a0% of the variance unexplained. Look for how long the two "
        f"lines stay together.{about}"
    )
    axes = {"x_label": "number of the eigenvalue", "y_label": "eigenvalue", "log_x": True, "log_y": True}
    return _chart("spectra", "How much of all candidates the kept codes explain", text, lines, **axes)


def _similarity(found: Findings) -> dict[str, Any] | None:
    if found.clusters is None:
        return None
    M, size = len(found.clusters.cluster), len(found.clusters.picture)
    mean = f" A pixel is the mean over about {M / size:.0f}\u00a0×\u00a0{M / size:.0f} pairs." if M > size else ""
    text = (
        "Correlation after pooling of every pair of candidates, cluster by cluster. Look for orange squares on the "
        f"diagonal: candidates that respond alike once pooled, one code for each square.{mean}"
    )
    title = "Which candidates respond alike"
    picture = png(correlation_picture(found.clusters.picture))
    return {"name": "similarity", "title": title, "text": text, "alt": f"{title}. {text}", "picture": picture, "lines": []}


def _objective(found: Findings) -> dict[str, Any] | None:
    values = [float(value) for value in found.features.objective_]
    if len(values) < 2:
        return None
    stopped = "it came to rest by itself" if found.features.converged_ else "it was stopped by max_iter before it came to rest"
    text = (
        f"Squared distance of all patches to their codes, {values[-1]:,.0f} in the end, per round of K-means; after "
        f"{len(values)} rounds {stopped}. Look for a flat end: a line that still falls needs more rounds."
    )
    first = values[0] if values[0] > 0 else 1.0
    lines = [Line("objective", list(range(1, len(values) + 1)), [value / first for value in values])]
    axes = {"x_label": "round", "y_label": "objective, of the first round's", "percent": True}
    return _chart("objective", "How learning went", text, lines, **axes)


def mosaic_text(found: Findings) -> str:
    """Below the heading of the codes."""
    text = "Every pattern that the model looks for, drawn as it would be in an image: whitening undone, contrast stretched."
    if found.above:
        text = "Every pattern that the first layer looks for: whitening undone, contrast stretched. Later layers see its maps."
    if found.features.layer_.pictures is not None:
        text = "Codes are no pictures here: each is shown by the window of a training image that excites it most."
    if found.clusters is not None:
        text += " Choose one to see which of the other candidates it represents"
        text += " and what in your images excites it." if found.regions is not None else "."
    elif found.regions is not None:
        text += " Choose one to see what in your images excites it."
    return text
