"""The catalogue: light to import, and every name leads to its experiment."""

import subprocess
import sys
from pathlib import Path

import pytest

from poolwise.reproduction.catalogue import SUMMARIES, experiment, experiments
from poolwise.reproduction.experiment import picture_names, with_pictures
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store

DOCS = Path(__file__).parents[2] / "docs"
HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "PIL",
    "matplotlib",
    "poolwise.estimators",
    "poolwise.method",
    "poolwise.reproduction.cells",
)


def test_nothing_heavy_is_imported_before_an_experiment_is_asked_for():
    code = f"import sys, poolwise.reproduction.catalogue; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_check_for_heavy_modules_finds_them():
    """All of them are there once a section is asked for, so none of the names above is misspelled."""
    code = f"""
import sys, tempfile
from poolwise.reproduction.catalogue import experiment
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store
experiment("law").pictures(Results(Store(tempfile.mkdtemp())))
experiment("fig-codes")
print([name for name in {HEAVY} if name not in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_name_leads_to_its_own_experiment(name):
    assert experiment(name).name == name


def test_all_are_in_the_order_of_the_paper():
    assert [one.name for one in experiments()] == list(SUMMARIES)
    assert [name for name in SUMMARIES if name.startswith("table")] == ["table1-cifar", "table1-stl", "table2-birds"]


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        experiment("table3")


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_picture_that_a_section_shows_is_drawn_under_its_bare_name(name, tmp_path):
    one = experiment(name)
    for folder, has_all in ((DOCS / "reproduction", True), (tmp_path, False)):
        results = Results(Store(folder))
        shown, drawn = set(picture_names(one.section(results))), set(one.pictures(results))
        assert shown <= drawn
        assert shown == drawn or not has_all
        assert not any("/" in picture for picture in drawn)


def test_pictures_of_a_section_are_spelled_as_asked():
    section = "![One, (a) chart](a.png)\nText [link](b.md) and ![Two](c-d.png)."
    assert picture_names(section) == ["a.png", "c-d.png"]
    spelled = with_pictures(section, lambda alt, name: f"<{alt}|{name}>")
    assert spelled == "<One, (a) chart|a.png>\nText [link](b.md) and <Two|c-d.png>."
