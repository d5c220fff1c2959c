"""`write_report`: one self-contained HTML page of a model."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from poolwise.analysis.clusters import members_of
from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.report.budget import Curve, read_budget
from poolwise.report.draw.mosaic import by_colour
from poolwise.report.draw.pictures import tiles_of, whitened_pictures
from poolwise.report.draw.sprites import photo_sprite, sprite
from poolwise.report.html import as_data, as_utf8, own, render
from poolwise.report.search import Tried, read_search, search_section
from poolwise.report.sections import accuracy_section, charts, figures, mosaic_text
from poolwise.report.study import Clusters, Findings, Regions, study
from poolwise.report.words import notes_on_layers, one_line, parameters
from poolwise.support.files import replacing
from poolwise.support.progress import Stages
from poolwise.support.types import Array

_TOP_CLASSES = 3


def write_report(
    model: PooledFeatures | StackedFeatures | Pipeline,
    path: str | os.PathLike[str],
    images: Any = None,
    labels: Any = None,
    *,
    title: str | None = None,
    names: Any = None,
    budget: Any = None,
    search: Any = None,
    provenance: Mapping[str, Any] | None = None,
    learned_from: bool = False,
    verbose: bool = False,
) -> Findings:
    """Write a page that shows what a model has learned: one file, without a network, for screens and for paper.

    Parameters
    ----------
    model : PooledFeatures, StackedFeatures or Pipeline
        Fitted; a pipeline is of one of these and a linear classifier. Of a stack the page shows the codes of the first layer,
        which sees the images, and the accuracy and cost of all layers.
    path : str or path
        Of the page; a file of that name is replaced.
    images : array or source, default: None
        Whatever `transform` takes. A sample shows what excites each code; with labels and a classifier, all of them give the
        accuracy. Without images these sections are left out.
    labels : (n,), default: those of a source from `open_images`
    title : str, default: what the model is
    names : n of images, default: those of a source, or row numbers
    budget : dict
        Accuracy over codes: what `poolwise plan --json` prints, or a dictionary of codes to accuracy.
    search : dict
        What `poolwise tune --json` prints: the settings that were tried, and what each reached.
    provenance : dict
        What the page should say about how the model was made.
    learned_from : bool
        Whether the model was fitted on these images; the page then warns that accuracy is too good.
    verbose : bool
        Show progress on stderr.

    Returns
    -------
    Findings
        All numbers of the page.

    Examples
    --------
    >>> import tempfile
    >>> from poolwise import PooledFeatures
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> model = PooledFeatures(4, 16, n_patches=2000, random_state=0).fit(images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = write_report(model, f"{folder}/report.html", images)
    >>> found.clusters.after.shape
    (16,)
    """
    curves = [] if budget is None else read_budget(budget)
    tried = None if search is None else read_search(search)
    stages = Stages(verbose, "report ")
    found = study(model, images, labels, names=names, stages=stages)
    with stages.stage("page"):
        html = _page(found, title, curves, tried, dict(provenance or {}), learned_from)
        with replacing(path) as temporary:
            temporary.write_bytes(as_utf8(html))
    return found


def _page(
    found: Findings,
    title: str | None,
    curves: list[Curve],
    tried: Tried | None,
    provenance: dict[str, Any],
    learned_from: bool,
) -> str:
    features = found.features
    data, sprites = _data(found)
    drawn = charts(found, curves, None if tried is None else tried.frontier)
    for chart in drawn:
        chart["svg"] = _ours(chart.get("svg", ""))
    orders = {"likeness": "by likeness", "size": "by cluster size", "colour": "from grey to colour", "number": "by number"}
    known = {str(name): str(value) for name, value in provenance.items() if value is not None and value is not False}
    return render(
        own("report.html"),
        own("shared.js") + own("report.js"),
        trusted={"style": own("report.css"), "sprites": sprites, "data": as_data(data)},
        title=title or f"{len(features.codes_):,} codes",
        summary=one_line(found),
        figures=figures(found, learned_from),
        mosaic_text=mosaic_text(found),
        are_windows=features.layer_.pictures is not None,
        classes=found.classes,
        orders={name: text for name, text in orders.items() if name in data["orders"]},
        missing={name: found.missing.get(name, "") for name in ("regions", "clusters", "before")},
        has_before=found.clusters is not None and found.clusters.before is not None,
        n_looked=0 if found.regions is None else len(found.regions.names),
        accuracy=accuracy_section(found, learned_from),
        charts=drawn,
        search=None if tried is None else search_section(tried),
        reasons=[text for name, text in found.missing.items() if name in ("accuracy", "spectra")],
        about=known | parameters(features, found.classifier) | notes_on_layers(found),
        command=known.get("command", ""),
    )


def _ours(svg: str) -> Any:
    """SVG from `report.svg`, which escapes the text in it."""
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704


def _data(found: Findings) -> tuple[dict[str, Any], str]:
    """What the page's script reads, and the style rules that hold the sprites."""
    features, layer = found.features, found.features.layer_
    channels, candidates = layer.image_shape[2], features.candidates_
    shown = layer if found.clusters is None or candidates is None else candidates.layer
    D = shown.codes
    index = np.arange(len(D)) if found.clusters is None else features.selected_
    pictures = layer.whitening.undo(D)
    natural, columns = sprite(tiles_of(shown, pictures))
    whitened, _ = sprite(tiles_of(shown, whitened_pictures(shown, D)))
    rules = [f".tile,#exemplar{{background-image:url({natural})}}"]
    rules.append(f".whitened .tile,.whitened #exemplar{{background-image:url({whitened})}}")
    colour = by_colour(pictures[index], channels) if channels == 3 and shown.pictures is None else None
    data: dict[str, Any] = {
        "codes": len(index),
        "patch": list(layer.descriptor.window(1, 1)),
        "sprite": {"columns": columns},
        "index": index.tolist(),
        "orders": {"number": list(range(len(index)))} if colour is None else {"colour": colour.tolist()},
        "classes": found.classes,
        "members": None,
        "top": None,
        "regions": None,
        "first": 0,
    }
    if found.clusters is not None:
        _add_clusters(data, found.clusters, features.selected_)
    if found.regions is not None:
        rules.append(_add_regions(data, found.regions))
    data["orders"] = dict(
        sorted(data["orders"].items(), key=lambda item: ("likeness", "size", "colour", "number").index(item[0]))
    )
    return data, "\n".join(rules)


def _add_clusters(data: dict[str, Any], clusters: Clusters, selected: Array) -> None:
    """Members of each code without itself, the most alike first, and their correlations."""
    members = members_of(clusters.cluster, selected, clusters.after)
    size = np.array([len(one) for one in members])
    data["members"] = [one.tolist() for one in members]
    data["after"] = [_rounded(clusters.after[one]) for one in members]
    data["before"] = None if clusters.before is None else [_rounded(clusters.before[one]) for one in members]
    data["orders"] |= {"likeness": clusters.order.tolist(), "size": np.argsort(-size, kind="stable").tolist()}
    data["first"] = int(size.argmax())


def _add_regions(data: dict[str, Any], regions: Regions) -> str:
    """What excites each code; the style rule of the regions' sprite."""
    count, K, h, w, _ = regions.pixels.shape
    address, columns = photo_sprite(regions.pixels.swapaxes(0, 1).reshape(K * count, h, w, 3))
    places = np.stack([regions.image, regions.y, regions.x], axis=2).swapaxes(0, 1).tolist()
    data["regions"] = {
        "columns": columns,
        "count": count,
        "h": h,
        "w": w,
        "items": [[place for place in code if place[0] >= 0] for code in places],
        "names": regions.names,
        "label": None if regions.label is None else regions.label.tolist(),
    }
    if regions.share is not None:
        best = np.argsort(-regions.share, axis=0, kind="stable")[:_TOP_CLASSES].T
        data["top"] = [
            [[int(c), round(float(regions.share[c, k]), 2)] for c in row if regions.share[c, k] > 0]
            for k, row in enumerate(best)
        ]
    return f".region{{background-image:url({address})}}"


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 3) for value in values]
