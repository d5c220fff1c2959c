"""How much of the candidates' covariance the codes kept explain: eigenvalues, exact or nearly."""

from dataclasses import dataclass

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.estimators import PooledFeatures
from poolwise.method.nystrom import approximate_spectrum, leading_spectrum, spectrum, unexplained
from poolwise.support.types import Array

_EXACT_OUTPUTS = 1024
_LEADING_EIGENVALUES = 200
_SEED = 0


@dataclass(frozen=True)
class Spectra:
    """whole : the largest eigenvalues of C, all of them if `is_exact`    approximate : (K,) of its Nyström approximation

    unexplained : trace(C - W C_SS⁺ Wᵀ) / trace(C)
    """

    whole: Array
    is_exact: bool
    approximate: Array
    unexplained: float


def study_spectra(features: PooledFeatures) -> Spectra:
    """Of a model with candidates; exact where C is small, else the largest eigenvalues nearly."""
    candidates = features.require_candidates()
    C, M = candidates.statistics.covariance, len(candidates.codes)
    outputs = (np.arange(0, len(C), M)[:, None] + features.selected_).ravel()  # with labels, C has one output of each code
    is_exact = len(C) <= _EXACT_OUTPUTS
    if is_exact:
        whole = spectrum(C)
    else:
        with Threads(features.n_jobs) as engine:
            whole = leading_spectrum(C, _LEADING_EIGENVALUES, rng=np.random.default_rng(_SEED), engine=engine)
    if len(outputs) == len(C):
        return Spectra(whole, is_exact, whole, 0.0)
    approximate = approximate_spectrum(C, outputs)
    return Spectra(whole, is_exact, approximate, unexplained(C, float(approximate.sum())))
