"""`poolwise card`: what a shared model's README says, and that it shows strangers' text as text and names no path."""

import re

import numpy as np
import pytest
from markdown_it import MarkdownIt
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, Patches, PooledFeatures, StackedFeatures, save
from poolwise.report.card import escaped

from small import QUICK

HEADINGS = ["What it is", "What it was learned from", "How good it is", "What it costs", "Limits", "How to run it"]
HOSTILE = ["<script>alert(1)</script>", "- [a](javascript:b) | **c** `d` &lt;", "1. # e_f_\n> g"]


def rendered(card):
    return MarkdownIt("commonmark").enable("table").render(card)


def test_without_images(poolwise, made):
    done = poolwise("card", made.model, "--quiet")
    assert (done.code, done.err) == (0, "")
    page = rendered(done.out)
    assert re.findall(r"<h2>(.*)</h2>", page) == HEADINGS
    assert re.findall(r"<h1>(.*)</h1>", page) == ["model.safetensors"]
    assert "Its 3 labels: cat, grass, page." in page
    assert "<td>images</td>\n<td>60</td>" in page
    assert "poolwise predict model.safetensors images -o labels.csv" in page
    assert "poolwise export model.safetensors -o model.onnx" in page
    assert "poolwise export model.safetensors -o page.html" in page
    assert "million multiplications" in page
    assert "roots" not in page
    assert str(made.home) not in done.out


def test_with_images(poolwise, made, tmp_path):
    output = tmp_path / "README.md"
    done = poolwise("card", made.model, made.test, "-o", output, "--quiet")
    assert done.code == 0, done.err
    card, told = output.read_text(encoding="utf-8"), poolwise("evaluate", made.model, made.test, "--quiet").out
    share = re.search(r"accuracy +([\d.]+) %", told)[1]
    assert f"**{share}%** ±" in card
    assert "of 30 images got their own label" in card
    assert "fitted on, so" not in card
    assert all(f"<td>{name}</td>\n<td>10</td>" in rendered(card) for name in ("cat", "grass", "page"))
    assert "images per second on the machine that made this card" in card
    assert str(made.home) not in card
    assert "fitted on, so this says little" in poolwise("card", made.model, made.train, "--quiet").out


def test_features_alone_and_what_cannot_be_exported(poolwise, made, tmp_path):
    out = poolwise("card", made.features, "--quiet").out
    assert "It has no classifier" in out
    assert "poolwise transform features.safetensors images -o features.npy" in out
    done = poolwise("card", made.features, made.test, "--quiet")
    assert (done.code, done.out) == (3, "")
    words = [word for word in QUICK if word not in ("--alpha", "0.25", "--one-sided", "--pool", "average")]
    more = ("--encoder", "llc", "--pool", "second_order", "--classifier", "none")
    assert poolwise("fit", made.train, "-o", tmp_path / "llc.safetensors", *words, *more).code == 0
    out = poolwise("card", tmp_path / "llc.safetensors", "--quiet").out
    assert "It cannot be exported to ONNX: encoder='llc'" in out
    assert "It cannot be exported as a page for browsers: a page cannot compute LLC" in out
    assert "matrix roots or logarithms are not counted" in out


