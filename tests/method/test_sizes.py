"""Memory and file sizes that are counted before anything is learned."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import KMeans, LinearSVM, PooledFeatures, SecondOrder, save
from poolwise.method.sizes import file_bytes

LABELS = np.arange(160) // 10


@pytest.mark.parametrize(
    "changes",
    [
        {"n_candidates": None},
        {"n_candidates": 60},
        {"n_candidates": 60, "selection": "affinity", "projection": None},
        {"n_candidates": 60, "selection": "affinity", "encoder__two_sided": True},
        {"n_candidates": 60, "pooling": SecondOrder(2)},
        {"n_candidates": None, "pooling": SecondOrder(1, directions=10)},
    ],
)
@pytest.mark.parametrize("slim", [False, True])
def test_the_file_is_about_as_long_as_was_counted(photos, tmp_path, changes, slim):
    model = PooledFeatures(
        12, n_patches=3000, dictionary=KMeans(max_iter=2), random_state=0, encoder="threshold", symmetry=None
    )
    model.set_params(pooling="average", pooling__grid=2).set_params(**changes)
    svm = LinearSVM(0.1)
    svm.fit(model.fit_transform(photos, LABELS), LABELS)
    save(make_pipeline(model, svm), tmp_path / "m.safetensors", slim=slim)
    found = (tmp_path / "m.safetensors").stat().st_size
    counted = file_bytes(model.recipe.decided(True), (32, 32, 3), classes=16, slim=slim)
    assert 0.8 * found - 8000 < counted < 1.05 * found


@pytest.mark.parametrize(
    ("changes", "limit", "message"),
    [
        (
            {},
            1_000_000,
            "the sample of 3,000 local vectors needs 1.3 MB, and this machine has 1.0 MB left. Give fewer patches",
        ),
        ({"n_candidates": 400, "selection": "affinity"}, 2_000_000, "the covariance of 400 outputs needs 4.0 MB"),
        ({"n_candidates": 200, "selection": "supervised"}, 2_000_000, "the covariance of 800 outputs needs 16.0 MB"),
    ],
)
def test_what_cannot_be_held_is_refused_before_the_first_round(photos, monkeypatch, changes, limit, message):
    monkeypatch.setattr("poolwise.support.memory.available_bytes", lambda: limit)
    monkeypatch.setattr("poolwise.method.fitting.learn_codes", None)  # whoever gets there fails
    model = PooledFeatures(12, n_candidates=None, n_patches=3000, encoder="threshold", symmetry=None, random_state=0)
    model.set_params(pooling="average", pooling__grid=2, **changes)
    with pytest.raises(MemoryError, match=message):
        model.fit(photos, LABELS)


def test_features_that_cannot_be_held_are_refused(photos, monkeypatch):
    many = np.broadcast_to(photos[:1], (1_000_000, 32, 32, 3))  # which takes no room
    model = PooledFeatures(12, n_candidates=None, n_patches=3000, pooling="average", symmetry=None, random_state=0).fit(photos)
    monkeypatch.setattr("poolwise.support.memory.available_bytes", lambda: 10_000_000)
    with pytest.raises(MemoryError, match=r"features of 1,000,000 images, needs .* MB.* Give fewer images at once"):
        model.transform(many)
    monkeypatch.setattr("poolwise.method.fitting.learn_codes", None)
    with pytest.raises(MemoryError, match="features of 1,000,000 images, needs"):
        model.fit_transform(many)
