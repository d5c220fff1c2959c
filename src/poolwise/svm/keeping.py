"""Rounds of the solver, and solutions, as steps that are kept (`support.steps`): all that the next round depends on.

k : problems    p, N, parts : as in `spaces`    h : steps that L-BFGS remembers
"""

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from poolwise.support.steps import CheckpointError, Shapes, Work

if TYPE_CHECKING:
    from poolwise.svm.loss import Problems
    from poolwise.svm.solver import Solution, _Run
    from poolwise.svm.spaces import Space

MEMORY = 8  # h
_OF_STEPS = ("P", "y", "z", "inverse")
_OF_PROBLEMS = ("penalty", "objective", "norm", "norm0", "plain0", "target")


def keep_rounds(work: Work, name: str, run: "_Run") -> None:
    """After a round."""
    arrays = {key: getattr(run, key) for key in ("V", "F", "R", "g", "h", "idle", *_OF_PROBLEMS)}
    arrays |= {"ended": run.ended.astype(np.uint8), "least": np.array([run.least])}
    if run.history:
        arrays |= {
            key: np.stack(one) for key, one in zip(("P", "y", "z", "inverse"), zip(*run.history, strict=True), strict=True)
        }
    work.save(name, arrays, {"rounds": run.rounds, "newton": bool(run.newton), "refreshes": run.refreshes})


def resume_rounds(work: Work, name: str, run: "_Run", most: int) -> bool:
    """Put a run where it was kept; False where it was not. most : times that margins are computed anew"""
    space, k = run.space, len(run.problems)
    of, margins = space.parts, np.dtype(space.margin_dtype).name
    wide, short = np.dtype(space.dtype).name, np.dtype(space.history_dtype).name
    vector, plain = (of, k, space.size + 1), (k, space.size + 1)
    N = space.rows.shape[0]
    shapes: dict[str, Any] = {"V": (wide, vector), "F": (margins, (k, N)), "R": (margins, (k, N)), "least": ("float64", (1,))}
    shapes |= {"g": (wide, plain), "h": (wide, vector), "idle": ("int64", (k,)), "ended": ("uint8", (k,))}
    shapes |= dict.fromkeys(_OF_PROBLEMS, ("float64", (k,)))
    shapes |= {"P": (short, (None, *vector)), "y": (short, (None, *plain)), "z": (short, (None, *vector))}
    known = work.load(name, {**shapes, "inverse": ("float64", (None, k))})
    if known is None:
        return False
    for key in ("V", "F", "R", "g", "h", "idle", *_OF_PROBLEMS):
        setattr(run, key, known[key])
    run.ended, run.least = known["ended"].astype(np.bool_), float(known["least"][0])
    run.rounds, run.newton = known.fact("rounds", int), known.fact("newton", bool)
    run.refreshes, run.history = min(max(known.fact("refreshes", int), 0), most - 1), deque(maxlen=MEMORY)
    if "P" in known.arrays:
        steps = [known[key] for key in _OF_STEPS]
        if len({len(one) for one in steps}) > 1:
            raise CheckpointError("a checkpoint has steps of the SVM that do not go together; remove its folder, and fit again")
        run.history.extend(zip(*steps, strict=True))
    return True


def keep_solution(work: Work, name: str, found: "Solution", ends: str) -> None:
    """The end of its rounds."""
    arrays = {key: getattr(found, key) for key in ("W", "b", "F", "objective", "gradient", "gap", "vector")}
    work.save(name, arrays, {"rounds": found.rounds, "converged": bool(found.converged)}, ends=ends)


def known_solution(work: Work, name: str, space: "Space", problems: "Problems") -> "dict[str, Any] | None":
    """The fields of a solution."""
    (N, d), k = space.rows.shape, len(problems)
    one: Shapes = dict.fromkeys(("b", "objective", "gradient", "gap"), ("float64", (k,)))
    vector = (np.dtype(space.dtype).name, (space.parts, k, space.size + 1))
    more: Shapes = {"W": ("float64", (k, d)), "F": (np.dtype(space.margin_dtype).name, (k, N)), "vector": vector}
    known = work.load(name, {**one, **more})
    if known is None:
        return None
    return {
        **{key: known[key] for key in (*one, *more)},
        "rounds": known.fact("rounds", int),
        "converged": known.fact("converged", bool),
    }
