"""One look of all charts, and a clear word where matplotlib is missing."""

import sys

import pytest

from poolwise.report.draw import look


def test_a_chart_has_names_a_grid_behind_the_data_and_no_frame_above():
    figure, ax = look.axes("codes", "accuracy", "Birds", size=(4, 3))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("codes", "accuracy", "Birds")
    assert tuple(figure.get_size_inches()) == (4, 3)
    assert {side for side, spine in ax.spines.items() if spine.get_visible()} == {"left", "bottom"}
    assert ax.get_axisbelow() is True
    assert all(line.get_visible() for line in ax.get_xgridlines())


def test_panels_are_so_many_and_dressed():
    figure, all_axes = look.panels(3, (9, 3))
    assert list(figure.axes) == list(all_axes)
    assert not any(ax.spines["top"].get_visible() for ax in all_axes)


def test_every_colour_has_a_mark_of_its_own():
    assert len(set(look.MARKS.values())) == len(set(look.COLOURS)) == len(look.MARKS)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ValueError, match=r"pip install 'poolwise\[report\]'"):
        look.blank((1, 1))
