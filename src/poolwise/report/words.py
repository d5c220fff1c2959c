"""What a model is, in words that need no paper."""

from typing import Any

from poolwise.report.findings import Findings

_COLOURS = {1: "grey", 3: "colour"}
_SHAPES = {"average": "how much of it there is", "sum": "how much of it there is", "rms": "how much of it there is"}


def one_line(found: Findings) -> str:
    """The first sentence of a report."""
    features, classifier = found.features, found.classifier
    H, W, c = features.image_shape_in_
    ph, pw = features.patch_size_
    K, cells = len(features.codes_), sum(rows * columns for rows, columns in features.grids_)
    M = n_candidates(features)
    why = "at random" if features.selection == "random" else "because these answer most differently once pooled"
    kept = f", kept of {M:,} {why}," if M is not None and M > K else ""
    asked = _SHAPES.get(features._pooling[3], "how strongly it is there")
    where = f"each of {cells} parts of the image" if cells > 1 else "the whole image"
    kind = _COLOURS.get(c, f"{c}-channel")
    line = (
        f"It looks at {H}×{W} {kind} images through {K:,} small patterns of {ph}×{pw} pixels{kept} and notes "
        f"{asked} in {where}: {n_features(features):,} numbers per image"
    )
    if classifier is not None:
        line += f", from which a classifier tells {len(classifier.classes_):,} classes apart"
    return f"{line}."


def n_candidates(features: Any) -> int | None:
    """M; None for plain K-means."""
    if features.candidates_ is None:
        return int(features._n_candidates)
    return None if features.covariance_ is None else len(features.candidates_)


def n_features(features: Any) -> int:
    """Numbers per image."""
    return len(features.get_feature_names_out())


def parameters(features: Any, classifier: Any) -> dict[str, str]:
    """For who wants to do it again."""
    rows = {name: _plain(value) for name, value in sorted(features.get_params(deep=False).items())}
    if classifier is not None:
        rows["classifier"] = type(classifier).__name__
        if hasattr(classifier, "gamma_"):
            rows["classifier"] += f", γ = {classifier.gamma_:.3g}"
    rows["seconds to fit"] = ", ".join(f"{name} {seconds:.1f}" for name, seconds in features.timings_.items())
    return {name: text for name, text in rows.items() if name not in ("n_jobs", "verbose") and text}


def _plain(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
