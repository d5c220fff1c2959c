"""All experiments by name, in the order of the paper, and what running one means."""

from collections.abc import Callable, Sequence

from poolwise.experiments.ablations import ABLATIONS
from poolwise.experiments.anatomy import dissected
from poolwise.experiments.cells import Cell, in_runs, quick
from poolwise.experiments.experiment import Experiment
from poolwise.experiments.fig_codes import FIG_CODES
from poolwise.experiments.fig_curves import FIG_CURVES
from poolwise.experiments.fig_pairs import FIG_PAIRS
from poolwise.experiments.fig_pca import FIG_PCA
from poolwise.experiments.fig_starting_size import FIG_STARTING_SIZE
from poolwise.experiments.fig_statistics import FIG_STATISTICS
from poolwise.experiments.law import LAW_OF_ACCURACY
from poolwise.experiments.running import Settings, measure
from poolwise.experiments.store import Store
from poolwise.experiments.table1_cifar import TABLE1_CIFAR
from poolwise.experiments.table1_stl import TABLE1_STL
from poolwise.experiments.table2_birds import TABLE2_BIRDS

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        TABLE1_CIFAR,
        ABLATIONS,
        TABLE1_STL,
        TABLE2_BIRDS,
        FIG_PAIRS,
        FIG_CODES,
        FIG_STATISTICS,
        FIG_STARTING_SIZE,
        FIG_CURVES,
        FIG_PCA,
        LAW_OF_ACCURACY,
    )
}


def cells_of(
    experiments: Sequence[Experiment], stl: str, first_seed: int, runs: int | None, is_quick: bool, codes: Sequence[int] = ()
) -> list[Cell]:
    """The cells that they need, each once, a run after the other: the first of all, then the second.

    codes : only cells with that many codes kept; empty for all
    """
    cells: dict[Cell, None] = {}
    most = max((runs or one.runs for one in experiments), default=0)
    for run in range(most):
        for one in experiments:
            if run < (runs or one.runs):
                some = [cell for cell in one.cells(stl) if not codes or cell.K in codes]
                cells |= dict.fromkeys(in_runs(some, [first_seed + run]))
    return [quick(cell) for cell in cells] if is_quick else list(cells)


def run(
    experiments: Sequence[Experiment],
    store: Store,
    settings: Settings,
    tell: Callable[[str], None],
    *,
    stl: str,
    seed: int = 0,
    runs: int | None = None,
    is_quick: bool = False,
    codes: Sequence[int] = (),
) -> None:
    """Measure what the store lacks: cells first, then the models that are taken apart."""
    cells = sorted(cells_of(experiments, stl, seed, runs, is_quick, codes), key=_order)
    measure(cells, store, settings, tell)
    for variant in dict.fromkeys(variant for one in experiments for variant in one.variants):
        tell(f"codes and their responses, {variant}")
        dissected(store, settings, variant, seed, is_quick)


def _order(cell: Cell) -> tuple[int, str, int]:
    """One run after the other, in it one data set after the other, in it the small dictionaries first."""
    return cell.seed, cell.dataset, cell.M
