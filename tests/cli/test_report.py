"""`poolwise report`, and `--report` of other commands."""

import json
import os
import re

import numpy as np
import pytest
from PIL import Image

from poolwise import load
from poolwise.images import open_images

from small import PAST_THE_PAPER, QUICK


def data(path):
    """What the page's script reads."""
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_a_model_with_labelled_images(made, poolwise, tmp_path):
    page = tmp_path / "r.html"
    done = poolwise("report", made.chosen, made.test, "-o", page, "--jobs", "1", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    evaluated = json.loads(poolwise("evaluate", made.chosen, made.test, "--json", "--quiet").out)
    inspected = json.loads(poolwise("inspect", made.chosen, "--json").out)
    assert told["accuracy"] == evaluated["accuracy"]
    assert told["multiply_adds"] == inspected["multiply_adds"]
    assert (told["images"], told["missing"], told["bytes"]) == (30, {}, os.path.getsize(page))
    shown = data(page)
    assert shown["classes"] == ["cat", "grass", "page"]
    assert all(re.fullmatch(r"(cat|grass|page)/\d{5}\.png", name) for name in shown["regions"]["names"])
    assert f"{100 * told['accuracy']:.1f}" in page.read_text(encoding="utf-8")
    assert "poolwise fit" in page.read_text(encoding="utf-8")  # where it came from


@pytest.mark.parametrize("more", PAST_THE_PAPER.values(), ids=PAST_THE_PAPER)
def test_a_model_with_parts_past_the_paper(made, poolwise, tmp_path, more):
    path, page = tmp_path / "m.safetensors", tmp_path / "r.html"
    assert poolwise("fit", made.train, "-o", path, *QUICK, "--candidates", "16", *more).code == 0
    done = poolwise("report", path, made.test, "-o", page, "--jobs", "1", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    shown, model = json.loads(done.out), load(path)
    assert shown["missing"] == {}
    assert shown["accuracy"] == json.loads(poolwise("evaluate", path, made.test, "--json").out)["accuracy"]
    assert shown["multiply_adds"] == json.loads(poolwise("inspect", path, "--json").out)["multiply_adds"]
    features = model[0]
    C, M = features.covariance_, 16
    seen = np.concatenate([features.selected_ + start for start in range(0, len(C), M)])
    left = np.trace(C - C[:, seen] @ np.linalg.pinv(C[np.ix_(seen, seen)]) @ C[seen]) / np.trace(C)
    assert shown["unexplained"] == pytest.approx(left, abs=1e-6)
    items = data(page)["regions"]["items"]
    assert [len(code) > 0 for code in items] == (largest_activations(features.layer_, open_images(made.test)[:]) > 0).tolist()


def largest_activations(layer, images):
    """(K,) the largest activation of each code's first output."""
    P = layer.descriptor(images.astype(np.float64))
    F = layer.encoder(layer.whitening(P.reshape(-1, P.shape[-1])), layer.codes.astype(np.float64))
    return F[:, : len(layer.codes)].max(axis=0)


def test_the_first_sentence_names_symmetry_labels_thresholds_and_second_order(made, poolwise, tmp_path):
    path, page = tmp_path / "m.safetensors", tmp_path / "r.html"
    assert poolwise("fit", made.train, "-o", path, *QUICK, "--candidates", "16", *PAST_THE_PAPER["all"]).code == 0
    assert poolwise("report", path, "-o", page, "--quiet").code == 0
    assert (
        "It looks at 32×32 colour images through 8 small patterns of 6×6 pixels, kept of 16 because together they predict the "
        "labels best, and notes how strongly every two of them are present together, above each of the thresholds 0.25 and 1, "
        "in each of 4 parts of the image: 544 numbers per image, the same for its mirror image, from which a classifier tells "
        "3 classes apart."
    ) in page.read_text(encoding="utf-8")


def test_without_images_it_says_what_is_missing(made, poolwise, tmp_path):
    done = poolwise("report", made.chosen, "-o", tmp_path / "r.html", "--quiet")
    assert done.code == 0
    assert "open it in a browser" in done.out
    assert "Give images to see which of their regions" in done.out
    assert data(tmp_path / "r.html")["regions"] is None


def test_images_it_was_fitted_on_are_named(made, poolwise, tmp_path):
    poolwise("report", made.model, made.train, "-o", tmp_path / "r.html", "--quiet")
    assert "which it has learned from" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_grey_and_resized_as_the_model_was(made, poolwise, tmp_path):
    done = poolwise("report", made.resized, made.test, "-o", tmp_path / "r.html", "--quiet", "--json")
    assert done.code == 0
    assert json.loads(done.out)["images"] == 30


def test_names_with_quotes_and_tags(made, poolwise, tmp_path):
    folder = tmp_path / "in"
    (folder / "cat").mkdir(parents=True)
    for name in ('a"b.png', "<img src=x onerror=alert(1)>.png"):
        Image.new("RGB", (32, 32), (9, 99, 199)).save(folder / "cat" / name)
    assert poolwise("report", made.features, folder, "-o", tmp_path / "r.html", "--quiet").code == 0
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<img src=x" not in html
    assert sorted(data(tmp_path / "r.html")["regions"]["names"]) == ["cat/<img src=x onerror=alert(1)>.png", 'cat/a"b.png']


def test_unknown_labels_and_no_labels(made, poolwise, tmp_path):
    (tmp_path / "in" / "dog").mkdir(parents=True)
    Image.new("RGB", (32, 32)).save(tmp_path / "in" / "dog" / "1.png")
    done = poolwise("report", made.model, tmp_path / "in", "-o", tmp_path / "r.html", "--quiet")
    assert done.code == 3
    assert "does not know the label 'dog'" in done.err
    assert poolwise("report", made.model, tmp_path / "in", "-o", tmp_path / "r.html", "--quiet", "--no-labels").code == 0
    assert 'id="confusion"' not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_plan_is_drawn(made, poolwise, tmp_path):
    rows = [{"codes": 25, "accuracy": 0.5, "kind": "measured"}, {"codes": 50, "accuracy": 0.6, "kind": "predicted"}]
    (tmp_path / "plan.json").write_text(json.dumps({"methods": [{"name": "K-means", "rows": rows}]}), encoding="utf-8")
    done = poolwise("report", made.chosen, "-o", tmp_path / "r.html", "--plan", tmp_path / "plan.json", "--quiet")
    assert done.code == 0
    assert "Accuracy over budget" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-o", "r.txt"), 2, "does not end in .html"),
        (("-o", "no/r.html"), 2, "No such file"),
        (("-o", "r.html", "--resize", "8x8"), 2, "--resize is for IMAGES"),
        (("-o", "r.html", "--no-labels"), 2, "--labels is for IMAGES"),
        (("-o", "r.html", "--plan", "none.json"), 3, "none.json"),
        (("-o", "r.html", "--plan", "bad.json"), 3, "bad.json is not a plan"),
        (("nothing", "-o", "r.html"), 3, "nothing"),
    ],
)
def test_mistakes(made, poolwise, tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"methods": 3}', encoding="utf-8")
    done = poolwise("report", made.chosen, *arguments)
    assert done.code == code
    assert said in done.err
    assert not (tmp_path / "r.html").exists()


def test_not_a_model(poolwise, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(b"nothing")
    assert poolwise("report", tmp_path / "m.safetensors", "-o", tmp_path / "r.html").code == 3


def test_fit_with_a_report(made, poolwise, tmp_path):
    page = tmp_path / "r.html"
    done = poolwise(
        "fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, "--candidates", "16", "--slim", "--report", page
    )
    assert (done.code, done.err) == (0, "")
    assert f"report      {page}" in done.out
    assert len(data(page)["members"]) == 8  # all is known, though the file is slim
    assert "which it has learned from" in page.read_text(encoding="utf-8")
    assert poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", "--report", tmp_path / "r.pdf").code == 2


def test_demo_with_a_report(poolwise, tmp_path):
    page = tmp_path / "r.html"
    more = ("--codes", "4", "--runs", "1", "--quiet", "--json")
    done = poolwise("demo", "-o", tmp_path / "d.png", "--report", page, "--trials", "0", *more)
    assert done.code == 0
    assert json.loads(done.out)["report"] == str(page)
    assert "Accuracy over budget" in page.read_text(encoding="utf-8")
    assert len(data(page)["classes"]) == 16
