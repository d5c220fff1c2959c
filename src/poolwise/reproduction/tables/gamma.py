"""γ: what `LinearSVM()` takes next to what held-out training images choose, with and without projection."""

from typing import Any

from poolwise.method.encoders import Threshold
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.reproduction.experiment import Experiment
from poolwise.reproduction.parts import DATASET, PartRow
from poolwise.reproduction.protocols import PROTOCOLS
from poolwise.reproduction.results import NOTHING, Results, table

_DATASETS = (DATASET, "cifar10-400", "stl10", "eurosat", "photos", "cub200-once")
_FIRST, _SECOND, _CANDIDATES, _DIRECTIONS = 100, 50, 400, 127  # a tenth of 50 * 51 / 2 numbers
_FOUR_OUTPUTS: dict[str, Any] = {"encoder": Threshold((0.25, 1.0), two_sided=True), "pooling": Pool("average", 2)}
_ONE_OUTPUT = {"encoder": Threshold(0.25, two_sided=False), "pooling": SecondOrder(2)}
_PROJECTED = {**_ONE_OUTPUT, "pooling": SecondOrder(2, directions=_DIRECTIONS)}


def _rows(dataset: str) -> tuple[PartRow, ...]:
    def row(name: str, K: int, parts: dict[str, Any], candidates: int | None = None) -> PartRow:
        return PartRow("gamma", name, K, candidates, parts, dataset=dataset, auto=True)

    return (
        row("first order", _FIRST, _FOUR_OUTPUTS),
        row("first order, projected", _FIRST, _FOUR_OUTPUTS, _CANDIDATES),
        row("second order", _SECOND, _ONE_OUTPUT),
        row("second order, projected", _SECOND, _PROJECTED),
    )


ROWS = tuple(row for dataset in _DATASETS for row in _rows(dataset))


def _line(results: Results, row: PartRow) -> list[str]:
    data, found = PROTOCOLS[row.dataset].title, results.store.finding(row.key(0, results.quick))
    if found is None:
        return [data, row.name, *[NOTHING] * 6]
    searched, auto = 100 * found["accuracy"], 100 * found["accuracy_of_auto"]
    gammas = [f"{found[name]:.2g}" for name in ("gamma_of_auto", "gamma")]
    return [
        data,
        row.name,
        f"{found['features']:,}",
        gammas[0],
        f"{auto:.2f}",
        gammas[1],
        f"{searched:.2f}",
        f"{auto - searched:+.2f}",
    ]


def _section(results: Results) -> str:
    lines = [_line(results, row) for row in ROWS]
    found = [float(line[-1]) for line in lines if line[-1] != NOTHING]
    near = sum(difference >= -0.5 for difference in found)
    conclusion = f"\nAuto is no more than half a point below the searched γ in {near} of {len(found)} rows.\n" if found else ""
    return f"""{table(["data", "features of", "number", "auto γ", "%", "searched γ", "%", "difference"], lines)}

Percent of test images (of {_DATASETS[0]}, of 5,000 training images held out). *Auto* is what `LinearSVM()` takes
([svm.md](svm.md#choosing-γ)); the searched γ is that of `LinearSVMCV()`, by folds of the training images. First order:
{_FIRST} codes, four outputs, 2×2; projected: {_FIRST} of {_CANDIDATES} by affinity, with the Nyström projection. Second order:
{_SECOND} codes, 2×2, root; projected: {_DIRECTIONS} directions a cell, a tenth. All else is as in `parts`. Seed 0.
{conclusion}"""


GAMMA = Experiment("gamma", "γ from the features, next to γ from held-out images", _section, parts=ROWS, runs=1)
