import numpy as np
import pytest

from poolwise import PooledFeatures, save


@pytest.fixture(scope="session")
def images():
    """Small ones, so that a file is a few kilobytes: (40, 12, 12, 1)."""
    return np.random.default_rng(0).integers(0, 256, size=(40, 12, 12, 1), dtype=np.uint8)


@pytest.fixture(scope="session")
def model(images):
    """Everything a model can have: candidates, messages, a transform, two sides."""
    return PooledFeatures(5, 16, patch_size=4, two_sided=True, n_patches=1000, max_iter=5, random_state=0).fit(images)


@pytest.fixture(scope="session")
def raw(model, tmp_path_factory):
    """Its file."""
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    save(model, path, provenance={"images": 40})
    return path.read_bytes()
