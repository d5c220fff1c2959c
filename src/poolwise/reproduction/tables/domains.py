"""Domains: ours next to hand-made features, scattering, random convolutions and a small network, on five kinds of images."""

import statistics
from typing import Any

from poolwise.reproduction import defaults
from poolwise.reproduction.domains import OURS, PRESETS, ROWS, key
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.protocols import PROTOCOLS
from poolwise.reproduction.results import NOTHING, Results, table

_DATASETS = ("cifar10", "cifar10-400", "stl10", "cub200-once", "eurosat", "photos")
_OF_OURS = (*OURS, "coates2011")  # the rest are other people's: `random convolutions` too, whatever computes them
_HEADER = ["", "%", "features", "γ", "s to learn", "ms per image", "KB"]


def _run(results: Results, dataset: str, row: str, seed: int) -> dict[str, Any]:
    """What is known of a row; accuracy, features and γ of ours as `defaults` found them."""
    found = dict(results.store.finding(key(dataset, row, seed, results.quick)) or {})
    if row in OURS:
        found |= results.store.finding(defaults.key(dataset, OURS[row], seed, results.quick)) or {}
    return found


def _text(runs: list[dict[str, Any]], name: str, spelled: str, factor: float = 1) -> str:
    values = [run[name] for run in runs if run.get(name) is not None]
    return format(factor * statistics.mean(values), spelled) if values else NOTHING


def _line(row: str, runs: list[dict[str, Any]]) -> list[str]:
    return [
        row,
        _text(runs, "accuracy", ".2f", 100),
        _text(runs, "features", ",.0f"),
        _text(runs, "gamma", ".2g"),
        _text(runs, "learned", ",.1f"),
        _text(runs, "ms", ".2f"),
        _text(runs, "bytes", ",.0f", 1 / 1024),
    ]


def _accuracy(runs: list[dict[str, Any]]) -> float | None:
    found = [100 * run["accuracy"] for run in runs if "accuracy" in run]
    return statistics.mean(found) if found else None


def beaten(accuracies: dict[str, float | None], ours: str) -> list[str]:
    """Other people's rows that are more accurate than one of ours, the best first, with the difference.

    >>> beaten({"default": 80.0, "raw pixels": 40.0, "small CNN, as long": 81.25, "HOG": None}, "default")
    ['small CNN, as long (+1.25)']
    """
    own = accuracies.get(ours)
    others = {row: found for row, found in accuracies.items() if row not in _OF_OURS and found is not None}
    if own is None:
        return []
    above = sorted(((found - own, row) for row, found in others.items() if found > own), reverse=True)
    return [f"{row} (+{by:.2f})" for by, row in above]


def _verdict(accuracies: dict[str, float | None]) -> str:
    measured = [row for row, found in accuracies.items() if row not in _OF_OURS and found is not None]
    if not measured:
        return ""
    said = []
    for ours in ("default", "tuned"):
        if accuracies.get(ours) is not None:
            above = ", ".join(beaten(accuracies, ours)) or f"none of the {len(measured)} others that were measured"
            said.append(f"More accurate than *{ours}*: {above}.")
    return " ".join(said)


def _part(results: Results, dataset: str) -> str:
    runs = {row: [_run(results, dataset, row, seed) for seed in range(10)] for row in ROWS}
    lines = [_line(row, runs[row]) for row in ROWS]
    reasons: dict[str, list[str]] = {}
    for row in ROWS:
        for run in runs[row]:
            if "left_out" in run and row not in reasons.get(run["left_out"], []):
                reasons.setdefault(run["left_out"], []).append(row)
    left_out = [f"Left out: {', '.join(some)}: {reason}." for reason, some in reasons.items()]
    said = " ".join(filter(None, [_verdict({row: _accuracy(runs[row]) for row in ROWS}), *left_out]))
    return f"### {PROTOCOLS[dataset].title}\n\n{table(_HEADER, lines)}\n\n{said}".strip() + "\n"


def _section(results: Results) -> str:
    parts = "\n".join(_part(results, dataset) for dataset in _DATASETS)
    return f"""Percent of test images, seed 0; a dash was not measured. γ of every linear SVM is chosen by `LinearSVMCV()`, on
held-out training images. *s to learn* is from images to a trained classifier, *ms per image* from an image to its label:
both of processor time, all threads together, on two cores that other work shared, so they compare rows only roughly. *KB* is
features and classifier on disk.

- `default`, `tuned`, `jia2012` and `coates2011` (K-means both) are ours with {defaults.CODES} codes; accuracies of the first
  three are those of `poolwise reproduce defaults`. *tuned* learns again what a search of two minutes chose; the search is not
  among its seconds.
- *random convolutions*: the preset `mosaiks`, {PRESETS["random convolutions"]} random patches as filters, ReLU of both signs,
  mean over the image, which is the recipe of torchgeo's `RCF`.
- *raw pixels*; *HOG* (our `Hog`, cells of 4×4 pixels, 8×8 in large images); *LBP* (scikit-image, uniform patterns in 4×4
  regions); *band statistics* (mean, spread, least and largest in 1 + 4 + 16 cells); *scattering* (kymatio, second order, 2
  scales, 4 in large images).
- *small CNN*: six convolutions in PyTorch from random weights, on mirrored and moved images, for as many processor seconds as
  `default` takes to learn, and for ten times as many. No pretrained network is here: on photographs it would be far above all.

{parts}"""


DOMAINS = Experiment("domains", "Domains: ours next to what others would try", _section, domains=_DATASETS, runs=1)
