"""γ from the spectrum of the features: a share of what ridge regression on the classes takes by generalised cross-validation.

    GCV(λ) = |T - T̂|² / (S - 1 - tr H)²,    T̂ = H T,    H = G (G + λI)⁻¹,    G = X Xᵀ,    γ = 0.3 (S / N)^0.1 λ / N

(Golub, Heath and Wahba, 1979) estimates the error on samples that were not seen, from eigenvalues alone. A squared hinge takes
less than λ, and the less the more samples there are: those outside the margin have no part in its sum. 0.3 and 0.1 are the
middle of what held-out training images chose (docs/svm.md). Of many samples a thousand serve: λ hardly depends on how many.

X : (n, d) features of some samples, centred, times √s    T : (n, k) ±1 for each class, the same    s : their weights
S, N : sums of the weights, of these samples and of all    e : eigenvalues of G    t : (len(e),) |vᵀT|² of each eigenvector v
"""

import numpy as np
import scipy.linalg

from poolwise.support.blocks import spans
from poolwise.support.types import Array
from poolwise.svm.gamma import LEAST_GAMMA, STEP, guess_gamma
from poolwise.svm.rows import CentredRows

_MOST_SAMPLES = 1_000  # their eigenvalues take a fraction of a second
_MOST_NUMBERS, _COLUMNS = 1 << 24, 512  # of X: 64 MB; that many columns at a time
_SHARE, _POWER = 0.3, 0.1  # of λ, and of how large a part of the samples is looked at
_STEPS = np.arange(-2, 7)  # of λ from γ₀'s, which is right for outputs of first order and too small for products of these
_NOTHING = 1e-12  # of the largest eigenvalue: rounding
_LEAST_FREE = 1e-3  # of the samples: with fewer degrees of freedom left, an error says nothing


def spectral_gamma(rows: CentredRows, label: Array, weight: Array, classes: int) -> float:
    """γ for samples of these classes and weights; γ₀ where the spectrum says nothing.

    label : (N,) of `classes` classes    weight : (N,), as given: their sum counts

    >>> from poolwise.engine.threads import Threads
    >>> label = np.arange(60) % 2
    >>> X = np.random.default_rng(0).normal(size=(60, 5)) + label[:, None]
    >>> with Threads(1) as engine:
    ...     0.001 < spectral_gamma(CentredRows(X, np.ones(60), engine), label, np.ones(60), 2) < 1
    True
    """
    guess = guess_gamma(rows, float(weight.sum()), classes)
    some = _spread_evenly(np.flatnonzero(weight > 0), rows.shape[1])
    s = weight[some]
    T = _centred(np.where(label[some][:, None] == np.arange(classes), 1.0, -1.0), s)
    eigenvalues, seen = _spectrum(rows, some, s, T)
    S, N = float(s.sum()), float(weight.sum())
    best = best_ridge(eigenvalues, seen, float((T**2).sum()), S, N * guess * STEP**_STEPS)
    return guess if best is None else max(LEAST_GAMMA, _SHARE * (S / N) ** _POWER * best / N)


def step_near(gamma: float, guess: float) -> float:
    """γ₀, or what lies whole steps of √10 from it, next to γ: the same values are tried whatever the spectrum says.

    >>> round(step_near(0.25, 0.02), 3)
    0.2
    """
    return max(LEAST_GAMMA, float(guess * STEP ** np.round(np.log(gamma / guess) / np.log(STEP))))


def best_ridge(eigenvalues: Array, seen: Array, whole: float, S: float, ridges: Array) -> float | None:
    """The λ of least GCV; None where no λ leaves a degree of freedom.

    eigenvalues, seen : e and t    whole : |T|²    ridges : (R,) λ to try

    >>> best_ridge(np.array([16.0]), np.array([16.0]), 16.0, 50, np.array([0.001, 10.0]))
    0.001
    """
    outside = max(0.0, whole - float(seen.sum()))  # along no eigenvector: no λ brings it back
    missed = ridges[:, None] / (eigenvalues + ridges[:, None])
    free = S - 1 - (1 - missed).sum(axis=1)
    errors = np.divide(missed**2 @ seen + outside, free**2, out=np.full(len(ridges), np.inf), where=free > _LEAST_FREE * S)
    best = int(np.argmin(errors))
    return float(ridges[best]) if np.isfinite(errors[best]) else None


def _spectrum(rows: CentredRows, some: Array, s: Array, T: Array) -> tuple[Array, Array]:
    """e and t, among the features where these are fewer than the samples."""
    n, d = len(some), rows.shape[1]
    whole = rows.data.take(some)

    def columns(part: slice) -> Array:
        X: Array = whole[:, part] - rows.mean[part].astype(rows.dtype)
        X[:, rows.constant[part]] = 0
        return _centred(X, s)

    if d <= n:
        X = columns(slice(0, d)).astype(np.float64)
        e, V = scipy.linalg.eigh(X.T @ X, check_finite=False)
        e = np.maximum(e, 0)
        seen = ((V.T @ (X.T @ T)) ** 2).sum(axis=1)
        return e, np.divide(seen, e, out=np.zeros_like(seen), where=e > _NOTHING * e[-1])
    G = np.zeros((n, n))
    for product in rows.engine.map(lambda part: _square(columns(part)), spans(d, _COLUMNS)):
        G += product
    e, V = scipy.linalg.eigh(G, overwrite_a=True, check_finite=False)
    return np.maximum(e, 0), ((V.T @ T) ** 2).sum(axis=1)


def _square(X: Array) -> Array:
    product: Array = X @ X.T
    return product


def _centred(X: Array, s: Array) -> Array:
    """Less its weighted mean, times √s, in the type of X."""
    X = X - (s @ X / s.sum()).astype(X.dtype)
    X *= np.sqrt(s).astype(X.dtype)[:, None]
    return X


def _spread_evenly(samples: Array, d: int) -> Array:
    """Up to 1,000 of them, fewer where each has more than 16,000 numbers."""
    most = min(_MOST_SAMPLES, max(1, _MOST_NUMBERS // d))
    return samples[np.unique(np.linspace(0, len(samples) - 1, min(len(samples), most)).astype(np.intp))]
