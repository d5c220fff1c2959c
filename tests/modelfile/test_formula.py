"""The lines of docs/modelfile.md that predict with NumPy and safetensors alone, against the library."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import BothOrders, LinearSVM, Pool, PooledFeatures, Threshold, save
from poolwise.method.descriptors import Patches
from poolwise.method.whitening import ZCA

TEXT = (Path(__file__).parents[2] / "docs" / "modelfile.md").read_text(encoding="utf-8")
(LINES,) = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "def margins" in block]
QUICK = {"n_patches": 500, "random_state": 0, "n_jobs": 1, "descriptor": Patches(4)}


@pytest.fixture(scope="module")
def margins():
    scope = {}
    exec(LINES, scope)  # noqa: S102  our own document
    return scope["margins"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"n_codes": 5},
        {"n_codes": 4, "n_candidates": 12, "selection": "affinity", "symmetry": None, "pooling": Pool("max", [1, 2])},
        {"n_codes": 4, "n_candidates": None, "symmetry": "mirror", "encoder": "threshold", "scale": "cell"},
        {"n_codes": 4, "n_candidates": None, "whitening": ZCA(rank=9), "encoder": Threshold(0.1, two_sided=True)},
        {"n_codes": 5, "n_candidates": 12, "symmetry": "mirror", "pooling": BothOrders([1, 2], 3)},
        {
            "n_codes": 4,
            "n_candidates": None,
            "symmetry": None,
            "encoder": "threshold",
            "pooling": BothOrders(2, 9, "max"),
            "scale": "cell",
        },
        {
            "n_codes": 4,
            "n_candidates": None,
            "descriptor": Patches((3, 5), stride=2),
            "whitening": None,
            "pooling": Pool("max", 2),
        },
    ],
)
def test_margins(margins, photos, tmp_path, settings, slim):
    images, labels = photos[:40, :12, :14], np.array(["a", "b", "c"])[np.arange(40) % 3]
    model = make_pipeline(PooledFeatures(**QUICK | settings), LinearSVM()).fit(images, labels)
    save(model, tmp_path / "model.safetensors", slim=slim)
    found, classes = margins(tmp_path / "model.safetensors", images)
    expected = model.decision_function(images)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    assert [classes[best] for best in found.argmax(axis=1)] == model.predict(images).tolist()


def test_it_needs_nothing_of_ours():
    assert set(re.findall(r"^(?:import|from) (\w+)", LINES, re.MULTILINE)) == {"json", "numpy", "safetensors"}
