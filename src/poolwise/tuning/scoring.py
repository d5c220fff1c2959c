"""A score for each held-out image: a linear SVM or ridge regression that is right or wrong, or how far off it is.

    classes   sᵢ = 1 if the class guessed is right, else 0                    mean: accuracy
    numbers   sᵢ = 1 - (yᵢ - ŷᵢ)² / var(y)                                    mean: R²

γ is the best of γ₀ and its neighbours on the same held-out images. Nothing is fitted again with it. Ridge regression on
indicators of the classes orders settings much as the SVM does, at a fraction of its time; the SVM decides between the last few.

X : (n, d) to learn from    H : (m, d) held out
"""

from collections.abc import Callable

import numpy as np
import scipy.linalg

from poolwise.engine.threads import Threads
from poolwise.support.blocks import spans
from poolwise.support.types import Array
from poolwise.svm import CentredRows, make_space, one_vs_all, project, solve
from poolwise.svm.gamma import best_of, climb, guess_gamma
from poolwise.svm.path import group_size

_TOLERANCE, _MOST_ROUNDS = 1e-3, 200
_RIDGES = (0.01, 0.05, 0.2, 0.7, 2.5)  # λ, times the mean square of a row
_ROWS_PER_PRODUCT = 256
Tell = Callable[[str], None]


def _silent(note: str) -> None:
    pass


def classify(X: Array, y: Array, H: Array, z: Array, *, engine: Threads, tell: Tell = _silent) -> Array:
    """(m,) float32, 1 where a linear SVM learned from X and the classes y guesses the class z of a held-out image.

    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> with Threads(1) as engine:
    ...     classify(X, np.array([0, 0, 1, 1]), X[1:], np.array([0, 1, 0]), engine=engine)
    array([1., 1., 0.], dtype=float32)
    """
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        return (z == classes[0]).astype(np.float32)
    rows = CentredRows(X, np.ones(len(X)), engine)
    space = make_space(rows)
    problems = one_vs_all(label, np.ones(len(classes)), np.ones((1, len(X))))
    right: dict[float, Array] = {}

    def scores_of(gammas: Array) -> Array:
        margins = np.empty((len(gammas), len(H), len(problems)))
        for some in spans(len(problems), group_size(space)):
            start = None
            for i in np.argsort(gammas)[::-1]:  # from the largest, where the problem is easiest
                tell(f"gamma {gammas[i]:.3g}")
                found = solve(space, problems[some], float(gammas[i]), tol=_TOLERANCE, max_iter=_MOST_ROUNDS, start=start)
                start = found.vector
                margins[i][:, some] = project(H, found.W, found.b, engine)
        for gamma, F in zip(gammas.tolist(), margins, strict=True):
            guess = (F[:, 0] > 0).astype(np.int64) if len(classes) == 2 else F.argmax(axis=1)
            right[gamma] = (classes[guess] == z).astype(np.float32)
        return np.array([[right[gamma].mean(dtype=np.float64)] for gamma in gammas.tolist()])

    gammas, scores = climb(scores_of, guess_gamma(rows, float(len(X)), len(classes)), lambda gamma: _error(right[gamma]))
    return right[float(gammas[best_of(scores)])]


