"""Real photos as a data set with folds, small enough for a test."""

import numpy as np
import pytest

from poolwise.datasets import load_photos
from poolwise.reproduction.protocols import Data, Protocol


@pytest.fixture(scope="session")
def data():
    """160 photos to train, 80 to test, and two folds."""
    train, test = (load_photos(subset=subset) for subset in ("train", "test"))
    some, other = slice(None, None, 20), slice(None, None, 20)
    folds = (np.arange(0, 160, 2), np.arange(1, 160, 2))
    return Data(train.images[some], train.target[some], test.images[other], test.target[other], folds=folds)


@pytest.fixture(scope="session")
def protocol(data):
    """A protocol of these photos, with settings that take a second."""
    return Protocol("photos", lambda home: data, {"n_patches": 4_000, "dictionary__max_iter": 5})
