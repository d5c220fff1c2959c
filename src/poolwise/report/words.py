"""What a model is, in words that need no paper."""

from typing import Any

from sklearn.base import ClassifierMixin

from poolwise.estimators import PooledFeatures
from poolwise.method.recipe import FAMILIES
from poolwise.report.study import Findings

_COLOURS = {1: "grey", 3: "colour"}
_WHY = {"random": "at random", "supervised": "because together they predict the labels best"}
_NOTED = {
    "max": "how strongly it is present",
    "both": "how much of it there is and how strongly it is present",
    "second_order": "how strongly every two of them are present together",
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
    why = _WHY.get(features.selection, "because their responses differ most once pooled")
    kept = f", kept of {M:,} {why}," if M is not None and M > K else ""
    asked = _NOTED.get(layer.pooling.word, "how much of it there is")
    where = f"each of {cells} parts of the image" if cells > 1 else "the whole image"
    kind = _COLOURS.get(c, f"{c}-channel")
    line = (
        f"It looks at {H}×{W} {kind} images through {K:,} small patterns of {ph}×{pw} pixels{kept} and notes "
        f"{asked} in {where}: {layer.n_features:,} numbers per image{_SYMMETRIES[layer.symmetry]}"
    )
    if classifier is not None:
        line += f", from which a classifier tells {len(classifier.classes_):,} classes apart"
    return f"{line}."


def parameters(features: PooledFeatures, classifier: ClassifierMixin | None) -> dict[str, str]:
    """For anyone who wants to do it again."""
    params = features.get_params(deep=True)
    words = {name: part.word for name, family in FAMILIES.items() if (part := family.check(name, params[name])) is not None}
    rows = {name.replace("__", " "): _plain(words.get(name, value)) for name, value in sorted(params.items())}
    if classifier is not None:
        rows["classifier"] = type(classifier).__name__
        if hasattr(classifier, "gamma_"):
            rows["classifier"] += f", γ = {classifier.gamma_:.3g}"
    rows["seconds to fit"] = ", ".join(f"{name} {seconds:.1f}" for name, seconds in features.timings_.items())
    return {name: text for name, text in rows.items() if name not in ("n_jobs", "verbose") and text}


def _plain(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
