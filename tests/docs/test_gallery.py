"""Every example of the gallery runs, and the numbers that it prints are in the range that its text speaks of.

`make test-docs` runs all of them; `make test` compiles all and runs the cheapest.
"""

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
FILES = sorted(GALLERY.glob("plot_*.py"))
CHEAPEST = "plot_07_textures"


def ten_lines(found):
    assert 0.75 < found["accuracy"] < 0.9
    assert found["hardest"] in found["test"].target_names


def choosing_codes(found):
    assert np.median(found["own"]) > 0.85
    assert np.all(np.diff(found["kept"]) > 0)
    assert found["kept"][0] > found["kmeans"][0] + 0.03  # "helps most where few codes are kept"
    assert 0.72 < found["kept"][-1] < 0.85


def tuning(found):
    search = found["search"]
    assert len(search.trials) == 12
    assert search.chosen.score == max(trial.score for trial in search.frontier) > 0.8
    assert any(effect.matters for effect in search.effects)
    assert 0.72 < found["tuned"] < search.chosen.score + 0.02  # "so they are easier"


def few_labels(found):
    ours, raw = found["learned"].mean(axis=1), found["raw"].mean(axis=1)
    assert np.all(ours > raw + 0.1)
    assert 0.35 < ours[0] < 0.62
    assert 0.7 < ours[-1] < 0.86


def satellite(found):
    assert found["tiles"].shape == (72, 32, 32, 13)
    assert all(0.55 < share < 0.95 for share in found["accuracy"].values())
    assert found["accuracy"]["13 bands"] < found["accuracy"]["red, green, blue"] + 0.1  # "ten more bands do not pay here"


def microscopy(found):
    scores = found["scores"]
    assert scores["together"] > 0.95
    assert max(scores["nuclei"], scores["membranes"]) < 0.55  # chance is 0.33
    assert scores["together"] > scores["marker"] + 0.05


def textures(found):
    assert 0.85 < found["share"] <= 1


def search_and_cluster(found):
    nearest = found["nearest"]
    assert found["F"].shape == (800, 48)
    assert nearest["kept"] > nearest["all features"] - 0.06
    assert nearest["kept"] > nearest["pixels"] + 0.3
    assert found["agreement"] > 0.45


def own_descriptor(found):
    assert found["maps"].shape == (1, 16, 16, 8)
    assert 0.6 < found["with_own"] < 0.85
    assert 0.75 < found["with_patches"] < 0.9


def two_layers(found):
    scores = found["scores"]
    assert all(0.6 < score < 0.95 for score in scores.values())
    assert found["sizes"]["second order, 24 codes"] == 24 * 25 // 2


def cluster(found):
    assert found["same"]
    assert found["held"].shape == (3200, 768)
    assert 0.7 < found["accuracy"] < 0.86
    assert found["moved"]["fit"] > found["sizes"]["the crops"]  # "more moves than the crops hold"
    assert found["moved"]["transform"] > found["sizes"]["their features"]
    assert {found["stage_of"](task["key"]) for task in found["stream"].data} == set(found["STAGES"])


def browser(found):
    assert found["largest"] < 1e-4
    assert found["same"] > 0.99
    assert 0.7 < found["accuracy"] < 0.87
    assert all(10_000 < size < 1_000_000 for size in found["sizes"].values())


CHECKS = {
    "plot_01_ten_lines": ten_lines,
    "plot_02_choosing_codes": choosing_codes,
    "plot_03_tune": tuning,
    "plot_04_few_labels": few_labels,
    "plot_05_satellite": satellite,
    "plot_06_microscopy": microscopy,
    "plot_07_textures": textures,
    "plot_08_search_and_cluster": search_and_cluster,
    "plot_09_own_descriptor": own_descriptor,
    "plot_10_two_layers": two_layers,
    "plot_11_cluster": cluster,
    "plot_12_browser": browser,
}


def check(name, monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    monkeypatch.chdir(GALLERY)  # where Sphinx-Gallery runs it
    found = runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")  # whole: processes that it starts find it
    assert plt.get_fignums(), "an example draws"
    plt.close("all")
    CHECKS[name](found)


def test_every_example_has_a_check():
    assert [path.stem for path in FILES] == sorted(CHECKS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_have_a_title_and_pictures(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    _, title, line, *_ = ast.get_docstring(tree, clean=False).splitlines()
    assert line == "=" * len(title)
    assert "subplots" in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_the_cheapest_example_runs(monkeypatch):
    check(CHEAPEST, monkeypatch)


@pytest.mark.docs
@pytest.mark.parametrize("name", sorted(set(CHECKS) - {CHEAPEST}))
def test_examples_run(name, monkeypatch):
    check(name, monkeypatch)


def test_data_of_the_gallery_is_small_and_says_where_it_is_from():
    notice = (GALLERY / "data" / "LICENCE.md").read_text(encoding="utf-8")
    for path in (GALLERY / "data").iterdir():
        assert path.stat().st_size < 1_500_000
        assert path.suffix == ".md" or f"# {path.name}" in notice
    assert "Copernicus" in notice
    assert "MIT" in notice
