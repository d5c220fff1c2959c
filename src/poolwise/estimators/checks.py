"""What the estimators share around `fit`."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


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
