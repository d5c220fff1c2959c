"""Directions of second-order pooling: against the eigenvectors of all cells' covariance, and what must not change them."""

import numpy as np
import pytest

import poolwise
from poolwise import LinearSVM, SecondOrder
from poolwise.engine.threads import Threads
from poolwise.method import directions as of_directions
from poolwise.method import extraction, learning
from poolwise.method.extraction import pooled_blocks, prepare
from poolwise.method.pooling import POOLINGS
from poolwise.modelfile.parameters import part_from_json, part_to_json
from poolwise.support.progress import Stages

from settings import paper_features

SMALL = {"n_patches": 3000, "random_state": 0}


def fitted(photos, directions, **more):
    pooling = SecondOrder(2, directions=directions)
    return paper_features(8, pooling=pooling, **SMALL, **more).fit(photos[:120])


def test_they_span_the_eigenvectors_of_the_covariance(photos):
    """All 36 numbers of a cell, standardised: what the directions keep of their variance is what the best 10 keep."""
    every, few = fitted(photos, None), fitted(photos, 10)
    X = every.transform(photos[:120]).reshape(-1, 36).astype(np.float64)
    C = np.cov(X.T, ddof=0)
    T = few.layer_.projection.T
    assert T.shape == (10, 36)
    np.testing.assert_allclose(T @ T.T, np.eye(10), atol=1e-5)
    assert np.trace(T @ C @ T.T) == pytest.approx(np.linalg.eigvalsh(C)[-10:].sum(), rel=1e-4)
    np.testing.assert_allclose(few.transform(photos[:20]).reshape(-1, 10), X[:80] @ T.T, atol=1e-4)


@pytest.mark.parametrize("more", [{}, {"scale": "cell"}, {"scale": None}, {"n_candidates": 20}, {"symmetry": "mirror"}])
def test_features_are_those_of_the_layer_whoever_computes_them(photos, more):
    model = paper_features(8, pooling=SecondOrder(2, directions=10), **SMALL, **more)
    X = model.fit_transform(photos[:60])
    assert X.shape == (60, 40)
    np.testing.assert_array_equal(model.transform(photos[:60]), X)
    np.testing.assert_allclose(np.concatenate([model.transform(photos[i : i + 6]) for i in range(0, 60, 6)]), X, atol=1e-4)
    np.testing.assert_allclose(model.layer_.features(photos[:5]), X[:5], atol=1e-3)


def test_as_many_directions_as_numbers_leave_them_as_they_are(photos):
    for directions in (36, 500):
        model = fitted(photos, directions)
        assert model.layer_.projection is None
        np.testing.assert_array_equal(model.transform(photos[:9]), fitted(photos, None).transform(photos[:9]))


