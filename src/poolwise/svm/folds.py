"""Held-out folds: learn from the train samples of each, guess the classes of its test samples, for one γ after the other.

Folds differ in the weights of samples alone: the problems of all folds and classes are rows of the same products, and one
factor of the features' covariance serves all that have the same γ.

label : (N,)    weight : (N,)    factors : (folds, classes)    folds : (train, test) indices    γ : (G,)
F : (n, classes) margins of every fold's test samples, NaN for a class that a fold has not learned; (n, 1) of two classes
"""

from collections.abc import Sequence

import numpy as np

from poolwise.support.blocks import spans
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array
from poolwise.svm.gamma import best_of
from poolwise.svm.loss import one_vs_all
from poolwise.svm.path import bytes_of_group, group_size
from poolwise.svm.solver import solve
from poolwise.svm.spaces import Space


class HeldOut:
    """Scores of the γ tried so far, and the margins of the best of them.

    Attributes
    ----------
    scores : dict of γ to (folds,) accuracy, weighted, on the test samples
    margins : F of the best γ
    tested : (n,) the samples whose margins these are
    unconverged : int, how many fits did not converge

    Examples
    --------
    >>> from poolwise.engine.threads import Threads
    >>> from poolwise.svm import CentredRows, make_space
    >>> X, label = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> folds = [(np.array([0, 2]), np.array([1, 3])), (np.array([1, 3]), np.array([0, 2]))]
    >>> with Threads(1) as engine:
    ...     space = make_space(CentredRows(X, np.ones(4), engine))
    ...     held_out = HeldOut(space, label, np.ones(4), np.ones((2, 2)), folds)
    ...     held_out.scores_of(np.array([0.01, 0.1]))
    array([[1., 1.],
           [1., 1.]])
    >>> held_out.accuracy(0.1), held_out.tested.tolist()
    ((1.0, 0.0), [1, 3, 0, 2])
    """

    def __init__(
        self,
        space: Space,
        label: Array,
        weight: Array,
        factors: Array,
        folds: Sequence[tuple[Array, Array]],
        tol: float = 1e-5,
        max_iter: int = 1000,
        update: Update = silent,
    ) -> None:
        self.space, self.label, self.weight, self.folds = space, label, weight, folds
        self.tol, self.max_iter, self.update = tol, max_iter, update
        self.masks = _masks(folds, weight)
        self.problems = one_vs_all(label, factors, self.masks)
        self._groups = spans(len(self.problems), group_size(space))
        self.tested = np.concatenate([test for _, test in folds])
        self.scores: dict[float, Array] = {}
        self.margins = np.empty((0, 0))
        self.unconverged = self._solved = 0

    def scores_of(self, gammas: Array) -> Array:
        """(G, folds), after solving every fold for every γ, from the largest, where the problem is easiest."""
        starts: list[Array | None] = [None] * len(self._groups)
        for gamma in np.sort(gammas)[::-1].tolist():
            F = self._margins(gamma, starts)
            self.scores[gamma] = self._accuracies(F)
            tried = sorted(self.scores)
            if tried[best_of(np.array([self.scores[each] for each in tried]))] == gamma:
                self.margins = F
            del F  # else it is held while the next is made
        return np.array([self.scores[gamma] for gamma in gammas.tolist()])

    def accuracy(self, gamma: float) -> tuple[float, float]:
        """Over all folds' test samples together, and the standard error of such a share of that many different ones."""
        accuracy = float(np.average(self.scores[gamma], weights=[self.weight[test].sum() for _, test in self.folds]))
        weight = self.weight[np.unique(self.tested)]
        n = weight.sum() ** 2 / (weight**2).sum()
        return accuracy, float(np.sqrt(accuracy * (1 - accuracy) / n))

    def error_of(self, gamma: float) -> float:
        """The standard error alone."""
        return self.accuracy(gamma)[1]

    def _margins(self, gamma: float, starts: list[Array | None]) -> Array:
        """F; each group of problems starts from the last γ's result, where there is memory to keep it. M is factored once."""
        space = self.space
        F = np.full((len(self.tested), len(self.problems) // len(self.folds)), np.nan, space.margin_dtype)
        unconverged = np.zeros(len(self.folds), np.bool_)
        vectors = len(self.problems) * space.parts * (space.size + 1) * np.dtype(space.dtype).itemsize
        for number, some in enumerate(self._groups):
            group = self.problems[some]
            found = solve(space, group, gamma, tol=self.tol, max_iter=self.max_iter, start=starts[number])
            starts[number] = found.vector if vectors <= bytes_of_group(space) else None
            unconverged[group.fold] |= not found.converged
            for row, (f, c) in enumerate(zip(group.fold, group.target, strict=True)):
                if (self.masks[f][self.label == c] > 0).any():  # a class that this fold has not learned is not a guess
                    self._part(F, f)[:, 0 if F.shape[1] == 1 else c] = found.F[row, self.folds[f][1]]
            self._solved += len(group)
            self.update(self._solved, f"gamma {gamma:.3g}")
        self.unconverged += int(unconverged.sum())
        return F

    def _accuracies(self, F: Array) -> Array:
        """(folds,)"""
        guess = F[:, 0] > 0 if F.shape[1] == 1 else np.where(np.isnan(F), -np.inf, F).argmax(axis=1)
        right = guess == self.label[self.tested]
        return np.array([np.average(self._part(right, f), weights=self.weight[test]) for f, (_, test) in enumerate(self.folds)])

    def _part(self, tested: Array, f: int) -> Array:
        """The rows of fold f's test samples."""
        start = sum(len(test) for _, test in self.folds[:f])
        return tested[start : start + len(self.folds[f][1])]


def _masks(folds: Sequence[tuple[Array, Array]], weight: Array) -> Array:
    """(folds, N) weights of the samples that each fold learns from."""
    masks = np.zeros((len(folds), len(weight)))
    for f, (train, _) in enumerate(folds):
        np.add.at(masks[f], train, weight[train])
    return masks
