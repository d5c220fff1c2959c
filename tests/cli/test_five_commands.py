"""From a folder of pictures to labels in five commands, as the README has them, in a real shell."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from poolwise.datasets import load_photos

from small import write_pngs

README = Path(__file__).parents[2] / "README.md"
OTHERWISE = """
poolwise fit photos/train -o photos.safetensors --codes 32 --candidates 256 --seed 0
poolwise evaluate photos.safetensors photos/test
poolwise predict photos.safetensors photos/test -o labels.csv
poolwise transform photos.safetensors photos/test -o features.npy
poolwise inspect photos.safetensors --codes codes.png
"""


def commands(text):
    """The lines of the first block, fenced or indented, that starts with `poolwise fit`; else the five above."""
    fenced = re.findall(r"^```(?:\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^    .*\n?)+", text, re.MULTILINE)]
    blocks = [block for block in (*fenced, *indented) if re.match(r"(?:\$ )?poolwise fit", block)]
    return re.sub(r"^\$ ", "", blocks[0] if blocks else OTHERWISE, flags=re.MULTILINE)


@pytest.mark.parametrize("block", ["```sh\npoolwise fit x\nls\n```\n", "text\n\n    poolwise fit x\n    ls\n\ntext\n"])
def test_the_block_is_found_however_it_is_set(block):
    assert commands(f"# Title\n\n```python\nx\n```\n\n{block}").split("\n")[:2] == ["poolwise fit x", "ls"]


def test_five_commands(tmp_path):
    for subset, count in (("train", 25), ("test", 10)):
        photos = load_photos(subset=subset)
        rows = np.concatenate([np.flatnonzero(photos.target == label)[:count] for label in range(16)])
        write_pngs(tmp_path / "photos" / subset, photos.images[rows], photos.target_names[photos.target[rows]])
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands(README.read_text(encoding="utf-8"))],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"accuracy +([\d.]+) %", done.stdout)[1]) > 40  # chance is 6 %
    with (tmp_path / "labels.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 160
    assert np.load(tmp_path / "features.npy").shape == (160, 128)
    assert Image.open(tmp_path / "codes.png").format == "PNG"
    made = {"photos", "photos.safetensors", "labels.csv", "features.npy", "codes.png"}
    assert set(os.listdir(tmp_path)) == made
