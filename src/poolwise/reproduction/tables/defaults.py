"""The defaults: what they choose and give on six data sets, next to those of 2012."""

import statistics
from typing import Any

from poolwise.reproduction.defaults import WAYS, key
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.protocols import PROTOCOLS
from poolwise.reproduction.results import NOTHING, Results, table

_DATASETS = ("cifar10", "cifar10-400", "stl10", "eurosat", "photos", "cub200-once")


def _percent(runs: list[dict[str, Any]]) -> str:
    return f"{100 * statistics.mean(run['accuracy'] for run in runs):.2f}" if runs else NOTHING


def _section(results: Results) -> str:
    lines = []
    for dataset in _DATASETS:
        before, now = (
            [run for seed in range(10) if (run := results.store.finding(key(dataset, way, seed, results.quick))) is not None]
            for way in WAYS
        )
        chosen = f"{now[0]['pooling']}, {now[0]['symmetry'] or 'no symmetry'}" if now else NOTHING
        features = f"{now[0]['features']:,}" if now else NOTHING
        lines.append([PROTOCOLS[dataset].title, _percent(before), _percent(now), chosen, features, f"{len(now)}"])
    header = ["data", "before %", "default %", "chosen from the training images", "features", "runs"]
    return f"""{table(header, lines)}

Percent of test images, 200 codes. *Before*: K-means with the constants of `jia2012`, the defaults until then. *Default*:
`PooledFeatures(200)`, which learns from the training labels too ([defaults.md](defaults.md)). γ was chosen for both by
`LinearSVMCV()`, on held-out training images. EuroSAT's bands are scaled as in the section above.
"""


DEFAULTS = Experiment("defaults", "The defaults, next to those of 2012", _section, defaults=_DATASETS, runs=1)
