"""`AffinitySelector`: the same selection for the columns of any matrix."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from poolwise.engine.blas import thread_count
from poolwise.engine.threads import Threads
from poolwise.estimators.checks import unchanged_on_failure, warn_if_restless
from poolwise.method.selection import UNSUPERVISED, WayName
from poolwise.method.selection.choosing import select
from poolwise.method.statistics import CovarianceStream
from poolwise.support.blocks import spans
from poolwise.support.parameters import Choice, Whole
from poolwise.support.progress import Stages
from poolwise.support.randomness import generator
from poolwise.support.types import Array

_ROWS_PER_BLOCK = 1024


class AffinitySelector(SelectorMixin, BaseEstimator):
    """Keep exactly K features that represent all others: unsupervised selection among redundant columns.

    Features that go up and down together are one cluster, s(i, j) = 2 corr(i, j) - 2, and one of them represents it. A feature
    and its negative count as different; flip signs first if you do not want that.

    Parameters
    ----------
    n_features_to_select : int or None, default=None
        K; None keeps half of the features.
    selection : {"affinity", "kmedoids", "greedy", "cholesky", "random", "authors"}, default="affinity"
        As in `poolwise.method.selection`, on the correlation of the features: none depends on the scale of a column.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads; results do not depend on it.
    verbose : int, default=0
        Show progress on stderr.

    Attributes
    ----------
    labels_ : (n_features,) int
        The cluster of each feature, 0..K-1 in the order of the selected ones.
    exemplar_ : (n_features,) int
        The selected feature that represents it.
    selection_ : poolwise.method.selection.choosing.Selection
        How it went; for "affinity", `selection_.propagation` has the rounds and whether they converged (None where no more
        than K features vary: there was nothing to choose).
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from poolwise import AffinitySelector
    >>> x, y = np.random.default_rng(0).normal(size=(2, 100))
    >>> selector = AffinitySelector(2, random_state=0).fit(np.c_[x, 2 * x, y, x + 0.1 * y, 3 + y])
    >>> selector.labels_, len(selector.get_support(indices=True))
    (array([0, 0, 1, 0, 1]), 2)
    """

    def __init__(
        self,
        n_features_to_select: int | None = None,
        *,
        selection: WayName = "affinity",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose among the columns of X, (n_samples, n_features). y is ignored."""
        with unchanged_on_failure(self):
            Choice(UNSUPERVISED).check("selection", self.selection)
            thread_count(self.n_jobs)
            rng = generator(self.random_state)
            X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
            K = self._count(X.shape[1])
            stages = Stages(bool(self.verbose), "AffinitySelector ")
            with Threads(self.n_jobs) as engine:
                with stages.stage("correlation", len(X)):
                    C = _correlation(X, engine)
                with stages.stage("selection") as update:
                    found = select(C, K, self.selection, rng=rng, engine=engine, update=update)
            warn_if_restless(found)
            self.selection_, self.labels_, self.exemplar_ = found, found.label, found.cluster
        return self

    def _count(self, n_features: int) -> int:
        if self.n_features_to_select is None:
            return max(1, n_features // 2)
        K = Whole().check("n_features_to_select", self.n_features_to_select)
        if K is None or K > n_features:
            raise ValueError(
                f"n_features_to_select={K} features cannot be selected from n_features={n_features}; give at most {n_features}"
            )
        return K

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, np.bool_)
        mask[self.selection_.selected] = True
        return mask


def _correlation(X: Array, engine: Threads) -> Array:
    """(n_features, n_features); 0 in the rows of columns that are constant."""
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    half = high / 2 - low / 2  # the columns are brought to -1..1 first, so that float32 can hold any
    stream = CovarianceStream(X.shape[1], engine)
    for rows in spans(len(X), _ROWS_PER_BLOCK):
        stream.add((X[rows] - (low + half)) / np.where(half > 0, half, 1))
    C = stream.moments().covariance()
    std = np.sqrt(np.diagonal(C))
    C /= np.where(std > 0, std, 1)[:, None]
    C /= np.where(std > 0, std, 1)
    return C
