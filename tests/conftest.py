"""Fixtures, and the switches that must be set before SciPy is imported."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn skips one of its checks without it
os.environ.pop("PYTHONUNBUFFERED", None)  # commands write as a user's do, whose last lines wait in a buffer

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def photos() -> np.ndarray:
    """160 real images, ten of each picture: (160, 32, 32, 3) uint8."""
    from poolwise.datasets import load_photos

    return load_photos(subset="train").images[::20]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of real data sets, or a skip that says why."""
    home = os.environ.get("POOLWISE_DATA")
    if not home:
        pytest.skip("POOLWISE_DATA is not set: it names the folder with cifar-10-batches-bin")
    return Path(home)


@pytest.fixture(scope="session")
def responses(photos) -> np.ndarray:
    """Pooled activations of 60 real codes, one row per cell of each photo, standardised: (640, 60) float64."""
    from poolwise import KMeans, Standardize

    from settings import paper_features

    model = paper_features(60, n_patches=20_000, dictionary=KMeans(max_iter=20), scale=Standardize(offset=0.0), random_state=0)
    return model.fit_transform(photos).reshape(-1, 60).astype(np.float64)


@pytest.fixture(scope="session")
def C(responses) -> np.ndarray:
    """Their covariance, (60, 60)."""
    return np.cov(responses.T, ddof=0)


@pytest.fixture
def every_stage(monkeypatch):
    """Also stages that take less than two seconds have a line."""
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)


@pytest.fixture
def engine():
    from poolwise.engine.threads import Threads

    with Threads(2) as engine:
        yield engine


@pytest.fixture(scope="session")
def small_cifar(tmp_path_factory) -> Path:
    """A folder with cifar-10-batches-bin: 5 × 60 photos to train, 90 to test, of ten pictures."""
    from poolwise.datasets import load_photos
    from poolwise.datasets.cifar10 import FILES

    home = tmp_path_factory.mktemp("data")
    folder = home / "cifar-10-batches-bin"
    folder.mkdir()
    for subset, per_file in (("train", 60), ("test", 90)):
        photos = load_photos(subset=subset)
        rows = np.flatnonzero(photos.target < 10)
        rows = np.random.default_rng(0).permutation(rows)[: per_file * len(FILES[subset])]
        for name, some in zip(FILES[subset], np.split(rows, len(FILES[subset])), strict=True):
            pixels = photos.images[some].transpose(0, 3, 1, 2).reshape(len(some), -1)
            records = np.hstack([photos.target[some, None].astype(np.uint8), pixels])
            (folder / name).write_bytes(records.tobytes())
    return home
