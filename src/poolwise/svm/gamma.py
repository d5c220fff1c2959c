"""γ where none is given: from the size of the problem, and from held-out samples around that.

    γ₀ = c √k tr(Σ) / S      Σ : covariance of the features    S : sum of the samples' weights    k : classes

Ridge regression with isotropic weights is best at (noise / signal) tr(Σ) / S, and the noise of one class against k - 1 others
grows with k. c = 0.025 is the middle of what held-out images chose (docs/svm.md).

γ : (G,) ascending    scores : (G, folds) accuracies
"""

from collections.abc import Callable

import numpy as np

from poolwise.support.types import Array
from poolwise.svm.rows import CentredRows

LEAST_GAMMA = 1e-12
STEP = float(np.sqrt(10))  # from one γ to the next
_FACTOR = 0.025  # c
_MOST_STEPS = 12  # away from the first γ, to either side
_EQUAL = 1e-12  # scores that differ by less are equal
_WORTH = 0.25  # of the standard error: the least gain of a step that is worth another one


def guess_gamma(rows: CentredRows, S: float, classes: int) -> float:
    """γ₀; 1 where no feature varies, and γ does not matter.

    >>> from poolwise.engine.threads import Threads
    >>> with Threads(1) as engine:
    ...     rows = CentredRows(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2), engine)
    ...     round(guess_gamma(rows, 2, 4), 6)
    0.025
    """
    trace = float((rows.std**2).sum())
    gamma = _FACTOR * np.sqrt(classes) * trace / S
    return max(float(gamma), LEAST_GAMMA) if trace > 0 and np.isfinite(gamma) else 1.0


def climb(scores_of: Callable[[Array], Array], start: float, error_of: Callable[[float], float]) -> tuple[Array, Array]:
    """Scores of γ = start and its neighbours, and on towards the better side until the best lies inside or gains too little.

    scores_of : γ, (G,) ascending, to (G, folds)    error_of : a γ that was tried to the standard error of its score

    >>> def scores_of(gammas):
    ...     return -np.abs(np.log(gammas / 20))[:, None]
    >>> climb(scores_of, 1.0, lambda gamma: 0.1)[0].round(2).tolist()
    [0.32, 1.0, 3.16, 10.0, 31.62, 100.0]
    >>> climb(scores_of, 1.0, lambda gamma: 10.0)[0].round(2).tolist()
    [0.32, 1.0, 3.16]
    """
    gammas = start * STEP ** np.arange(-1.0, 2.0)
    return extend(scores_of, gammas, scores_of(gammas), error_of)


def extend(
    scores_of: Callable[[Array], Array], gammas: Array, scores: Array, error_of: Callable[[float], float]
) -> tuple[Array, Array]:
    """The same from several γ whose scores are known."""
    for _ in range(_MOST_STEPS):
        edge = rising_edge(gammas, scores, error_of)
        if edge is None or (edge == 0 and gammas[0] / STEP < LEAST_GAMMA):
            break
        gammas, at = (np.r_[gammas[0] / STEP, gammas], 0) if edge == 0 else (np.r_[gammas, gammas[-1] * STEP], len(gammas))
        scores = np.insert(scores, at, scores_of(gammas[at : at + 1])[0], axis=0)
    return gammas, scores


def rising_edge(gammas: Array, scores: Array, error_of: Callable[[float], float]) -> int | None:
    """`better_edge` if its gain over the best of the others is at least a quarter of its standard error."""
    edge = better_edge(scores)
    if edge is None:
        return None
    mean = scores.mean(axis=1)
    gain = mean[edge] - np.delete(mean, edge).max()
    return edge if gain >= _WORTH * error_of(float(gammas[edge])) else None


def better_edge(scores: Array) -> int | None:
    """The first or last γ if it is the best and better than the one next to it, as if the curve went on there."""
    best, mean = best_of(scores), scores.mean(axis=1)
    inner = {0: 1, len(mean) - 1: len(mean) - 2}.get(best)
    return best if inner is not None and len(mean) > 1 and mean[best] > mean[inner] + _EQUAL else None


def best_of(scores: Array) -> int:
    """The best on average; the last of equals, which has the largest γ."""
    mean = scores.mean(axis=1)
    return int(np.flatnonzero(mean >= mean.max() - _EQUAL)[-1])
