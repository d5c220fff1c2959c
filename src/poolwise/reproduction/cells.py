"""What is measured: a cell is one accuracy, of K codes from M on one data set with one seed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from poolwise.method.recipe import ProjectionName
from poolwise.method.selection import WayName

Svm = Literal["converged", "16 γ", "64 γ", "100 rounds", "searched"]
Labels = Literal["all", "folds"]


@dataclass(frozen=True, order=True)
class Cell:
    """One entry of the store.

    dataset : one of `protocols.PROTOCOLS`: "cifar10", "stl10", ...
    K, M : codes kept, and the starting dictionary's
    seed : of the starting dictionary and of the selection
    selection : a way of `poolwise.method.selection`, or None where nothing is selected: K-means (K = M) and PCA
    projection : "nystrom", "pca" or None
    svm : "converged"; "16 γ" and "64 γ", converged with that many times the γ; "100 rounds", stopped there; "searched",
        converged with γ chosen by cross-validation
    labels : "all" of the training images, or the data set's own 10 "folds", one SVM each
    quick : on fewer images and patches, to see that it works

    >>> Cell("cifar10", 200, 800, 0, "affinity", "nystrom").key
    'cifar10 K=200 M=800 seed=0 affinity nystrom'
    """

    dataset: str
    K: int
    M: int
    seed: int
    selection: WayName | None = None
    projection: ProjectionName = None
    svm: Svm = "converged"
    labels: Labels = "all"
    quick: bool = False

    @property
    def key(self) -> str:
        """What distinguishes it from all others, for the store and for people."""
        way = "kmeans" if self.selection is None and self.projection is None else None
        words = [way or self.selection, self.projection, None if self.svm == "converged" else f"svm={self.svm}"]
        words += [None if self.labels == "all" else self.labels, "quick" if self.quick else None]
        return f"{self.dataset} K={self.K} M={self.M} seed={self.seed} " + " ".join(word for word in words if word)

    @property
    def start(self) -> tuple[str, int, int, bool]:
        """The starting dictionary that it is cut from."""
        return self.dataset, self.M, self.seed, self.quick

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def kmeans(dataset: str, K: int, **more: Any) -> Cell:
    """Plain K-means, seed 0."""
    return Cell(dataset, K, K, 0, **more)


def pdl(dataset: str, K: int, M: int, **more: Any) -> Cell:
    """The paper's method, seed 0."""
    return Cell(dataset, K, M, 0, **{"selection": "affinity", "projection": "nystrom", **more})


def pca(dataset: str, K: int, M: int, **more: Any) -> Cell:
    """The bound: K directions of all M codes, seed 0."""
    return Cell(dataset, K, M, 0, projection="pca", **more)


def in_runs(cells: Iterable[Cell], seeds: Iterable[int]) -> list[Cell]:
    """Each cell once for every seed.

    >>> [cell.seed for cell in in_runs([kmeans("cifar10", 200)], range(2, 5))]
    [2, 3, 4]
    """
    return [replace(cell, seed=seed) for seed in seeds for cell in cells]


def a_quarter(cell: Cell) -> Cell:
    """A cell a quarter as large, for fewer images."""
    return replace(cell, K=max(1, cell.K // 4), M=max(1, cell.M // 4), quick=True)