def classify_by_ridge(X: Array, y: Array, H: Array, z: Array, *, engine: Threads, tell: Tell = _silent) -> Array:
    """The same with ridge regression on an indicator of each class, at the best of several ridges.

        (G + λI) A = T,   F = H Xᵀ A,   G = X Xᵀ   for centred X and T, or the same among the features where these are fewer

    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]], np.float32)
    >>> with Threads(1) as engine:
    ...     classify_by_ridge(X, np.array([0, 0, 1, 1]), X[1:], np.array([0, 1, 0]), engine=engine)
    array([1., 1., 0.], dtype=float32)
    """
    classes, label = np.unique(y, return_inverse=True)
    tell("ridge regression")
    mean, n = X.mean(axis=0, dtype=np.float64).astype(np.float32), len(X)
    T = (label[:, None] == np.arange(len(classes))).astype(np.float32)
    share = T.mean(axis=0)
    T -= share
    centred, held = X - mean, H - mean
    few = X.shape[1] <= n
    left = centred.T if few else centred
    A = _gram(np.ascontiguousarray(left), left.T, engine)
    B = left @ T if few else T
    right = held if few else _gram(held, centred.T, engine)
    unit = float(np.trace(A)) / n  # of either form: the mean square of a row
    ridges = [level * unit for level in _RIDGES]
    guesses = [(right @ found + share).argmax(axis=1) for found in engine.map(_ridged, ridges, A, B)]
    scores = [(classes[guess] == z).astype(np.float32) for guess in guesses]
    return max(scores, key=lambda one: float(one.mean(dtype=np.float64)))


def _gram(L: Array, R: Array, engine: Threads) -> Array:
    """L R by blocks of L's rows on threads."""
    return np.concatenate(list(engine.map(np.matmul, [L[rows] for rows in spans(len(L), _ROWS_PER_PRODUCT)], R)))


def _ridged(ridge: float, A: Array, B: Array) -> Array:
    """(A + ridge I)⁻¹ B; zeros where rounding leaves no inverse."""
    ridged = A.copy()
    ridged.ravel()[:: len(A) + 1] += np.float32(max(ridge, float(np.finfo(np.float32).tiny)))
    try:
        factor = scipy.linalg.cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(B)
    found: Array = scipy.linalg.cho_solve(factor, B, check_finite=False)
    return found if np.isfinite(found).all() else np.zeros_like(B)


def regress(X: Array, y: Array, H: Array, z: Array, variance: float, *, engine: Threads, tell: Tell = _silent) -> Array:
    """(m,) float32: 1 less the squared error of ridge regression on a held-out image, in units of `variance`.

        w = (XᵀX / n + γ I)⁻¹ Xᵀy / n   for centred X and y, or the same among the samples where these are fewer

    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> with Threads(1) as engine:
    ...     regress(X, 3 * X[:, 0] + 1, X[:2], 3 * X[:2, 0] + 1, 22.5, engine=engine).round(2)
    array([1., 1.], dtype=float32)
    """
    n, d = X.shape
    rows = CentredRows(X, np.ones(n), engine)
    mean = float(y.mean())
    centred = rows.centred(np.arange(n), np.float32 if 4 * n * d > 1 << 24 else np.float64)
    held = (H - rows.mean.astype(centred.dtype)).astype(centred.dtype)
    few = d <= n
    tell("covariance")
    A = (centred.T @ centred if few else centred @ centred.T).astype(np.float64) / n
    b = (centred.T @ (y - mean) if few else y - mean) / n
    right = held if few else held @ centred.T
    errors: dict[float, Array] = {}

    def scores_of(gammas: Array) -> Array:
        for gamma in gammas.tolist():
            tell(f"gamma {gamma:.3g}")
            ridged = A.copy()
            ridged.ravel()[:: len(A) + 1] += gamma
            found = right @ scipy.linalg.solve(ridged, b, assume_a="pos", overwrite_a=True, check_finite=False) + mean
            errors[gamma] = (1 - (z - found) ** 2 / variance).astype(np.float32)
        return np.array([[errors[gamma].mean(dtype=np.float64)] for gamma in gammas.tolist()])

    trace = float((rows.std**2).sum())
    gammas, scores = climb(scores_of, max(trace / n, 1e-9) if trace > 0 else 1.0, lambda gamma: _error(errors[gamma]))
    return errors[float(gammas[best_of(scores)])]


def _error(scores: Array) -> float:
    """The standard error of the mean of (m,) scores; of zeros and ones with mean p, √(p (1 - p) / m)."""
    return float(scores.std(dtype=np.float64) / np.sqrt(len(scores)))
