"""The chart of a plan: what is drawn is what was measured and what the law says."""

import io

import numpy as np
import pytest
from PIL import Image

from poolwise.planning.measuring import Curve
from poolwise.planning.plot import draw_plan

SIZES, PREDICT = np.array([25, 50, 100, 200]), [400, 1600]


def curve(name, a, b):
    mean = a + b * SIZES**-0.25
    return Curve(name, SIZES, np.stack([mean - 0.01, mean + 0.02], axis=1), 0.1 + 0.01 * SIZES, 4)


@pytest.fixture
def curves():
    return [curve("K-means", 0.9, -0.8), curve("PDL", 0.88, -0.7)]


def points(panel):
    """Marks of a panel as {(x, y): filled}."""
    marked = [line for line in panel.lines if line.get_marker() in ("o", "s")]
    return {
        (round(float(x)), round(float(y), 9)): line.get_markerfacecolor() != "white"
        for line in marked
        for x, y in line.get_xydata()
    }


def test_measured_marks_are_filled_and_predicted_ones_hollow(curves):
    accuracy, cost = draw_plan(curves, PREDICT).axes
    expected_accuracy, expected_cost = {}, {}
    for one in curves:
        for K, y, ms in zip(SIZES, one.mean, one.milliseconds, strict=True):
            expected_accuracy[int(K), round(float(y), 9)] = expected_cost[int(K), round(float(ms), 9)] = True
        for K in PREDICT:
            expected_accuracy[K, round(one.law.at(K), 9)] = expected_cost[K, round(one.cost.at(K), 9)] = False
    assert points(accuracy) == expected_accuracy
    assert points(cost) == expected_cost


def test_error_bars_and_intervals(curves):
    panel = draw_plan(curves, PREDICT).axes[0]
    (bars, *_), one = panel.containers[0].lines[2], curves[0]
    np.testing.assert_allclose(
        [bar[:, 1] for bar in bars.get_segments()], np.stack([one.mean - one.std, one.mean + one.std], 1)
    )
    shade = panel.collections[0].get_paths()[0].vertices
    for K in (25, 1600):
        ends = shade[np.isclose(shade[:, 0], K), 1]
        assert (ends.min(), ends.max()) == pytest.approx(one.law.interval(K))


def test_axes_are_logarithmic_and_in_words(curves):
    figure = draw_plan(curves, PREDICT)
    accuracy, cost = figure.axes
    assert (accuracy.get_xscale(), cost.get_xscale()) == ("log", "log")
    figure.draw_without_rendering()
    assert [tick.get_text() for tick in cost.get_xticklabels()] == ["25", "50", "100", "200", "400", "1,600"]
    assert (accuracy.get_ylabel(), cost.get_xlabel()) == ("accuracy", "codes K")
    assert [text.get_text() for text in accuracy.get_legend().get_texts()][:2] == ["K-means", "PDL"]


def test_the_two_differ_in_colour_and_in_mark(curves):
    lines = [line for line in draw_plan(curves, PREDICT).axes[0].lines if line.get_marker() in ("o", "s")]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 2
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 2


@pytest.mark.parametrize("predict", [[], [400]])
def test_it_can_be_saved(curves, predict):
    file = io.BytesIO()
    draw_plan(curves[:1], predict).savefig(file, format="png")
    with Image.open(file) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 800


def test_an_impossible_law_leaves_the_axis_possible():
    panel = draw_plan([curve("K-means", 1.5, -2.5)], [3200]).axes[0]
    low, high = panel.get_ylim()
    assert 0 <= low < high <= 1.05
