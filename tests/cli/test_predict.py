"""`poolwise predict`: path, label and margins, as CSV or JSON lines, streamed."""

import csv
import json

import numpy as np
import pytest

from poolwise import load
from poolwise.images import open_images

from small import QUICK


def test_csv_on_stdout(made, poolwise):
    done = poolwise("predict", made.model, made.test, "--quiet")
    assert (done.code, done.err) == (0, "")
    header, *rows = csv.reader(done.out.splitlines())
    images, model = open_images(made.test), load(made.model)
    assert header == ["path", "label", "margin_cat", "margin_grass", "margin_page"]
    assert [row[0] for row in rows] == images.names
    assert [row[1] for row in rows] == model.predict(images).tolist()
    margins = np.array([row[2:] for row in rows], float)
    np.testing.assert_allclose(margins, model.decision_function(images), rtol=1e-4)


@pytest.mark.parametrize("how", [("-o", "out.jsonl"), ("-o", "out.txt", "--format", "jsonl")])
def test_json_lines_in_a_file(made, poolwise, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    done = poolwise("predict", made.model, made.test, *how)
    assert done.code == 0
    told = [json.loads(line) for line in (tmp_path / how[1]).read_text().splitlines()]
    assert len(told) == 30
    assert all(max(one["margins"], key=one["margins"].get) == one["label"] for one in told)


def test_two_classes_have_two_margins(made, poolwise, tmp_path, three_classes):
    images, labels = three_classes["train"]
    np.savez(tmp_path / "d.npz", x=images[:40], y=(labels[:40] == "cat").astype(int))
    assert poolwise("fit", tmp_path / "d.npz", "-o", tmp_path / "m.safetensors", *QUICK).code == 0
    done = poolwise("predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "--format", "jsonl")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [one["path"] for one in told] == list(range(40))
    assert [one["label"] for one in told] == load(tmp_path / "m.safetensors").predict(images[:40]).tolist()
    assert all(one["margins"]["0"] == -one["margins"]["1"] for one in told)


def test_small_batches_give_the_same(made, poolwise, monkeypatch):
    whole = poolwise("predict", made.model, made.test).out
    monkeypatch.setattr("poolwise.method.extraction._BYTES_PER_BLOCK", 1 << 16)
    monkeypatch.setattr("poolwise.analysis.accuracy._ROWS_CLASSIFIED", 7)
    assert [row[:2] for row in csv.reader(poolwise("predict", made.model, made.test).out.splitlines())] == [
        row[:2] for row in csv.reader(whole.splitlines())
    ]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (("-o", "out.txt"), "does not end in .csv or .jsonl"),
        (("-o", "out.csv", "--format", "jsonl"), "contradicts the name"),
        (("--format", "xml"), "'xml' is not one of"),
        (("-o", "no/out.csv"), "No such file"),
    ],
)
def test_usage(made, poolwise, tmp_path, monkeypatch, how, message):
    monkeypatch.chdir(tmp_path)
    done = poolwise("predict", made.model, made.test, *how)
    assert done.code == 2
    assert message in done.err


def test_a_file_name_that_is_no_text_keeps_its_bytes(made, poolwise, tmp_path):
    import os
    import shutil

    name = os.fsencode(tmp_path) + b"/caf\xe9.png"
    source = f"{made.test}/{open_images(made.test).names[0]}"
    try:
        shutil.copy(source, name)
    except OSError:
        pytest.skip("this file system has no such names")
    assert poolwise("predict", made.model, tmp_path, "-o", tmp_path / "out.csv").code == 0
    assert b"caf\xe9.png," in (tmp_path / "out.csv").read_bytes()
