import re
from xml.etree import ElementTree

import pytest

from poolwise.report.draw.svg import Line, line_chart


def points(svg, number=0):
    found = re.search(rf'class="line-{number}" points="([^"]*)"', svg)[1]
    return [tuple(map(float, pair.split(","))) for pair in found.split()]


def test_it_is_xml_with_words_for_readers_who_cannot_see(rng):
    svg = line_chart([Line("a", [1, 2, 3], [5, 6, 9])], "x <b>", "y & z", 'says "it"')
    root = ElementTree.fromstring(svg)  # noqa: S314  our own text
    assert root.attrib["aria-label"] == 'says "it"'
    assert "x <b>" in [text.text for text in root.iter("text")]


def test_lines_go_through_their_points():
    (x0, y0), (x1, y1), (x2, y2) = points(line_chart([Line("a", [0, 1, 4], [0, 10, 5])], "x", "y", "alt"))
    assert (x1 - x0) / (x2 - x0) == pytest.approx(1 / 4, abs=0.01)
    assert (y0 - y1) / (y0 - y2) == pytest.approx(2, abs=0.01)  # up is less


def test_logarithmic_axes_leave_out_zeros():
    found = points(line_chart([Line("a", [1, 10, 100, 1000], [1, 10, 0, 1000])], "x", "y", "alt", log_x=True, log_y=True))
    (x0, y0), (x1, y1), (x2, y2) = found
    assert (x1 - x0) / (x2 - x0) == pytest.approx(1 / 3, abs=0.01)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(1 / 3, abs=0.01)


def test_many_points_are_thinned_and_keep_their_ends():
    values = list(range(1, 5001))
    svg = line_chart([Line("a", values, values)], "x", "y", "alt", log_x=True)
    assert len(points(svg)) <= 240
    assert points(svg)[0] == points(line_chart([Line("a", [1, 5000], [1, 5000])], "x", "y", "alt", log_x=True))[0]


@pytest.mark.parametrize("line", [Line("a", [3], [0.5]), Line("a", [1, 2], [7, 7]), Line("a", [1, 2], [0, 0])])
def test_lines_without_extent(line):
    ElementTree.fromstring(line_chart([line], "x", "y", "alt", percent=True))  # noqa: S314


def test_nothing_to_draw():
    assert line_chart([Line("a", [1], [float("nan")])], "x", "y", "alt") == ""


def test_hollow_marks_are_predicted():
    svg = line_chart([Line("a", [1, 2], [1, 2], True, [True, False]), Line("b", [1], [2], True)], "x", "y", "alt")
    assert svg.count('class="mark hollow') == 1
    assert svg.count("<circle") == 2
    assert svg.count("<rect") == 1


@pytest.mark.parametrize("largest", [9, 12_800, 654_321, 1.25e7])
def test_the_axis_name_has_room_beside_the_numbers(largest):
    """A letter takes 7.2 on average or less: a comma is half as wide as a digit. The name ends at x = 17."""
    svg = line_chart([Line("a", [1, 2], [0.9 * largest, largest])], "x", "y", "alt")
    ticks = re.findall(r'x="(\d+)" y="[^"]*" text-anchor="end">([^<]*)<', svg)
    assert len(ticks) > 2
    assert min(int(x) - 7.2 * len(text) for x, text in ticks) >= 17
    left = re.search(r'class="axis" x1="(\d+)"', svg)[1]
    assert float(left) == pytest.approx(points(svg)[0][0], abs=0.1)
