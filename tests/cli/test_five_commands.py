"""From a folder of pictures to labels in five commands, those of the README but for fewer patches, in a real shell."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from poolwise import load

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_five_commands(tmp_path):
    (lines,) = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert [line.split()[1] for line in lines.splitlines()] == ["demo", "fit", "evaluate", "predict", "transform", "inspect"]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", lines.replace("poolwise fit ", "poolwise fit --patches 20000 ")],  # a tenth, for time
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"accuracy +([\d.]+) %", done.stdout)[1]) > 60  # chance is 6 %
    with (tmp_path / "labels.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 1600
    assert np.load(tmp_path / "features.npy").shape == (1600, load(tmp_path / "photos.safetensors")[0].layer_.n_features)
    with Image.open(tmp_path / "codes.png") as picture:
        assert min(picture.size) > 100
    made = {"photos", "photos.safetensors", "labels.csv", "features.npy", "codes.png"}
    assert set(os.listdir(tmp_path)) == made
