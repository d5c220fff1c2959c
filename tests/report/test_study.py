"""All numbers of a report against scikit-learn, eigvalsh and np.corrcoef; and what is said where there are none."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from poolwise import KMeans, PooledFeatures, load, save
from poolwise.analysis import spectra
from poolwise.analysis.accuracy import class_numbers
from poolwise.report import study as studying
from poolwise.report import write_report
from poolwise.report.study import as_colours, study
from poolwise.report.words import one_line

from settings import paper_features


def test_accuracy_is_scikit_learns(pipeline, labelled):
    found = study(pipeline, *labelled)
    expected = confusion_matrix(labelled[1], pipeline.predict(labelled[0]), labels=pipeline.classes_)
    np.testing.assert_array_equal(found.accuracy.confusion, expected)
    assert found.accuracy.share == pytest.approx(pipeline.score(*labelled))
    assert found.classes == pipeline.classes_.tolist()


def test_clusters_are_those_of_the_model(chosen, labelled):
    found = study(chosen, labelled[0])
    C = chosen.covariance_
    R = C / np.sqrt(np.outer(np.diagonal(C), np.diagonal(C)))
    np.testing.assert_allclose(found.clusters.after, R[np.arange(40), chosen.cluster_], atol=1e-12)
    np.testing.assert_allclose(found.clusters.before[chosen.selected_], 1, atol=1e-6)
    assert (found.clusters.before <= 1).all()
    assert sorted(found.clusters.order) == list(range(10))
    assert sorted(found.clusters.candidates) == list(range(40))


def test_pooling_makes_members_more_alike(chosen, labelled):
    clusters = study(chosen, labelled[0]).clusters
    others = np.setdiff1d(np.arange(40), chosen.selected_)
    assert clusters.after[others].mean() > clusters.before[others].mean() + 0.1


@pytest.mark.parametrize("kind", ["chosen", "two_sided"])
def test_spectra_are_eigvalsh(kind, request, monkeypatch):
    model = request.getfixturevalue(kind)
    C, M = model.covariance_, len(model.candidates_.codes)
    outputs = np.concatenate([model.selected_ + start for start in range(0, len(C), M)])
    W = C[:, outputs]
    near = W @ np.linalg.pinv(W[outputs], hermitian=True) @ W.T
    found = study(model).spectra
    whole = np.linalg.eigvalsh(C)[::-1]
    np.testing.assert_allclose(found.whole, whole, atol=1e-9 * whole[0])
    np.testing.assert_allclose(found.approximate, np.linalg.eigvalsh(near)[::-1][: len(outputs)], atol=1e-5 * whole[0])
    assert found.unexplained == pytest.approx(1 - np.trace(near) / np.trace(C), abs=1e-6)
    monkeypatch.setattr(spectra, "_EXACT_OUTPUTS", 5)  # as if it were large
    about = study(model).spectra
    assert not about.is_exact
    np.testing.assert_allclose(about.whole, whole[: len(about.whole)], rtol=0.01, atol=1e-5 * whole[0])


def test_without_images(pipeline):
    found = study(pipeline)
    assert (found.regions, found.accuracy, found.clusters.before, found.n_images) == (None, None, None, None)
    assert set(found.missing) == {"before", "regions", "accuracy"}
    assert found.milliseconds > 0


def test_plain_k_means_has_no_clusters(plain, labelled):
    found = study(plain, *labelled)
    assert found.clusters is found.spectra is None
    assert "without candidates" in found.missing["clusters"]
    assert "no classifier" in found.missing["accuracy"]
    assert found.regions.share.shape == (4, 9)  # labels are of use all the same


def test_slim_models(chosen, labelled, tmp_path):
    save(chosen, tmp_path / "m.safetensors", slim=True)
    slim = load(tmp_path / "m.safetensors")
    found = study(slim, labelled[0])
    assert found.clusters is found.spectra is None
    assert "slim" in found.missing["clusters"]
    np.testing.assert_array_equal(found.regions.pixels, study(chosen, labelled[0]).regions.pixels)
    assert "kept of 40" in one_line(found)


def test_pca_keeps_all(chosen, labelled):
    found = study(chosen.reselect(projection="pca"), labelled[0])
    assert "keeps all" in found.missing["clusters"]
    assert found.spectra.unexplained == 0


@pytest.mark.parametrize("channels", [1, 4])
def test_other_channels_and_floats(rng, channels):
    images = rng.uniform(0, 200, size=(30, 14, 12, channels))
    model = paper_features(3, 8, n_patches=2000, dictionary=KMeans(max_iter=3), random_state=0, n_jobs=1).fit(images)
    found = study(model, images)
    assert found.regions.pixels.shape[2:] == (12, 12, 3)
    assert found.regions.pixels.dtype == np.uint8


def test_rows_and_classifiers_of_others(rng, tmp_path):
    rows, labels = rng.uniform(0, 255, size=(40, 30)), np.arange(40) % 3
    model = make_pipeline(
        paper_features(3, 6, n_patches=800, dictionary=KMeans(max_iter=3), random_state=0, n_jobs=1), GaussianNB()
    )
    found = write_report(model.fit(rows, labels), tmp_path / "r.html", rows, labels)
    assert found.accuracy.share == model.score(rows, labels)
    assert found.multiply_adds["classifier"] == 0
    assert found.classes == ["0", "1", "2"]


def test_accuracy_is_that_of_predict_whatever_the_classifier(chosen, photos):
    """One-against-one votes: the class of the largest margin is not always the one that it predicts."""
    labels = np.repeat(np.arange(16), 10)
    X = chosen.transform(photos)
    votes = SVC(kernel="linear", C=0.001).fit(X, labels)
    assert (votes.predict(X) != votes.decision_function(X).argmax(axis=1)).any()
    assert study(make_pipeline(chosen, votes), photos, labels).accuracy.share == votes.score(X, labels)


def test_a_sample_is_drawn_of_many_images(chosen, labelled, monkeypatch):
    monkeypatch.setattr(studying, "_MOST_IMAGES", 13)
    found = study(chosen, labelled[0], names=[f"name {i}" for i in range(len(labelled[0]))])
    assert len(found.regions.names) == 13
    assert found.n_images == len(labelled[0])
    assert set(found.regions.image.ravel().tolist()) <= set(range(-1, 13))


def test_pixels_as_colours():
    grey = np.array([[[0.0], [0.5], [1.0]]])
    assert as_colours(grey, grey).tolist() == [[[0] * 3, [128] * 3, [255] * 3]]
    colour = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    np.testing.assert_array_equal(as_colours(colour, colour), colour)


def test_mistakes(pipeline, labelled):
    with pytest.raises(ValueError, match="does not know the label 'dog'"):
        study(pipeline, labelled[0], ["dog"] * len(labelled[0]))
    with pytest.raises(ValueError, match="3 labels"):
        study(pipeline, labelled[0], ["cat"] * 3)
    with pytest.raises(ValueError, match="fitted PooledFeatures"):
        study(PooledFeatures())


def test_names_must_be_as_many_as_images(chosen, labelled):
    with pytest.raises(ValueError, match=r"there are 100 images, but 2 names"):
        study(chosen, labelled[0], names=["a", "b"])


def test_labels_are_spelled_alike():
    numbers, names = class_numbers(np.array([3.0, 1.0]), np.array(["1", "2", "3"]))
    assert (numbers.tolist(), names) == ([2, 0], ["1", "2", "3"])
