"""The page holds the numbers of the model, shows hostile text as text, and leaves out what cannot be known."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures, load, save
from poolwise.analysis.clusters import members_of
from poolwise.method.descriptors.patches import draw_tiles
from poolwise.report import write_report
from poolwise.report.html import as_data

HOSTILE = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Text and elements of a page, as a browser reads it."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.scripts, self.data = [], [], [], None
        self._inside = None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = (tag, dict(attributes)) if tag in ("script", "style") else self._inside

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data):
        if self._inside is None:
            self.text.append(data)
        elif self._inside[1].get("type") == "application/json":
            self.data = json.loads(data)
        elif self._inside[0] == "script":
            self.scripts.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def read(tmp_path):
    def make(*arguments, **more):
        found = write_report(*arguments[:1], tmp_path / "r.html", *arguments[1:], **more)
        html = (tmp_path / "r.html").read_text(encoding="utf-8")
        reader = Reader(html)
        reader.html, reader.found = html, found
        return reader

    return make


def pixels(html, selector):
    """The sprite in the style rule of a selector."""
    rule = rf"(?m)(?:^|<style>){re.escape(selector)}\{{background-image:url\(data:image/\w+;base64,([^)]*)\)"
    address = re.search(rule, html)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address))).convert("RGB"))


def test_clusters_in_the_data_are_those_of_the_model(read, pipeline, labelled):
    page, model = read(pipeline, *labelled), pipeline[0]
    C = model.covariance_
    for rank, code in enumerate(model.selected_):
        members = page.data["members"][rank]
        assert sorted([code, *members]) == np.flatnonzero(model.cluster_ == code).tolist()
        rho = [C[i, code] / np.sqrt(C[i, i] * C[code, code]) for i in members]
        np.testing.assert_allclose(page.data["after"][rank], rho, atol=5.1e-4)
        assert rho == sorted(rho, reverse=True)
        np.testing.assert_allclose(page.data["before"][rank], page.found.clusters.before[members], atol=5.1e-4)


def test_every_code_is_in_the_sprite_twice(read, pipeline):
    page, model = read(pipeline), pipeline[0]
    columns = page.data["sprite"]["columns"]
    natural = draw_tiles(model.layer_.whitening.undo(model.codes_), (6, 6, 3))
    for selector, tiles in (
        (".tile,#exemplar", natural),
        (".whitened .tile,.whitened #exemplar", draw_tiles(model.codes_, (6, 6, 3))),
    ):
        picture = pixels(page.html, selector)
        for tile, at in zip(tiles, page.data["index"], strict=True):
            y, x = 6 * (at // columns), 6 * (at % columns)
            np.testing.assert_array_equal(picture[y : y + 6, x : x + 6], tile)


def test_regions_in_the_sprite_are_of_the_images(read, pipeline, labelled):
    images, names = labelled[0], [f"n{i}" for i in range(len(labelled[0]))]
    page = read(pipeline, *labelled, names=names)
    picture, regions = pixels(page.html, ".region"), page.data["regions"]
    (ph, pw), h, w = page.data["patch"], regions["h"], regions["w"]
    for code, items in enumerate(regions["items"]):
        for rank, (image, y, x) in enumerate(items):
            at = code * regions["count"] + rank
            top, left = h * (at // regions["columns"]), w * (at % regions["columns"])
            patch = picture[top + y : top + y + ph, left + x : left + x + pw]
            source = images[int(regions["names"][image][1:])]
            windows = np.lib.stride_tricks.sliding_window_view(source, (ph, pw, 3)).reshape(-1, ph, pw, 3)
            assert (windows == patch).all(axis=(1, 2, 3)).any()
            assert labelled[1][int(regions["names"][image][1:])] == page.data["classes"][regions["label"][image]]


def test_the_words_give_accuracy_cost_and_error(read, pipeline, labelled):
    page = read(pipeline, *labelled)
    assert f"{100 * pipeline.score(*labelled):.1f} %" in page.words
    assert "through 10 small patterns of 6×6 pixels, kept of 40" in page.words
    assert "tells 4 classes apart" in page.words
    million = (27 * 27 * 108 * 10 + 4 * 10 * 10 + 4 * 40) / 1e6
    assert f"{page.found.multiply_adds['projection']:,}" in page.words
    assert f"{million:.1f}" in page.words or f"{round(million * 1e6):,}" in page.words
    assert f"{100 * page.found.spectra.unexplained:.1f} % of the variance unexplained" in page.words.replace("\u00a0", " ")


def test_the_confusion_matrix_has_the_counts(read, pipeline, labelled):
    page = read(pipeline, *labelled)
    titles = [attributes["title"] for tag, attributes in page.tags if tag == "td" and "title" in attributes]
    classes, confusion = page.found.classes, page.found.accuracy.confusion
    expected = [
        f"{a} taken for {b}: {confusion[i, j]:,} of {confusion[i].sum():,}"
        for i, a in enumerate(classes)
        for j, b in enumerate(classes)
    ]
    assert titles == expected


def test_hostile_labels_and_names_are_text(read, labelled, chosen):
    labels = np.where(labelled[1] == labelled[1][0], HOSTILE, "a\"b'&amp;\u2028")
    model = make_pipeline(chosen, LinearSVM(n_jobs=1).fit(chosen.transform(labelled[0]), labels))
    names = [f'"><img src=x onerror=alert({i})>' for i in range(len(labels))]
    page = read(model, labelled[0], labels, names=names, title=HOSTILE, provenance={HOSTILE: HOSTILE}, budget={4: 0.5, 8: 0.6})
    assert page.html.count("<script") == 2  # the data, and ours
    assert HOSTILE not in page.html
    assert "onerror" not in " ".join(f"{tag} {attributes}" for tag, attributes in page.tags if tag == "img")
    assert HOSTILE in page.text  # as text, wherever it stands
    assert HOSTILE in page.data["classes"]
    assert set(page.data["regions"]["names"]) <= set(names)


def test_names_that_are_not_text(read, chosen, labelled):
    page = read(chosen, labelled[0], names=["\udcff.png"] * len(labelled[0]), title="\udcff")
    assert "\\udcff" in page.html


def test_data_cannot_end_its_element():
    text = as_data(["</script><!--", "a\u2028b\u2029", "&lt;"])
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == ["</script><!--", "a\u2028b\u2029", "&lt;"]


def test_only_our_script_may_run_and_nothing_is_fetched(read, pipeline, labelled):
    page = read(pipeline, *labelled)
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert len(page.scripts) == 1
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page.html)
    assert not re.search(r"url\((?!data:)|@import|https?://", page.html)


@pytest.mark.parametrize("kind", ["plain", "two_sided", "slim"])
def test_other_models(kind, read, request, labelled, chosen, tmp_path):
    if kind == "slim":
        save(chosen, tmp_path / "m.safetensors", slim=True)
        model = load(tmp_path / "m.safetensors")
    else:
        model = request.getfixturevalue(kind)
    page = read(model, labelled[0])
    assert page.data["codes"] == len(model.codes_)
    assert (page.data["members"] is None) == (kind != "two_sided")
    for name in ("clusters", "spectra", "accuracy"):
        if name in page.found.missing:
            assert page.found.missing[name] in page.words
    assert 'id="confusion"' not in page.html


def test_budget(read, chosen):
    plan = {
        "methods": [
            {"name": HOSTILE, "rows": [{"codes": 25, "accuracy": 0.5}, {"codes": 50, "accuracy": 0.6, "kind": "predicted"}]}
        ]
    }
    page = read(chosen, budget=plan)
    assert page.html.count('class="mark hollow') == 1
    assert "<title>&lt;script&gt;" in page.html
    assert 'id="budget"' not in read(chosen).html


@pytest.mark.parametrize(
    "wrong", [{}, [], {"methods": []}, {"methods": [{"name": "a", "rows": [{"codes": 3}]}]}, {"a": 0.5}, {5: "x"}]
)
def test_what_is_not_a_budget(chosen, tmp_path, wrong):
    with pytest.raises(ValueError, match="poolwise plan --json"):
        write_report(chosen, tmp_path / "r.html", budget=wrong)
    assert list(tmp_path.iterdir()) == []


def test_members_are_a_plain_loop(rng):
    selected = np.array([2, 3, 11])
    cluster = selected[rng.integers(3, size=12)]
    cluster[selected] = selected
    closeness = rng.random(12)
    for code, found in zip(selected, members_of(cluster, selected, closeness), strict=True):
        others = [i for i in range(12) if cluster[i] == code and i != code]
        assert found.tolist() == sorted(others, key=lambda i: -closeness[i])


def test_learned_from_is_said(read, pipeline, labelled):
    assert "learned from" not in read(pipeline, *labelled).words
    assert "which it has learned from" in read(pipeline, *labelled, learned_from=True).words


def test_codes_that_are_no_pictures_are_shown_by_windows(photos, tmp_path):
    settings = {"n_codes": 4, "n_candidates": None, "n_patches": 1000, "random_state": 0}
    model = PooledFeatures(descriptor="hog", pooling="average", **settings).fit(photos)
    write_report(model, tmp_path / "page.html", photos[:20])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "by the window of a training image that excites it most" in page
    assert 'class="switch" hidden' in page
