"""What the estimators share around `fit`."""

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from poolwise.method.selection.choosing import Selection
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
