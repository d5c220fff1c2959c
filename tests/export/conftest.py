"""The page's scripts in Node, and small models for them."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from poolwise import KMeans

from settings import paper_features

QUICK = {"n_patches": 1000, "dictionary": KMeans(max_iter=2), "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="session")
def node():
    """Run some scripts of the page, and after them `body`, which makes `result` of `given`."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed; it runs the page's scripts without a browser")

    def run(scripts, body, given):
        assets = files("poolwise.export") / "assets"
        code = "\n".join((assets / name).read_text(encoding="utf-8") for name in scripts)
        code += (
            f"\nconst given = JSON.parse(require('fs').readFileSync(0)); {body}\nprocess.stdout.write(JSON.stringify(result));"
        )
        done = subprocess.run([program, "-e", code], input=json.dumps(given).encode(), capture_output=True)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def few():
    """50 photos of four pictures: images and names."""
    from poolwise.datasets import load_photos

    photos = load_photos(subset="train")
    rows = np.flatnonzero(photos.target < 4)[::16]
    return photos.images[rows], photos.target_names[photos.target[rows]]


@pytest.fixture(scope="session")
def fitted(few):
    """A small model of them, with the paper's parts where no others are given."""

    def fit(**settings):
        labels = few[1] if settings.pop("labelled", False) else None
        return paper_features(**{"n_codes": 9, **QUICK, **settings}).fit(few[0], labels)

    return fit
