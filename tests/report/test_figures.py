"""Figures and pictures for notebooks draw the model's own numbers."""

import io
import itertools

import numpy as np
import pytest

from poolwise import load, report, save
from poolwise.method.descriptors.patches import draw_tiles
from poolwise.method.nystrom import approximation_error
from poolwise.report import draw_clusters, draw_codes


def test_spectrum(chosen):
    axes = report.draw_spectrum(chosen).axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.linalg.eigvalsh(chosen.covariance_)[::-1], rtol=1e-6)
    assert f"{100 * approximation_error(chosen.covariance_, chosen.selected_):.1f} %" in axes.get_title(loc="left")


def test_objective(plain):
    line = report.draw_objective(plain).axes[0].lines[0]
    assert line.get_ydata().tolist() == plain.objective_


def test_similarity_has_every_pair_and_a_diagonal_of_ones(chosen):
    figure = report.draw_similarity(chosen)
    picture = figure.axes[0].images[0].get_array()
    C = chosen.covariance_
    R = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    np.testing.assert_allclose(np.diagonal(picture), 1, atol=1e-6)
    np.testing.assert_allclose(np.sort(picture.ravel()), np.sort(R.ravel()), atol=1e-6)
    figure.savefig(io.BytesIO())


def test_confusion():
    figure = report.draw_confusion(np.array([[3, 1], [0, 4]]), ["a", "$b"])
    assert [text.get_text() for text in figure.axes[0].texts] == ["3", "1", "4"]
    figure.savefig(io.BytesIO())


def test_long_names_leave_room_for_the_confusion():
    names = [f"a species of penguin with {100 * 'a very '}long name, {number}" for number in range(12)]
    figure = report.draw_confusion(np.eye(12, dtype=int), names)
    figure.savefig(io.BytesIO())
    (ax,) = figure.axes
    assert ax.get_window_extent().width > 0.5 * figure.bbox.width
    assert len({tick.get_text() for tick in ax.get_xticklabels()}) == 12
    extents = [tick.get_window_extent() for tick in ax.get_xticklabels()]
    assert min(one.y0 for one in extents) >= 0  # within the picture
    assert min(tick.get_window_extent().x0 for tick in ax.get_yticklabels()) >= 0
    assert all(one.x1 <= other.x0 + 1 for one, other in itertools.pairwise(extents))


def test_codes_are_unwhitened_unless_asked(chosen):
    for whitened, codes in ((False, chosen.layer_.whitening.undo(chosen.codes_)), (True, chosen.codes_)):
        picture = np.asarray(draw_codes(chosen, whitened=whitened, columns=10, zoom=1, gap=0))
        np.testing.assert_array_equal(picture, np.concatenate(draw_tiles(codes, (6, 6, 3)), axis=1))


def test_models_without_candidates(plain):
    for draw in (draw_clusters, report.draw_similarity, report.draw_spectrum):
        with pytest.raises(ValueError, match="without candidates: plain K-means; give n_candidates"):
            draw(plain)
    assert draw_codes(plain, zoom=1, gap=0).size == (18, 18)


def test_slim_models_say_that_they_are(chosen, tmp_path):
    save(chosen, tmp_path / "m.safetensors", slim=True)
    slim = load(tmp_path / "m.safetensors")
    for draw in (draw_clusters, report.draw_similarity, report.draw_spectrum):
        with pytest.raises(ValueError, match="saved with slim=True"):
            draw(slim)
    assert draw_codes(slim).tobytes() == draw_codes(chosen).tobytes()


def test_clusters_are_the_mosaic_of_the_models_own_numbers(chosen):
    C, cluster = chosen.covariance_, chosen.cluster_
    closeness = np.array([C[i, e] / np.sqrt(C[i, i] * C[e, e]) for i, e in enumerate(cluster)])
    for whitened in (False, True):
        codes = chosen.candidates_.codes if whitened else chosen.layer_.whitening.undo(chosen.candidates_.codes)
        expected = report.cluster_mosaic(codes, cluster, (6, 6, 3), closeness=closeness, zoom=1, gap=1)
        assert draw_clusters(chosen, whitened=whitened, zoom=1, gap=1).tobytes() == expected.tobytes()


def test_unknown_names():
    with pytest.raises(AttributeError, match="nothing"):
        report.nothing  # noqa: B018
