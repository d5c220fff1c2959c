"""What a model is, in words that need no paper."""

from typing import Any

from sklearn.base import ClassifierMixin

from poolwise.analysis.cost import has_matrix_functions
from poolwise.estimators import PooledFeatures
from poolwise.method.encoders import Encoder, Threshold
from poolwise.method.layer import Layer
from poolwise.method.pooling import BothOrders, Pooling, SecondOrder
from poolwise.method.recipe import FAMILIES
from poolwise.method.symmetry import N_COPIES
from poolwise.report.study import Findings

_COLOURS = {1: "grey", 3: "colour"}
_WHY = {
    "random": "at random",
    "supervised": "because together they predict the labels best",
    "auto": "by how they respond to the images",
}
_NOTED = {
    "max": "how strongly it is present",
    "both": "how much of it there is and how strongly it is present",
    "second_order": "how strongly every two of them are present together",
}
_MOMENTS = {
    "root": "matrix roots of second moments",
    "log": "matrix logarithms of second moments",
    "power": "roots of second moments, entry by entry",
    None: "second moments",
}
_SYMMETRIES = {
    None: "",
    "mirror": ", the same for its mirror image",
    "dihedral": ", the same for all its turns and mirror images",
}


def one_line(found: Findings) -> str:
    """The first sentence of a report."""
    features, classifier, layer = found.features, found.classifier, found.features.layer_
    (H, W, c), (ph, pw), K, cells = layer.image_shape, layer.descriptor.window(1, 1), len(layer.codes), layer.n_cells
    M = features.n_candidates_
    why = _WHY.get(features.chosen_by_, "because their responses differ most once pooled")
    kept = f", kept of {M:,} {why}," if M is not None and M > K else ""
    asked = _noted(layer.pooling) + _outputs(layer.encoder)
    if isinstance(layer.pooling, BothOrders):
        some = "" if layer.pooling.pairs >= K else f" of {layer.pooling.pairs}"
        asked += f" and how strongly every two{some} of them are present together,"
    where = f"each of {cells} parts of the image" if cells > 1 else "the whole image"
    kind = _COLOURS.get(c, f"{c}-channel")
    line = (
        f"It looks at {H}×{W} {kind} images through {K:,} small patterns of {ph}×{pw} pixels{kept} and notes "
        f"{asked} in {where}{_layers_above(found)}: {found.n_features:,} numbers per image{_SYMMETRIES[layer.symmetry]}"
    )
    if layer.statistics is not None:
        line += f", {layer.n_band_features:,} of them the mean, spread, least and largest number of each band there"
    if classifier is not None:
        line += f", from which a classifier tells {len(classifier.classes_):,} classes apart"
    return f"{line}."


def _noted(pooling: Pooling) -> str:
    """What is written down of each pattern."""
    word = pooling.first if isinstance(pooling, BothOrders) else pooling.word
    return _NOTED.get(word, "how much of it there is")


def _layers_above(found: Findings) -> str:
    """What a stack's other layers look at."""
    maps = [(len(layer.codes), *layer.image_shape[:2]) for layer in found.above]
    return "".join(f"; then at maps of that, {rows}×{columns}, through {codes:,} more" for codes, rows, columns in maps)


def _outputs(encoder: Encoder) -> str:
    """Thresholds and sides, where a code has several outputs."""
    if not isinstance(encoder, Threshold) or encoder.sides == 1:
        return ""
    *most, last = (f"{alpha:g}" for alpha in encoder.thresholds)
    above = f" above each of the thresholds {', '.join(most)} and {last}" if most else ""
    also = " for the pattern and for its negative" * bool(encoder.two_sided)
    return f",{above}{' and' * bool(above and also)}{also},"


def note_on_codes(features: PooledFeatures) -> str:
    """Where they come from, and of how many dimensions they are."""
    M, (d, r) = features.n_candidates_, features.layer_.whitening.W.shape
    came = "by K-means" if M is None else f"of {M:,} candidates"
    return f"{came}, in {r:,} of {d:,} directions of patches" if r < d else came


def note_on_features(layer: Layer) -> str:
    """What they are, where that is not a number for every output."""
    if isinstance(layer.pooling, BothOrders):
        pairs, what = layer.pooling.pairs, _MOMENTS[layer.pooling.normalize]
        return f"numbers per image: those of every code, and {what} of {pairs:,}"
    if not isinstance(layer.pooling, SecondOrder):
        return "numbers per image"
    what = _MOMENTS[layer.pooling.normalize]
    if layer.projection is None:
        return f"numbers per image: {what}"
    rows, columns = layer.projection.T.shape
    by = "predict the labels" if layer.pooling.directions_by == "labels" else "vary most"
    return f"numbers per image: {what}, each cell's {columns:,} on {rows:,} directions that {by}"


def notes_on_layers(found: Findings) -> dict[str, str]:
    """A stack's layers above the first, for the table of parameters."""
    notes = {}
    for number, layer in enumerate(found.above, 2):
        (H, W, c), (ph, pw) = layer.image_shape, layer.descriptor.window(1, 1)
        grids = " + ".join(f"{rows}×{columns}" for rows, columns in layer.pooling.grids)
        notes[f"layer {number}"] = (
            f"{len(layer.codes):,} codes of {ph}×{pw} cells of {H}×{W} maps of {c:,} outputs, {layer.pooling.word} {grids}"
        )
    return notes


def note_on_work(layer: Layer) -> str:
    """What the count of multiplications is for, and what it leaves out."""
    copies = f", for {N_COPIES[layer.symmetry]} copies of the image" * (layer.symmetry is not None)
    return copies + "; matrix roots or logarithms are not counted" * has_matrix_functions(layer.pooling)


def parameters(features: PooledFeatures, classifier: ClassifierMixin | None) -> dict[str, str]:
    """For anyone who wants to do it again: what "auto" became in its place."""
    params, layer = features.get_params(deep=True), features.layer_
    decided: dict[str, Any] = {
        "n_candidates": features.n_candidates_,
        "selection": features.chosen_by_,
        "symmetry": layer.symmetry,
    }
    decided["bands"] = None if features.bands_ is None else "standardize"
    for place, learned in (("encoder", layer.encoder), ("pooling", layer.pooling)):
        decided |= {place: learned.word} | {f"{place}__{name}": value for name, value in learned.get_params().items()}
    params |= {name: value for name, value in decided.items() if params.get(name) == "auto"}
    words = {name: part.word for name, family in FAMILIES.items() if (part := family.check(name, params[name])) is not None}
    rows = {name.replace("__", " "): _plain(words.get(name, value)) for name, value in sorted(params.items())}
    made = layer.projection
    if params["projection"] is not None and (made is None or made.kind != params["projection"]):
        rows["projection"] += ", not used"
    if params["n_candidates"] is None:
        rows["selection"] += ", not used"
    if classifier is not None:
        rows["classifier"] = type(classifier).__name__
        if hasattr(classifier, "gamma_"):
            rows["classifier"] += f", γ = {classifier.gamma_:.3g}"
    rows["seconds to fit"] = ", ".join(f"{name} {seconds:.1f}" for name, seconds in features.timings_.items())
    return {name: text for name, text in rows.items() if name not in ("n_jobs", "verbose") and text}


def _plain(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
