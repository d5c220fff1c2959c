"""How accuracy grows with the number of codes (paper, the curves: the diagonal, plain K-means).

    accuracy(K) = a + b x,   x = K^(-1/4)

    a : the limit for K -> ∞    b : below 0 where accuracy rises    K : codes

Two numbers, fitted by ordinary least squares with the same weight for every run. The law is what was found on CIFAR-10, not a
theorem: nothing keeps a + b x between 0 and 1, and predictions are not clipped, so that a law that does not hold is seen.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import f, t

from poolwise.support.types import Array

POWER = -0.25


@dataclass(frozen=True)
class AccuracyLaw:
    """a + b K^(-1/4), and how sure it is. What `fit_law` gives.

    Attributes
    ----------
    a, b : float
        In the unit of the accuracies given.
    error : float
        Standard deviation of a run about the law: sqrt(sum of squared residuals / (runs - 2)).
    bend : float
        How likely runs of this spread would bend away from the law as much as these do, if it held: the p-value of a further
        term in x², an F test. Below 0.05 the law is doubtful. NaN where three runs leave nothing to test it by.
    curvature : float
        That term's coefficient: below 0 where accuracy rises less and less, so that the law predicts too much; NaN as `bend`.
    runs, centre, spread : int, float, float
        n, the mean of the x, and Σ (x - centre)², which intervals are computed from.
    """

    a: float
    b: float
    error: float
    bend: float
    curvature: float
    runs: int
    centre: float
    spread: float

    def at(self, K: Any) -> Any:
        """Predicted accuracy with K codes; a number or an array of K's shape. Not clipped: it may be above 100 %."""
        return self.a + self.b * _x(K)

    def interval(self, K: Any, level: float = 0.95) -> tuple[Any, Any]:
        """Where the accuracy of one more run with K codes lies in `level` of all cases, if the law holds: (low, high).

            at(K) ± t error sqrt(1 + 1/n + (x - centre)² / spread),   t : the quantile of Student's t with n - 2 degrees

        It accounts for how runs differ and how uncertain a and b are. It does not account for a law that bends before K, nor
        for other test images.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}")
        x = _x(K)
        width = float(t.ppf((1 + level) / 2, self.runs - 2)) * self.error
        width = width * (1 + 1 / self.runs + (x - self.centre) ** 2 / self.spread) ** 0.5
        return self.at(K) - width, self.at(K) + width

    def codes_for(self, accuracy: float) -> float:
        """The K that this accuracy takes: ((accuracy - a) / b)^(-4). inf where the law never reaches it."""
        if accuracy >= self.a or self.b >= 0:
            return math.inf
        return float(((accuracy - self.a) / self.b) ** (1 / POWER))


def fit_law(codes: Any, accuracy: Any) -> AccuracyLaw:
    """Fit a + b K^(-1/4) to the accuracies of dictionaries of several sizes.

    Parameters
    ----------
    codes : (n,)
        K of each run; at least three different ones. Several runs may have the same K.
    accuracy : (n,)
        In any unit: fractions or per cent.

    Returns
    -------
    AccuracyLaw

    Examples
    --------
    What the paper's K-means dictionaries of 100 to 1600 codes predict for 6400, where it measured 81.37 %:

    >>> law = fit_law([100, 200, 400, 800, 1600], [65.19, 69.02, 72.21, 75.26, 77.96])
    >>> print(f"{law.a:.1f} - {-law.b:.1f} K^(-1/4), ± {law.error:.2f}")
    90.4 - 80.3 K^(-1/4), ± 0.23
    >>> print("{:.1f}, from {:.1f} to {:.1f}".format(law.at(6400), *law.interval(6400)))
    81.5, from 80.4 to 82.5
    >>> print(f"{law.codes_for(85):,.0f}")
    47,752
    """
    K, y = np.asarray(codes, np.float64), np.asarray(accuracy, np.float64)
    if K.ndim != 1 or K.shape != y.shape:
        raise ValueError(f"codes and accuracy must be lists of the same length; got shapes {K.shape} and {y.shape}")
    if not np.isfinite(y).all():
        raise ValueError("accuracy must be finite numbers; got NaN or inf among them")
    distinct = len(np.unique(K))
    if distinct < 3:
        raise ValueError(
            f"the law has two unknowns, and needs a third size to show how well it fits: at least 3 different numbers of "
            f"codes; got {distinct}"
        )
    x, n = _x(K), len(K)
    centre = float(x.mean())
    d = x - centre
    spread = float(d @ d)
    b = float(d @ y) / spread
    a = float(y.mean()) - b * centre
    left = _residual(np.stack([np.ones(n), d], axis=1), y)
    bend, curvature = _bend(d, y, left)
    return AccuracyLaw(a, b, math.sqrt(left / (n - 2)), bend, curvature, n, centre, spread)


def _x(K: Any) -> Any:
    K = np.asarray(K, np.float64)
    if not (K > 0).all():
        raise ValueError("numbers of codes must be above 0")
    x = K**POWER
    return float(x) if x.ndim == 0 else x


def _residual(A: Array, y: Array) -> float:
    """The least ‖A c - y‖²; zero where that is rounding."""
    left = float(np.sum((A @ np.linalg.lstsq(A, y)[0] - y) ** 2))
    return left if left > 1e-26 * float(y @ y) else 0.0


def _bend(d: Array, y: Array, left: float) -> tuple[float, float]:
    """p-value and coefficient of a term in x² added to the law."""
    n = len(y)
    if n < 4:
        return math.nan, math.nan
    A = np.stack([np.ones(n), d, d**2], axis=1)
    curvature = float(np.linalg.lstsq(A, y)[0][2])
    bent = _residual(A, y)
    if bent == 0.0:
        return (1.0 if left == 0.0 else 0.0), curvature
    return float(f.sf((left - bent) / (bent / (n - 3)), 1, n - 3)), curvature
