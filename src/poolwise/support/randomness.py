"""scikit-learn's `random_state` as the generators that the method takes."""

from typing import Any

import numpy as np

from poolwise.support.parameters import NAME, ParameterError


def seed_of(random_state: Any) -> int:
    """A seed: derived from an int, from the next number of a RandomState, or from nothing."""
    from sklearn.utils import check_random_state

    try:
        random = check_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            f"{{random_state}} must be an int in 0..2**32 - 1, a RandomState or None; got {random_state!r}", random_state=NAME
        ) from error
    return int(random.randint(2**32, dtype=np.uint64))


def generator(random_state: Any) -> np.random.Generator:
    """A generator with that seed."""
    return np.random.default_rng(seed_of(random_state))


def choosing_generator(seed: int) -> np.random.Generator:
    """For choosing among candidates: the same draws however much `np.random.default_rng(seed)` has drawn to learn them."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
