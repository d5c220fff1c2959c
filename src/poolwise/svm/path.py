"""Many problems, a group at a time so that memory stays small.

The problems of all classes are independent: all are rows of the same products, and one factor of the features' covariance
serves all that have the same γ.
"""

from dataclasses import replace

import numpy as np

from poolwise.support.blocks import spans
from poolwise.support.progress import Update, silent
from poolwise.svm.keeping import MEMORY
from poolwise.svm.loss import Problems
from poolwise.svm.solver import Solution, solve
from poolwise.svm.spaces import Space

_NO_ARRAY = np.empty(0)
# Of X, in any case 16 MB and at most 4 GB, for what a group of problems needs: X may be on many machines, its margins are here.
_SHARE_OF_X, _LEAST_BYTES, _MOST_BYTES = 0.1, 1 << 24, 1 << 32


def group_size(space: Space) -> int:
    """How many problems at a time need about 0.1 of X's memory, 16 MB to 4 GB."""
    N = space.rows.shape[0]
    item, short = np.dtype(space.dtype).itemsize, np.dtype(space.history_dtype).itemsize
    vectors = (2 * space.parts + 1) * (short * MEMORY + 2 * item) * (space.size + 1)
    margins = 4 * N * space.margin_dtype.itemsize
    return max(1, int(bytes_of_group(space) / (vectors + margins)))


def bytes_of_group(space: Space) -> float:
    """What a group of problems may need."""
    return min(max(_SHARE_OF_X * space.rows.nbytes, _LEAST_BYTES), _MOST_BYTES)


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
