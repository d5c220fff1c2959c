"""scikit-learn's `random_state` as the generator that the rooms take."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def generator(random_state: Any) -> np.random.Generator:
    """A generator seeded by an int, by the next number of a RandomState, or by nothing."""
    try:
        random = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state must be an int in 0..2**32 - 1, a RandomState or None; got {random_state!r}") from error
    return np.random.default_rng(int(random.randint(2**32, dtype=np.uint64)))


def generators(random_state: Any) -> tuple[np.random.Generator, Any]:
    """A generator for learning candidates, and a seed for choosing among them, the same however much the first has drawn."""
    rng = generator(random_state)
    return rng, rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
