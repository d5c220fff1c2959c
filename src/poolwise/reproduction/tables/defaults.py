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
        before, now, tuned = (
            [run for seed in range(10) if (run := results.store.finding(key(dataset, way, seed, results.quick))) is not None]
            for way in WAYS
        )
        words = [runs[0]["chosen"] if runs else NOTHING for runs in (now, tuned)]
        features = [f"{runs[0]['features']:,}" if runs else NOTHING for runs in (now, tuned)]
        accuracies = [_percent(runs) for runs in (before, now, tuned)]
        lines.append([PROTOCOLS[dataset].title, *accuracies, words[0], features[0], words[1], features[1]])
    header = ["data", "before %", "default %", "tuned %", "default: chosen", "features", "tuned: chosen", "features"]
    return f"""{table(header, lines)}

Percent of test images, 200 codes. *Before*: K-means with the constants of `jia2012`, the defaults until then. *Default*:
`PooledFeatures(200)`, which learns from the training labels too ([defaults.md](defaults.md)). *Tuned*: the winner of
`tune(images, labels, 200)` with its two minutes ([tune.md](tune.md)), fitted to all training images. γ was chosen for all by
`LinearSVMCV()`, on held-out training images. EuroSAT's bands are scaled as in the section above.
"""


DEFAULTS = Experiment(
    "defaults", "The defaults, next to those of 2012 and to what tune finds", _section, defaults=_DATASETS, runs=1
)
