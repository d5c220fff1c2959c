"""From a folder of pictures to labels in five commands, those of the README but for a shorter search, in a real shell."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

from poolwise import load

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_five_commands(tmp_path):
    (lines,) = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert [line.split()[1] for line in lines.splitlines()] == ["demo", "tune", "evaluate", "predict", "report"]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", lines.replace("poolwise tune ", "poolwise tune --trials 2 --codes 16 ")],  # for time
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
    assert load(tmp_path / "photos.safetensors")[0].n_codes <= 16
    for page in ("search.html", "report.html"):
        assert (tmp_path / page).read_text(encoding="utf-8").rstrip().endswith("</html>")
    made = {"photos", "photos.safetensors", "search.html", "labels.csv", "report.html"}
    assert set(os.listdir(tmp_path)) == made
