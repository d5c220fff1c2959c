"""Table 1: accuracy at budgets of 200 and 1600 codes; what CIFAR-10 and STL-10 have in common."""

from dataclasses import replace

from poolwise.reproduction.cells import Cell, kmeans, pca, pdl
from poolwise.reproduction.published import TABLE1_CIFAR10
from poolwise.reproduction.results import NOTHING, Results, percent, table

BUDGETS = {200: (200, 400, 800, 1600), 1600: (1600, 3200)}


def budget_cells(dataset: str) -> list[Cell]:
    """K-means, PDL and PCA at both budgets."""
    cells = []
    for K, starts in BUDGETS.items():
        cells += [kmeans(dataset, K), *(way(dataset, K, M) for M in starts if M > K for way in (pdl, pca))]
    return cells


def budget_table(results: Results, dataset: str, *, folds: bool = False) -> str:
    """The rows of Table 1, the gain over K-means, PCA for comparison, and seconds from raw data to accuracy."""
    rows = []
    for K, starts in BUDGETS.items():
        base = _with(kmeans(dataset, K), folds)
        for M in starts:
            cell = base if M == K else _with(pdl(dataset, K, M), folds)
            bound = _with(pca(dataset, K, M), folds)
            found, first = results.of(cell), results.of(base)
            paper, paper_first = _paper(results, cell), _paper(results, base)
            rows.append([
                f"{K} codes, " + ("K-means" if M == K else f"{M // K}× PDL"),
                percent(paper),
                results.text(cell),
                f"{found.mean - paper:+.2f}" if found and paper is not None else NOTHING,
                f"{paper - paper_first:+.2f}" if paper is not None and paper_first is not None and M > K else "",
                f"{found.mean - first.mean:+.2f}" if found and first and M > K else "",
                percent(results.paper(bound)) if M > K else "",
                results.text(bound) if M > K else "",
                f"{found.runs}" if found else "0",
                f"{found.total_seconds:,.0f}" if found else NOTHING,
            ])  # fmt: skip
    header = ["", "paper %", "ours %", "difference", "paper's gain", "our gain", "paper's PCA", "our PCA", "runs", "seconds"]
    if folds:  # the paper has none
        header, *rows = [[row[i] for i in (0, 2, 5, 7, 8, 9)] for row in (header, *rows)]
    return table(header, rows)


def _paper(results: Results, cell: Cell) -> float | None:
    """The paper's percent as its table has it, which differs from its curves in one place."""
    paper = results.paper(cell)
    in_table = TABLE1_CIFAR10.get((cell.M, cell.K)) if cell.dataset == "cifar10" and cell.projection != "pca" else None
    return paper if paper is None or in_table is None else in_table


def _with(cell: Cell, folds: bool) -> Cell:
    return replace(cell, labels="folds") if folds else cell
