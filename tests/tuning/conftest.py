"""Small photos of three pictures with labels, and searches of them."""

import numpy as np
import pytest

from poolwise.datasets import load_photos


@pytest.fixture(scope="session", autouse=True)
def few_patches():
    """Codes of few patches: searches are here for what they do, not for how good they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("poolwise.tuning.banks.PATCHES", 1500)
        yield


@pytest.fixture(scope="session")
def small():
    """75 photos of three pictures at 16×16, (75, 16, 16, 3) uint8, and their labels."""
    photos = load_photos(subset="train")
    rows = np.concatenate([np.flatnonzero(photos.target == c)[:25] for c in (0, 3, 7)])
    return photos.images[rows, 8:24, 8:24], photos.target_names[photos.target[rows]]


@pytest.fixture(scope="session")
def numbers(small):
    """A number for each: the mean brightness of its left half, times a hundred."""
    return small[0][:, :, :8].mean(axis=(1, 2, 3)).astype(np.float64) * 100.5
