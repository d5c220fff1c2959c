"""Text of strangers never steers the terminal; what a model claims never costs minutes or gigabytes."""

import json
import resource
import shutil
import sys
import unicodedata

import pytest

from forge import put_together, read, sign
from small import QUICK

EVIL = "\x1b]0;owned\x07\x1b[2J\r\u202e"


def assert_tame(*texts):
    for text in texts:
        odd = {one for one in text if unicodedata.category(one) in ("Cc", "Cf") and one != "\n"}
        assert not odd, ascii(text)


@pytest.fixture(scope="module")
def hostile(made, tmp_path_factory):
    """Folders whose labels and files have escape sequences in their names, a model of them, and one with forged text."""
    from poolwise.cli import main

    home = tmp_path_factory.mktemp("hostile")
    for part, source in (("train", made.train), ("test", made.test)):
        for label in ("cat", "grass"):
            shutil.copytree(f"{source}/{label}", home / part / f"{label}{EVIL}")
    assert main(["fit", str(home / "train"), "-o", str(home / f"m{EVIL}.safetensors"), *QUICK]) == 0
    document, arrays = read((home / f"m{EVIL}.safetensors").read_bytes())
    document["libraries"] = dict.fromkeys(document["libraries"], f"1{EVIL}")
    document["parts"]["features"]["fitted"]["timings"] = {f"patches{EVIL}": 1.0}
    document["provenance"]["told"] = {f"note{EVIL}": f"text{EVIL}"}
    document["provenance"]["saved"] = f"now{EVIL}"
    (home / f"forged{EVIL}.safetensors").write_bytes(put_together(sign(document, arrays), arrays))
    return home


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inspect", "forged"], 0),
        (["evaluate", "m", "test"], 0),
        (["predict", "m", "test", "-o", "p.csv"], 0),
        (["transform", "m", "test", "-o", "f.npy"], 0),
        (["report", "forged", "test", "-o", "r.html"], 0),
        (["fit", "train", "-o", "again.safetensors", *QUICK], 0),
        (["evaluate", "m", f"no{EVIL}folder"], 3),
        (["inspect", f"no{EVIL}model"], 3),
        (["fit", "train", "-o", f"x{EVIL}.gif"], 2),
        (["fit", "train", "-o", "x.safetensors", "--classifier", f"x{EVIL}"], 2),
        (["fit", "unreadable", "-o", "x.safetensors", *QUICK], 3),
    ],
)
def test_no_command_prints_what_steers(hostile, poolwise, monkeypatch, arguments, code):
    monkeypatch.chdir(hostile)
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    shutil.rmtree("unreadable", ignore_errors=True)
    shutil.copytree("test", "unreadable")
    (hostile / "unreadable" / f"cat{EVIL}" / f"0{EVIL}.png").write_bytes(b"no image")
    done = poolwise(*(f"{word}{EVIL}.safetensors" if word in ("m", "forged") else word for word in arguments))
    assert done.code == code, ascii(done.err)
    assert_tame(done.out, done.err)
    if arguments[0] in ("inspect", "evaluate") or code:
        assert "\\x1b" in done.out + done.err


def test_predict_is_tame_on_a_terminal_and_true_in_a_pipe(hostile, poolwise, monkeypatch):
    arguments = "predict", hostile / f"m{EVIL}.safetensors", hostile / "test", "--quiet"
    assert "cat\x1b]0;owned\x07\x1b[2J" in poolwise(*arguments).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    done = poolwise(*arguments)
    assert_tame(done.out.replace("\r\n", "\n"))
    assert "\\x1b" in done.out


@pytest.mark.parametrize(
    ("image_shape", "grid"),
    [([20_000, 20_000, 3], 2), ([2**20, 2**20, 1], 2), ([3000, 3000, 3], 256), ([280, 280, 3], 256), ([6, 6, 3], 1)],
)
def test_a_report_of_a_forged_model_stays_small(made, poolwise, tmp_path, image_shape, grid, monkeypatch):
    with open(made.features, "rb") as file:
        document, arrays = read(file.read())
    layer = document["parts"]["features"]["layers"][0]
    if image_shape[2] == 1:
        image_shape[2] = layer["image_shape"][2]
    layer["image_shape"], layer["pooling"]["grid"] = image_shape, [{"tuple": [grid, grid]}]
    path = tmp_path / "forged.safetensors"
    path.write_bytes(put_together(sign(document, arrays), arrays))
    assert path.stat().st_size < 170_000
    seen = []

    def count(whole, pixels):
        seen.append(pixels.size)
        return 1.0

    monkeypatch.setattr("poolwise.report.study.milliseconds", count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = poolwise("report", path, "-o", tmp_path / "r.html", "--json", "--quiet")
    assert done.code == 0, done.err
    assert sum(seen) <= 1 << 25
    assert len(seen) == (max(image_shape) <= 3000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
    assert json.loads(done.out)
