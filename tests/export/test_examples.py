"""The examples of docs/export.md, each in a process that knows nothing of poolwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures, export_onnx

from exporting import QUICK

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WITHOUT_POOLWISE = """
import runpy, sys
sys.path[:] = [place for place in sys.path if place != {source!r}]
sys.modules["poolwise"] = None  # an import of it is an error
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def labels_of(photos, tmp_path_factory):
    """A folder with model.onnx, images.npy and pixels.bin, and the lines that every example should print."""
    folder = tmp_path_factory.mktemp("examples")
    images, labels = photos[:40, :12, :14], np.array(["cat", "ü &c", "x"])[np.arange(40) % 3]
    model = make_pipeline(PooledFeatures(**QUICK), LinearSVM(n_jobs=1)).fit(images, labels)
    export_onnx(model, folder / "model.onnx", layout="NHWC")
    export_onnx(model, folder / "planes.onnx", dtype="float32")
    np.save(folder / "images.npy", images)
    images.tofile(folder / "pixels.bin")
    return folder, model.predict(images).tolist(), model.decision_function(images).max(axis=1)


def check(printed, labels, margins):
    found = [line.split("\t") for line in printed.splitlines()]
    assert [label for label, _ in found] == labels
    assert np.allclose([float(margin) for _, margin in found], margins, atol=2e-4)


@pytest.mark.parametrize("model", ["model.onnx", "planes.onnx"])
def test_python(labels_of, model):
    folder, *expected = labels_of
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", WITHOUT_POOLWISE.format(source=str(ROOT / "src")), EXAMPLES / "onnx_python.py"]
    done = subprocess.run(
        [*command, folder / model, folder / "images.npy"], env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    check(done.stdout, *expected)


def test_python_example_imports_onnxruntime_and_numpy_alone():
    text = (EXAMPLES / "onnx_python.py").read_text(encoding="utf-8")
    names = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert names == {"json", "sys", "numpy", "onnxruntime"}


def test_node(labels_of):
    """Where node and the package are: npm install onnxruntime-node in a folder, and NODE_PATH=folder/node_modules."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if subprocess.run([node, "-e", "require.resolve('onnxruntime-node')"], cwd=EXAMPLES, capture_output=True).returncode:
        pytest.skip("onnxruntime-node is not installed: npm install onnxruntime-node, and NODE_PATH names its node_modules")
    folder, *expected = labels_of
    command = [node, EXAMPLES / "onnx_node.js", folder / "model.onnx", folder / "pixels.bin", "12", "14", "3"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    check(done.stdout, *expected)


def test_the_docs_mention_what_is_there():
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    for name in ("features", "margins", "probabilities", "label_index", "label", "images"):
        assert f"`{name}`" in text
    for example in EXAMPLES.iterdir():
        assert f"../examples/{example.name}" in text
