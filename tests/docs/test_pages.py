"""The site lists what exists: every public name, and a line of which when for every word of a choice."""

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import poolwise
from poolwise import datasets, report
from poolwise.method.descriptors import DESCRIPTORS
from poolwise.method.dictionaries import DICTIONARIES
from poolwise.method.encoders import ENCODERS
from poolwise.method.pooling import POOLINGS
from poolwise.method.recipe import PARAMETERS
from poolwise.method.selection import WAYS

DOCS = Path(__file__).parents[2] / "docs"
API = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md")}
SUMMARIES = set(re.findall(r"^   ~?(?:\w+\.)*(\w+)$", "\n".join(API.values()), re.MULTILINE))


@pytest.fixture(scope="module")
def extension():
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    spec = importlib.util.spec_from_file_location("short_docstrings", DOCS / "_ext" / "short_docstrings.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_every_public_name_has_a_page():
    charts = {name for name in report.__all__ if name.startswith("draw_")} - {"draw_codes", "draw_clusters"}
    public = {*poolwise.__all__, *datasets.__all__, *report.__all__} - {"__version__", "datasets"} - charts
    assert public <= SUMMARIES


@pytest.mark.parametrize(
    ("page", "family"),
    [("encoder", ENCODERS), ("pooling", POOLINGS), ("descriptor", DESCRIPTORS), ("descriptor", DICTIONARIES)],
    ids=["encoder", "pooling", "descriptor", "dictionary"],
)
def test_every_part_has_a_page_and_a_line_of_which_when(page, family):
    lines = [line for line in API[page].splitlines() if line.startswith("|")]
    for part in family.by_class:
        assert part in SUMMARIES
        assert part == "Own" or any(f"`{part}" in line.split("|")[1] for line in lines), part


@pytest.mark.parametrize("choice", ["selection", "projection", "symmetry"])
def test_every_word_of_a_choice_has_a_line(choice):
    first = [line.split("|")[1] for line in API[choice].splitlines() if line.startswith("|")]
    words = [*WAYS, "auto"] if choice == "selection" else PARAMETERS[choice].kind.words
    for word in words:
        assert any(("None" if word is None else f'"{word}"') in cell for cell in first), word


def test_every_page_of_the_guide_is_listed():
    listed = (DOCS / "guide.md").read_text(encoding="utf-8")
    assert "[!i]*" in listed  # pages without a line of their own
    for name in re.findall(r"\]\((\w+\.md)\)", listed):
        assert (DOCS / name).is_file()


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_between_pages_lead_to_files(page):
    if {"_build", "auto_gallery", "generated"} & set(page.parts):
        pytest.skip("made by the build")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        if "auto_gallery" in path.parts:  # written by the build
            path = DOCS / "gallery" / f"{path.name}.py" if path.name != "index" else DOCS / "gallery"
        assert path.exists(), target


def test_examples_of_the_extension(extension):
    assert doctest.testmod(extension) == (0, 2)


def test_the_short_form_of_docstrings(extension):
    lines = [
        "Do |x| to layer_.",
        "",
        "    y = W x",
        "",
        "X : (n, d) float    y : (n,) labels",
        "K : how many",
        "",
        "Parameters",
        "---",
    ]
    assert extension.rewritten([*lines, "a_ : (K,), b_ : (M,)", "    Text."]) == [
        "Do \\|x\\| to layer\\_.", "", "::", "", "    y = W x", "", "", "**X** : (n, d) float", "", "**y** : (n,) labels", "",
        "**K** : how many", "", "", "Parameters", "---", "a_ : (K,), b\\_ : (M,)", "    Text.",
    ]  # fmt: skip
