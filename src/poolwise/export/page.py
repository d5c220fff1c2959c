"""`export_page`: one HTML file that runs a model in a browser, without a server and without a network."""

import os
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from poolwise.analysis.accuracy import spelled
from poolwise.estimators import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
from poolwise.estimators.linear_svm import LinearClassifier
from poolwise.export.layer_data import check_layer, page_data
from poolwise.method.layer import Layer
from poolwise.report.draw.pictures import tiles_of
from poolwise.report.draw.sprites import sprite
from poolwise.report.html import as_data, as_utf8, own, render
from poolwise.report.words import parameters
from poolwise.support.files import replacing

_WORKER = ("product.js", "cells.js", "roots.js", "bands.js", "numerics.js", "pixels.js", "worker.js")
_KINDS = {1: "grey", 3: "colour"}


def export_page(
    model: PooledFeatures | Pipeline, path: str | os.PathLike[str], *, title: str | None = None, crop: bool = True
) -> None:
    """Write a page that runs a model on pictures that are dropped on it, chosen, pasted or taken from the camera.

    It shows label and margins, the codes that fired, where in the picture they fired, and the time. One file with all arrays
    inside, which asks no server for anything. For models of patches with 1 or 3 channels, whose encoder is a threshold, the
    triangle or the nearest code, and whose pooling is of first order, of second order without a logarithm, or of both.

    Parameters
    ----------
    model : PooledFeatures or Pipeline
        Fitted; a pipeline is of one and a LinearSVM or LinearSVMCV. Without a classifier the page shows codes alone.
    path : str or path
        Of the page; a file of that name is replaced.
    title : str, default: what the model is
    crop : bool
        Whether pictures of other proportions than the model's are cut to their middle before they are scaled, as with
        `open_images(crop=True)`; else they are squeezed.

    Raises
    ------
    ValueError
        That names the part which a page cannot compute.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from poolwise import PooledFeatures, export_page
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> model = PooledFeatures(4, n_patches=2000, random_state=0).fit(images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_page(model, f"{folder}/page.html")
    ...     os.path.getsize(f"{folder}/page.html") < 100_000
    True
    """
    features, classifier = _take_apart(model)
    names = None if classifier is None else [spelled(label) for label in classifier.classes_.tolist()]
    layer = features.layer_
    spec = page_data(features, classifier, names)
    pictures, columns = sprite(tiles_of(layer, layer.whitening.undo(layer.codes)))
    data = {
        "layer": spec,
        "crop": bool(crop),
        "sprite": {"columns": columns},
        "worker": '"use strict";\n' + "\n".join(_asset(name) for name in _WORKER),
    }
    html = render(
        _asset("page.html"),
        own("shared.js") + _asset("page.js"),
        trusted={
            "style": own("report.css") + _asset("page.css"),
            "sprites": f".tile{{background-image:url({pictures})}}",
            "data": as_data(data),
        },
        title=title or f"A model of {len(layer.codes):,} codes",
        summary=_summary(layer, names),
        classes=names or [],
        n_features=f"{layer.n_features:,} numbers",
        codes_text=_codes_text(layer),
        about=_about(features, classifier, names),
    )
    with replacing(path) as temporary:
        temporary.write_bytes(as_utf8(html))


def check_page(model: PooledFeatures | Pipeline) -> None:
    """A ValueError, with what a page cannot run, where there is no page of a model."""
    check_layer(_take_apart(model)[0])


def _asset(name: str) -> str:
    return own(name, "poolwise.export")


def _take_apart(model: Any) -> tuple[PooledFeatures, LinearClassifier | None]:
    """Features, and the classifier or None; both fitted."""
    steps = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    if len(steps) > 2 or type(steps[0]) is not PooledFeatures or (len(steps) == 2 and type(steps[1]) not in _CLASSIFIERS):
        kinds = " and ".join(type(step).__name__ for step in steps)
        remedy = "export a model of one layer" if type(steps[0]) is StackedFeatures else "use another of these"
        raise ValueError(
            f"a page runs a PooledFeatures, or a pipeline of one and a LinearSVM or LinearSVMCV; got {kinds}: {remedy}"
        )
    for step in steps:
        check_is_fitted(step)
    return steps[0], steps[1] if len(steps) == 2 else None


_CLASSIFIERS = (LinearSVM, LinearSVMCV)


def _summary(layer: Layer, names: list[str] | None) -> str:
    """What it does, in two sentences."""
    (H, W, c), (ph, pw) = layer.image_shape, layer.descriptor.window(1, 1)
    does = f"makes {layer.n_features:,} numbers of it" if names is None else f"predicts one of {len(names):,} labels"
    return (
        f"It looks at a picture of {H}×{W} {_KINDS[c]} pixels through {len(layer.codes):,} small patterns of {ph}×{pw}, and "
        f"{does}. All of it runs here, in your browser."
    )


def _codes_text(layer: Layer) -> str:
    ph, pw = layer.descriptor.window(1, 1)
    return f"The {len(layer.codes):,} patterns of {ph}×{pw} pixels, its codes, as they would be in a picture."


def _about(features: PooledFeatures, classifier: LinearClassifier | None, names: list[str] | None) -> dict[str, str]:
    """Parameters of the model, and its sizes; nothing of where it was made."""
    layer = features.layer_
    sizes = {"codes": f"{len(layer.codes):,}", "features": f"{layer.n_features:,}"}
    if names is not None:
        sizes["labels"] = f"{len(names):,}"
    return sizes | {name: text for name, text in parameters(features, classifier).items() if not name.startswith("seconds")}