def test_a_sample_of_the_images_is_spread_evenly(rng, make_layer, photos):
    ready = prepare(make_layer(rng, 60, pooling=SecondOrder(2)))
    with Threads(1) as engine:
        every = [rows for rows, _ in pooled_blocks(ready, photos, engine)]
        some = [rows for rows, _ in pooled_blocks(ready, photos, engine, about=len(photos) // 3)]
    assert {(rows.start, rows.stop) for rows in some} <= {(rows.start, rows.stop) for rows in every}
    starts = np.array([rows.start for rows in some])
    assert abs(len(some) - len(every) / 3) <= 1
    assert np.diff(starts).max() <= 5 * (every[0].stop - every[0].start)


def test_directions_of_a_sample_of_the_images_are_close_to_those_of_all(photos, monkeypatch):
    T = {}
    for samples in (10_000, 300):
        monkeypatch.setattr(learning, "_LEAST_SAMPLES", samples)
        monkeypatch.setattr(learning, "_SAMPLES_PER_NUMBER", 0)
        monkeypatch.setattr(extraction, "_BYTES_PER_BLOCK", 1)
        T[samples] = paper_features(8, pooling=SecondOrder(2, directions=5), **SMALL).fit(photos).layer_.projection.T
    assert not np.array_equal(T[300], T[10_000])
    assert np.linalg.svd(T[300] @ T[10_000].T)[1].min() > 0.8


def test_the_same_on_any_number_of_threads(photos):
    found = {fitted(photos, 12, n_jobs=n_jobs).transform(photos[:30]).tobytes() for n_jobs in (1, 2, 4)}
    assert len(found) == 1


@pytest.mark.parametrize("more", [{}, {"n_candidates": 20}, {"n_candidates": 20, "selection": "random"}])
def test_a_file_keeps_them(photos, tmp_path, more):
    model = fitted(photos, 10, **more)
    poolwise.save(model, tmp_path / "model.safetensors")
    again = poolwise.load(tmp_path / "model.safetensors")
    assert again.layer_.projection.kind == "direction"
    assert again.layer_.projection.T.dtype == np.float32
    np.testing.assert_array_equal(again.transform(photos[:9]), model.transform(photos[:9]))
    assert again.get_feature_names_out()[11] == "pool2x2_r0c1_direction1"


def test_a_file_from_before_they_existed_loads():
    """A parameter that a file does not name has its default."""
    described = part_to_json(SecondOrder(2, "log"))
    del described["directions"], described["directions_by"]
    assert part_from_json(POOLINGS, described, "pooling") == SecondOrder(2, "log")


def test_features_of_another_number_of_codes_are_counted(photos):
    layer = fitted(photos, 30).layer_
    assert [layer.sized(K).n_features for K in (4, 8, 9, 200)] == [40, 120, 120, 120]


def test_too_many_codes_for_a_covariance_are_refused_before_any_work(photos, monkeypatch):
    monkeypatch.setattr("poolwise.support.memory.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"the covariance of the 36 numbers of a cell needs .* Give fewer codes"):
        fitted(photos, 10)


def test_by_labels_they_hold_the_weights_of_ridge_regression(rng, engine):
    """Of (C + λI) w = b at every level; and where there are more weights than directions, most of them."""
    A = rng.normal(size=(60, 80)) * 0.8 ** np.arange(60)[:, None]
    C, B = A @ A.T / 80, rng.normal(size=(60, 3))
    T = of_directions.predicting_directions(C, B, 20, rng=rng, engine=engine).T
    assert T.dtype == np.float32
    np.testing.assert_allclose(T @ T.T, np.eye(20), atol=1e-5)
    for level in (10, 3, 1, 0.3, 0.1):
        W = np.linalg.solve(C + level * np.trace(C) / 60 * np.eye(60), B)
        np.testing.assert_allclose(T.T @ (T @ W), W, atol=5e-3 * np.abs(W).max())
    few = of_directions.predicting_directions(C, B, 4, rng=rng, engine=engine).T
    assert few.shape == (4, 60)
    assert np.linalg.norm(few @ W) > 0.9 * np.linalg.norm(W)


def share_outside(T, W):
    """Of the length of W's columns, (numbers, columns), how much the rows of T do not hold."""
    return np.linalg.norm(W - T.T @ (T @ W)) / np.linalg.norm(W)


def test_by_labels_they_hold_what_ridge_regression_on_all_cells_gives_each(photos, monkeypatch):
    """Against the normal equations of all four cells' 300 numbers; where these would be too many, of each cell alone."""
    y = np.random.default_rng(0).normal(size=(160, 2))
    X = paper_features(24, pooling=SecondOrder(2), **SMALL).fit_transform(photos).astype(np.float64)
    X, centred = X - X.mean(axis=0), y - y.mean(axis=0)
    G, B = X.T @ X / 160, X.T @ centred / 160
    together = np.linalg.solve(G + 0.3 * np.trace(G) / 1200 * np.eye(1200), B).reshape(4, 300, 2)
    C = sum(G[i : i + 300, i : i + 300] for i in range(0, 1200, 300)) / 4
    alone = np.linalg.solve(C + 0.3 * np.trace(C) / 300 * np.eye(300), np.concatenate(B.reshape(4, 300, 2), axis=1))
    pooling = SecondOrder(2, directions=48, directions_by="labels")
    T = paper_features(24, pooling=pooling, **SMALL).fit(photos, y).layer_.projection.T
    assert share_outside(T, np.concatenate(together, axis=1)) < 0.05
    monkeypatch.setattr(learning, "_MOST_NUMBERS_TOGETHER", 1199)
    T = paper_features(24, pooling=pooling, **SMALL).fit(photos, y).layer_.projection.T
    assert share_outside(T, np.concatenate(together, axis=1)) > 0.2
    assert share_outside(T, alone) < 0.1


def test_by_labels_a_small_projection_classifies_as_well_as_all_numbers(photos):
    labels = np.repeat(np.arange(16), 10)
    train, test = np.arange(160) % 2 == 0, np.arange(160) % 2 == 1
    scores = {}
    for name, pooling in (
        ("all", SecondOrder(2)),
        ("labels", SecondOrder(2, directions=30, directions_by="labels")),
        ("variance", SecondOrder(2, directions=30)),
    ):
        model = paper_features(24, pooling=pooling, **SMALL).fit(photos[train], labels[train])
        svm = LinearSVM(0.1).fit(model.transform(photos[train]), labels[train])
        scores[name] = svm.score(model.transform(photos[test]), labels[test])
    assert scores["labels"] > scores["all"] - 0.05
    assert 1 / 16 < scores["variance"] <= 1


def test_rows_without_a_target_are_not_looked_at(photos):
    """Directions come from the targets that are known, whatever the images are whose targets are not."""
    pooling = SecondOrder(2, directions=10, directions_by="labels")
    recipe = paper_features(8, pooling=pooling, **SMALL).recipe.fitted_to((32, 32, 3))
    targets = np.random.default_rng(0).normal(size=(160, 2))
    known = np.arange(160)[:, None] < 80
    stages = Stages(False, "")
    with Threads(1) as engine:
        layer = learning.learn_codes(recipe, photos, rng=np.random.default_rng(0), engine=engine, stages=stages)[1]

        def directions(y):
            return learning.learn_directions(recipe, layer, photos, y, seed=0, engine=engine, stages=stages).projection.T

        every, some = directions(targets), directions(np.where(known, targets, np.nan))
        half = directions(np.where(known, 1 + 2 * targets, np.nan))
    assert not np.allclose(every, some, atol=1e-3)
    np.testing.assert_allclose(half, some, atol=1e-3)  # a scale and a shift of the targets change nothing


def test_a_model_without_candidates_says_so(photos, tmp_path):
    model = fitted(photos, 10)
    assert model.n_candidates_ is None
    with pytest.raises(ValueError, match="n_candidates"):
        model.reselect(n_codes=4)


def test_labels_are_not_asked_for_where_no_directions_are_learned(photos):
    pooling = SecondOrder(2, directions=500, directions_by="labels")
    assert paper_features(8, pooling=pooling, **SMALL).fit(photos[:60]).layer_.projection is None


def test_labels_are_asked_for(photos):
    with pytest.raises(ValueError, match=r"SecondOrder\(directions_by='labels'\) needs labels: fit\(images, y\)"):
        paper_features(8, pooling=SecondOrder(2, directions=10, directions_by="labels"), **SMALL).fit(photos[:60])