@pytest.mark.parametrize(
    ("settings", "channels", "reasons"),
    [
        ({"nodata": 0}, 3, {"ONNX": "nodata=0", "a page for browsers": "a page does not leave out pixels without data"}),
        ({}, 5, {"a page for browsers": "a page reads pictures of 1 or 3 channels; this model is for 5"}),
        ({"statistics": True}, 1, {}),
        ("stack", 3, {"a page for browsers": "a page runs a PooledFeatures"}),
    ],
)
def test_whether_it_can_be_exported_is_what_export_does(poolwise, rng, tmp_path, settings, channels, reasons):
    images, few = rng.integers(1, 256, (20, 12, 12, channels), dtype=np.uint8), {"n_patches": 500, "random_state": 0}
    one = [PooledFeatures(4, None, pooling="max", descriptor=Patches(size), **few) for size in (4, 2)]
    model = StackedFeatures(one) if settings == "stack" else one[0].set_params(**settings)
    path = tmp_path / "model.safetensors"
    save(model.fit(images), path)
    card = poolwise("card", path, "--quiet").out
    found = dict(re.findall(r"It cannot be exported (?:to|as) (ONNX|a page for browsers): (.*)", card))
    assert found.keys() == reasons.keys()
    assert all(found[name].replace("\\", "").startswith(reason) for name, reason in reasons.items())
    for ending, name in ((".onnx", "ONNX"), (".html", "a page for browsers")):
        done = poolwise("export", path, "-o", tmp_path / f"made{ending}", "--quiet")
        assert (done.code == 0) == (name not in reasons), done.err
        assert (f"-o {'model' if name == 'ONNX' else 'page'}{ending}" in card) == (done.code == 0)


def test_hostile_labels_and_names_show_as_text(poolwise, photos, tmp_path):
    """What HTML comes out has the labels' text, escaped, and no tag or link of theirs."""
    labels = np.array(HOSTILE)[np.arange(30) % 3]
    model = make_pipeline(PooledFeatures(4, None, n_patches=500, random_state=0), LinearSVM()).fit(photos[:30], labels)
    path = tmp_path / "a_b_c `<i>.safetensors"
    save(model, path, provenance={"source": "/home/ann", "images": 30, "resize": "<img>"})
    from poolwise.cli.commands.inspect import part_lines, summarize
    from poolwise.modelfile import describe
    from poolwise.report.card import model_card

    described = describe(path)
    counts = np.array([[5, 3, 2], [1, 9, 0], [0, 4, 6]])
    evaluation = {
        "accuracy": 20 / 30,
        "images": 30,
        "skipped": 1,
        "images_per_second": 10.0,
        "per_class": {name: {"accuracy": 0.5, "images": 10} for name in HOSTILE},
        "confusion": counts.tolist(),
    }
    refused = {".onnx": "<b>`no`</b> [a](b)", ".html": None}
    card = model_card(path.name, summarize(path, described), part_lines(described), {}, refused=refused, evaluation=evaluation)
    page = rendered(card)
    assert "&lt;b&gt;`no`&lt;/b&gt; [a](b)." in page
    for tag in ("<b>", "<script", "<img", "<i>", "<a ", "<blockquote", "<strong>c"):
        assert tag not in page
    assert page.count("<li>") == rendered(card.replace("1. #", "")).count("<li>")
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 5
    assert page.count("**c** `d` &amp;lt;") == 5
    assert "66.7%" in page
    assert "could not be used: 1 file." in page
    assert poolwise("card", path, "--quiet").out.count("/home") == 0


def test_escaped_text_is_what_is_shown():
    for text in (*HOSTILE[:2], "a\\*b", "~~x~~ $y$ :z: @w #1", "".join(map(chr, range(33, 127)))):
        shown = re.sub("<[^>]*>", "", rendered(f"- {escaped(text)}"))
        assert shown.strip() == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-o", "card.txt"), "card.txt does not end in .md"),
        (("--resize", "32"), "--resize is for IMAGES, but there are none"),
    ],
)
def test_usage(poolwise, made, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = poolwise("card", made.model, *words)
    assert done.code == 2
    assert says in done.err


def test_the_name_of_a_data_set_stays(poolwise, cifar, tmp_path):
    model = tmp_path / "model.safetensors"
    assert poolwise("fit", "cifar10", "-o", model, *QUICK).code == 0
    out = poolwise("card", model, "cifar10:train", "--quiet").out
    assert "| data set | cifar10:train |" in out
    assert "images of cifar10\\:train got their own label" in out
    assert "Please add it here" not in out
    assert "fitted on, so this says little" in out
