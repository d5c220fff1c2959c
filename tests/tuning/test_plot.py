"""The chart of a search."""

import pytest

from poolwise import tune
from poolwise.tuning.space import FACTORS
from poolwise.tuning.words import left_out_lines, table_lines, what_mattered

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def search(small):
    return tune(*small, n_codes=6, trials=10, max_features=150)


def test_every_setting_is_drawn_with_the_frontier(search):
    from poolwise.tuning.plot import draw_search

    (ax,) = draw_search(search).axes
    names = [line.get_label() for line in ax.lines]
    assert "chosen" in names
    frontier = ax.lines[names.index("none is better and cheaper")]
    assert frontier.get_xdata().tolist() == [one.milliseconds for one in search.frontier]
    drawn = sum(len(line.get_xdata()) for line in ax.lines if line.get_linestyle() == "None" and line.get_marker() in "os")
    assert drawn >= len(search.ranking)


def test_the_table_has_the_chosen_one_first_and_marks_the_frontier(search):
    lines = table_lines(search, 5)
    assert f"{100 * search.chosen.score:.1f} ±" in lines[1]
    assert sum(line.startswith("*") for line in lines) == len(search.frontier)


def test_every_factor_mattered_or_did_not(search):
    named = {"order": "order", **FACTORS}
    mattered, did_not = what_mattered(search, True), what_mattered(search, False)
    for factor in {effect.factor for effect in search.effects}:
        decisive = any(effect.matters for effect in search.effects if effect.factor == factor)
        assert (named[factor] in did_not.split(", ")) is not decisive
        assert any(part.startswith(named[factor]) for part in mattered.split("; ")) is decisive


def test_few_reasons_are_listed(search):
    assert len(left_out_lines(search, 2)) <= 3
