from pathlib import Path

import numpy as np
import pytest

from poolwise import KMeans, Patches, Threshold, save

from settings import paper_features

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="session")
def images():
    """Small ones, so that a file is a few kilobytes: (40, 12, 12, 1)."""
    return np.random.default_rng(0).integers(0, 256, size=(40, 12, 12, 1), dtype=np.uint8)


@pytest.fixture(scope="session")
def model(images):
    """Everything a model can have: candidates, messages, a projection, two sides, parts as objects."""
    parts = {"descriptor": Patches(4), "encoder": Threshold(0.25, two_sided=True), "dictionary": KMeans(max_iter=5)}
    return paper_features(5, 16, **parts, n_patches=1000, random_state=0).fit(images)


@pytest.fixture(scope="session")
def raw(model, tmp_path_factory):
    """Its file."""
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    save(model, path, provenance={"images": 40})
    return path.read_bytes()


@pytest.fixture(scope="session")
def golden():
    """The frozen files of format 1, by kind."""
    return {kind: (GOLDEN / f"1-{kind}.safetensors").read_bytes() for kind in ("features", "pipeline", "searched")}
