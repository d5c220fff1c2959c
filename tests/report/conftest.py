"""Small models of real photos, fitted once."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import KMeans, LinearSVM, Threshold

from settings import paper_features

QUICK = {"n_patches": 4000, "dictionary": KMeans(max_iter=6), "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="session")
def labelled():
    """100 photos of four pictures: images and names."""
    from poolwise.datasets import load_photos

    photos = load_photos(subset="train")
    rows = np.flatnonzero(photos.target < 4)[::8]
    return photos.images[rows], photos.target_names[photos.target[rows]]


@pytest.fixture(scope="session")
def pipeline(labelled):
    """10 of 40 codes, and a classifier."""
    return make_pipeline(paper_features(10, 40, **QUICK), LinearSVM(n_jobs=1)).fit(*labelled)


@pytest.fixture(scope="session")
def chosen(pipeline):
    return pipeline[0]


@pytest.fixture(scope="session")
def two_sided(labelled):
    return paper_features(6, 20, encoder=Threshold(0.25, two_sided=True), **QUICK).fit(labelled[0])


@pytest.fixture(scope="session")
def plain(labelled):
    return paper_features(9, **QUICK).fit(labelled[0])
