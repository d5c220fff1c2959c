"""Many problems, a group at a time so that memory stays small; and many γ, with held-out folds.

The problems of all classes are independent and so are those of all folds, which differ in the weights of samples alone: all are
rows of the same products, and one factor of the features' covariance serves all that have the same γ.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poolwise.support.blocks import spans
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array
from poolwise.svm.loss import Problems, one_vs_all
from poolwise.svm.solver import MEMORY, Solution, solve
from poolwise.svm.spaces import Space

_NO_ARRAY = np.empty(0)
_SHARE_OF_X, _LEAST_BYTES = 0.1, 1 << 24  # of X, and in any case 16 MB, for what a group of problems needs


def group_size(space: Space) -> int:
    """How many problems at a time need about 0.1 of X's memory, or 16 MB."""
    N = len(space.rows.X)
    item, short = np.dtype(space.dtype).itemsize, np.dtype(space.history_dtype).itemsize
    vectors = (2 * space.parts + 1) * (short * MEMORY + 2 * item) * (space.size + 1)
    margins = 4 * N * space.margin_dtype.itemsize
    return max(1, int(_bytes_of_group(space) / (vectors + margins)))


def _bytes_of_group(space: Space) -> float:
    return max(_SHARE_OF_X * space.rows.X.nbytes, _LEAST_BYTES)


def solve_in_groups(
    space: Space, problems: Problems, gamma: float, tol: float, max_iter: int, update: Update = silent
) -> Solution:
    """As `solve`, for any number of problems and without `F` and `vector`; `rounds` is the most that a group took."""
    groups = spans(len(problems), group_size(space))
    found = []
    for some in groups:
        where = f", problems {some.start + 1} to {some.stop} of {len(problems)}" if len(groups) > 1 else ""

        part = solve(space, problems[some], gamma, tol=tol, max_iter=max_iter, update=_noting(update, where))
        found.append(replace(part, F=_NO_ARRAY, vector=_NO_ARRAY))  # they are as large as a group may be
    return Solution(
        W=np.concatenate([part.W for part in found]),
        b=np.concatenate([part.b for part in found]),
        F=_NO_ARRAY,
        objective=np.concatenate([part.objective for part in found]),
        gradient=np.concatenate([part.gradient for part in found]),
        gap=np.concatenate([part.gap for part in found]),
        rounds=max(part.rounds for part in found),
        converged=all(part.converged for part in found),
        vector=_NO_ARRAY,
    )


def _noting(update: Update, where: str) -> Update:
    """The same callback with a word about where in the work it is called."""

    def with_note(done: int, note: str = "") -> None:
        update(done, note + where)

    return with_note


def held_out_scores(
    space: Space,
    label: Array,
    weight: Array,
    factors: Array,
    folds: Sequence[tuple[Array, Array]],
    gammas: Array,
    tol: float,
    max_iter: int,
    update: Update = silent,
) -> tuple[Array, int]:
    """Accuracy, weighted, on each fold's test samples after learning from its train samples, (G, folds); and how many of these
    fits did not converge.

    label : (N,)    weight : (N,)    factors : (folds, classes)    folds : (train, test) indices    gammas : (G,)
    """
    classes = factors.shape[1]
    masks = _masks(folds, weight)
    problems = one_vs_all(label, factors, masks)
    best = [np.full((len(gammas), len(test)), -np.inf) for _, test in folds]
    guess = [np.zeros((len(gammas), len(test)), np.int64) for _, test in folds]
    restless = np.zeros((len(gammas), len(folds)), np.bool_)
    groups = spans(len(problems), group_size(space))
    starts: list[Array | None] = [None] * len(groups)
    vectors = len(problems) * space.parts * (space.size + 1) * np.dtype(space.dtype).itemsize
    done = 0
    for i in np.argsort(gammas)[::-1]:  # from the largest, where the problem is easiest; M is factored once for each
        for number, some in enumerate(groups):
            group = problems[some]
            found = solve(space, group, float(gammas[i]), tol=tol, max_iter=max_iter, start=starts[number])
            starts[number] = found.vector if vectors <= _bytes_of_group(space) else None
            restless[i, group.fold] |= not found.converged
            for row, (f, c) in enumerate(zip(group.fold, group.target, strict=True)):
                margin = found.F[row, folds[f][1]]
                if classes == 2:  # one problem: the first class is where the margin is not positive
                    guess[f][i] = margin > 0
                elif (masks[f][label == c] > 0).any():  # a class that this fold has not learned is not a guess
                    better = margin > best[f][i]
                    best[f][i], guess[f][i] = np.where(better, margin, best[f][i]), np.where(better, c, guess[f][i])
            done += len(group)
            update(done * classes * len(folds) // len(problems), f"gamma {gammas[i]:.3g}")
    scores = [
        [np.average(right, weights=weight[test]) for right in guessed == label[test]]
        for guessed, (_, test) in zip(guess, folds, strict=True)
    ]
    return np.array(scores).T, int(restless.sum())


def held_out_margins(
    space: Space,
    label: Array,
    weight: Array,
    factors: Array,
    folds: Sequence[tuple[Array, Array]],
    gamma: float,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array]:
    """(n, classes or 1) margins of every fold's test samples after learning from its train samples, and which these are.

    NaN for a class that a fold has not learned.
    """
    masks = _masks(folds, weight)
    problems = one_vs_all(label, factors, masks)
    first = np.cumsum([0, *(len(test) for _, test in folds)])
    F = np.full((first[-1], len(problems) // len(folds)), np.nan, np.float32)
    for some in spans(len(problems), group_size(space)):
        group = problems[some]
        found = solve(space, group, gamma, tol=tol, max_iter=max_iter)
        for row, (f, c) in enumerate(zip(group.fold, group.target, strict=True)):
            if F.shape[1] > 1 and not (masks[f][label == c] > 0).any():
                continue
            F[first[f] : first[f + 1], 0 if F.shape[1] == 1 else c] = found.F[row, folds[f][1]]
    return F, np.concatenate([test for _, test in folds])


def _masks(folds: Sequence[tuple[Array, Array]], weight: Array) -> Array:
    """(folds, N) weights of the samples that each fold learns from."""
    masks = np.zeros((len(folds), len(weight)))
    for f, (train, _) in enumerate(folds):
        np.add.at(masks[f], train, weight[train])
    return masks
