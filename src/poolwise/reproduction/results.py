"""What the store holds, as means over runs and as text for tables."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from poolwise.reproduction.cells import Cell, a_quarter
from poolwise.reproduction.protocols import STL10
from poolwise.reproduction.published import published
from poolwise.reproduction.store import Store

NOTHING = "–"


@dataclass(frozen=True)
class Mean:
    """Accuracy in percent over runs: mean, standard deviation (n - 1; 0 for one run); seconds of one run, stage by stage."""

    mean: float
    std: float
    runs: int
    seconds: dict[str, float]
    unexplained: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}" if self.runs > 1 else f"{self.mean:.2f}"

    @property
    def total_seconds(self) -> float:
        """From raw data to accuracy, alone."""
        return sum(self.seconds.values())


class Results:
    """Means of cells over all seeds in the store, or over some.

    stl : the protocol that cells of "stl10" are looked up under; None for the one that the store has
    """

    def __init__(
        self, store: Store, *, quick: bool = False, seeds: Iterable[int] | None = None, stl: str | None = None
    ) -> None:
        self.store, self.quick, self.stl = store, quick, stl or store.measured(*STL10)
        self._seeds = None if seeds is None else set(seeds)
        self._by_cell: dict[Cell, list[dict[str, Any]]] = {}
        fields = list(Cell.__dataclass_fields__)
        for entry in store.all():
            if self._seeds is None or entry["seed"] in self._seeds:
                cell = Cell(**{name: entry[name] for name in fields})
                self._by_cell.setdefault(replace(cell, seed=0), []).append(entry)

    def of(self, cell: Cell, seeds: Iterable[int] | None = None) -> Mean | None:
        """Over the runs of a cell, whatever its own seed, or over those with some seeds; None if there is none."""
        entries = [entry for entry in self._entries(cell) if seeds is None or entry["seed"] in seeds]
        if not entries:
            return None
        accuracies = [100 * float(entry["accuracy"]) for entry in entries]
        stages: dict[str, list[float]] = {}
        for entry in entries:
            for stage, seconds in entry["seconds"].items():
                stages.setdefault(stage, []).append(seconds)
        return Mean(
            statistics.mean(accuracies),
            statistics.stdev(accuracies) if len(entries) > 1 else 0.0,
            len(entries),
            {stage: statistics.mean(seconds) for stage, seconds in stages.items()},
            statistics.mean(float(entry.get("unexplained", 0.0)) for entry in entries),
        )

    def together(self, cells: Iterable[Cell]) -> list[Mean | None]:
        """Of several cells over the same runs: those that all of them have which have any."""
        cells = list(cells)
        seeds = [{int(entry["seed"]) for entry in self._entries(cell)} for cell in cells]
        common = set.intersection(*(some for some in seeds if some)) if any(seeds) else set()
        return [self.of(cell, common) for cell in cells]

    def gammas(self, cell: Cell) -> str:
        """The γ that were chosen for a cell, the smallest first."""
        return ", ".join(f"{gamma:.2g}" for gamma in sorted({entry["gamma"] for entry in self._entries(cell)})) or NOTHING

    def _entries(self, cell: Cell) -> list[dict[str, Any]]:
        dataset = self.stl if cell.dataset == "stl10" else cell.dataset
        return self._by_cell.get(replace(a_quarter(cell) if self.quick else cell, seed=0, dataset=dataset), [])

    def paper(self, cell: Cell) -> float | None:
        """The paper's percent for a cell; none for a quick one, which cannot be compared, and for the ablations."""
        in_paper = (cell.selection, cell.projection) in ((None, None), ("affinity", "nystrom"), (None, "pca"))
        if self.quick or not in_paper or cell.svm != "converged" or cell.labels != "all":
            return None
        return published(cell.dataset, cell.K, cell.M, cell.projection == "pca")

    def text(self, cell: Cell) -> str:
        """'71.52 ± 0.13', or a dash."""
        found = self.of(cell)
        return str(found) if found else NOTHING

    def difference(self, cell: Cell) -> str:
        """Ours less the paper's, such as '+0.31'."""
        found, paper = self.of(cell), self.paper(cell)
        return f"{found.mean - paper:+.2f}" if found and paper is not None else NOTHING


def percent(value: float | None) -> str:
    """
    >>> percent(71.184), percent(None)
    ('71.18', '–')
    """
    return NOTHING if value is None else f"{value:.2f}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, numbers to the right, padded so that its source reads well too.

    >>> print(table(["way", "%"], [["random", "70.66"], ["PCA", "72"]]))
    | way    |     % |
    |:-------|------:|
    | random | 70.66 |
    | PCA    |    72 |
    """
    rows = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(padded)} |"

    rule = "|".join([f":{'-' * (widths[0] + 1)}", *(f"{'-' * (w + 1)}:" for w in widths[1:])])
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])


def accuracy_of(runs: list[dict[str, Any]]) -> str:
    """Mean over seeds, or over the draws of a seed, with the standard deviation of these."""
    values = [100 * one for run in runs for one in run.get("draws", [run["accuracy"]])]
    if not values:
        return NOTHING
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")
