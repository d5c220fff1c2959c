"""What the estimators share around `fit`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import column_or_1d

from poolwise.engine.shards import Shards
from poolwise.method.selection.choosing import Selection
from poolwise.support.types import Array
from poolwise.support.warning import warn_user


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever goes wrong inside, an interrupt too, leaves the estimator as it was: scikit-learn's checks write into it."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def warn_if_restless(found: Selection) -> None:
    """A warning where affinity propagation did not converge; there are exactly K codes all the same."""
    messages = found.propagation
    if messages is not None and not messages.converged:
        warn_user(
            f"affinity propagation did not come to rest in {messages.rounds} rounds; the {len(found.selected)} exemplars are "
            f"its closest state after {messages.merges} merges, {messages.splits} splits and {messages.swaps} swaps. That is a "
            f"valid selection; selection='kmedoids' has the same objective and needs no messages.",
            ConvergenceWarning,
        )


def checked_labels(estimator: BaseEstimator, X: Shards, y: Any) -> Array:
    """What scikit-learn's checks do where X is an array: y as (n,), and what is remembered of X."""
    y = column_or_1d(y, warn=True)
    if len(y) != len(X):
        raise ValueError(f"there are {len(X):,} rows of features, but {len(y):,} labels; give one label for each row")
    estimator.n_features_in_ = X.shape[1]
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return np.asarray(y)


def check_width(estimator: BaseEstimator, X: Shards) -> None:
    """A ValueError where they are not as wide as those that the estimator has learned from."""
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"rows have {X.shape[1]:,} features, but this model was fitted on {estimator.n_features_in_:,}")
