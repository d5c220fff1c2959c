"""A process that is killed while it saves leaves the old model or the new one."""

import os
import subprocess
import sys

import numpy as np

from poolwise import Patches, load, save

from settings import paper_features

TRIALS = 12

# Forks a child that saves two models over one another without end, kills it at a random moment and looks at the file.
SCRIPT = f"""
import os, random, signal, sys, time
from poolwise import load, save
from poolwise.modelfile import describe
models = [load(name) for name in ("a.safetensors", "b.safetensors")]
save(models[0], "target.safetensors")
random.seed(0)
for trial in range({TRIALS}):
    child = os.fork()
    if child == 0:
        for n in range(10**6):
            save(models[n % 2], "target.safetensors")
    time.sleep(random.uniform(0.001, 0.05))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    found = load("target.safetensors").codes_.tobytes()
    print([found == model.codes_.tobytes() for model in models].index(True), flush=True)
"""


def test_killed_while_saving(images, tmp_path):
    for name, seed in (("a", 0), ("b", 1)):
        model = paper_features(3000, dictionary="gaussian", descriptor=Patches(8), n_patches=3000, random_state=seed).fit(
            images
        )
        save(model, tmp_path / f"{name}.safetensors")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == TRIALS


def test_interrupted_while_saving(model, raw, tmp_path, monkeypatch):
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw)

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("poolwise.modelfile.container.save_file", interrupt)
    try:
        save(model, path)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the interrupt was lost")
    assert path.read_bytes() == raw
    assert os.listdir(tmp_path) == ["m.safetensors"]
    assert np.array_equal(load(path).codes_, model.codes_)
