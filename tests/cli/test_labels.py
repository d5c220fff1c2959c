"""`poolwise fit` and `plan` where labels reach the features: supervised selection, and mirror images for the classifier."""

import json
import shutil

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from poolwise import KMeans, LinearSVM, LinearSVMCV, load
from poolwise.cli.mirroring import mirrored_folds
from poolwise.images import open_images
from poolwise.images.mirrored import Mirrored
from poolwise.modelfile import describe

from settings import paper_features
from small import QUICK, QUICK_PLAN

SUPERVISED = ("--candidates", "24", "--selection", "supervised")


def library(**more):
    """The features that `QUICK` stands for."""
    return paper_features(8, n_patches=3000, dictionary=KMeans(max_iter=5), random_state=0, **more)


@pytest.mark.parametrize("classifier", [(), ("--classifier", "none")])
def test_labels_reach_the_selection(made, poolwise, tmp_path, classifier):
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *SUPERVISED, *classifier)
    assert (done.code, done.err) == (0, "")
    images = open_images(made.train)
    expected = library(n_candidates=24, selection="supervised").fit(images, images.labels)
    model = load(tmp_path / "m.safetensors")
    features = model if classifier else model[0]
    assert features.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_array_equal(features.transform(images), expected.transform(images))


@pytest.mark.parametrize(
    ("more", "kind", "words"),
    [
        (SUPERVISED, "LinearSVMCV", "a little high, since codes were chosen by their labels too"),
        (("--pool", "second_order", "--directions", "9", "--directions-by", "labels"), "LinearSVM", None),
        (
            ("--pool", "second_order", "--directions", "9", "--directions-by", "labels", "--classifier", "cv"),
            "LinearSVMCV",
            "far too high, since the features were learned from their labels",
        ),
    ],
)
def test_folds_choose_gamma_unless_directions_know_the_labels(made, poolwise, tmp_path, more, kind, words):
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *more)
    assert done.code == 0
    assert type(load(tmp_path / "m.safetensors")[1]).__name__ == kind
    assert words in done.out if words else "held out" not in done.out


def test_numbers_to_predict_serve_where_there_is_no_classifier(poolwise, tmp_path, three_classes):
    images, _ = three_classes["train"]
    y = images.mean(axis=(1, 2, 3))
    np.savez(tmp_path / "d.npz", x=images, y=y)
    more = ("--classifier", "none", *SUPERVISED)
    assert poolwise("fit", tmp_path / "d.npz", "-o", tmp_path / "m.safetensors", *QUICK, *more).code == 0
    expected = library(n_candidates=24, selection="supervised").fit(images, y)
    assert load(tmp_path / "m.safetensors").selected_.tolist() == expected.selected_.tolist()


@pytest.mark.parametrize(
    ("folder", "more", "message"),
    [
        ("cat", SUPERVISED, "it has no labels, which --selection supervised needs; put the images into one folder per class"),
        ("cat", (*SUPERVISED, "--classifier", "none"), "give a .csv with labels, or give another --selection"),
        ("cat", ("--mirror-training",), "it has no labels, which --mirror-training needs"),
        ("one", (*SUPERVISED, "--classifier", "none"), "all its images have one label, 'cat'; --selection supervised needs"),
    ],
)
def test_labels_that_are_missing_are_asked_for_before_any_learning(
    made, poolwise, tmp_path, monkeypatch, folder, more, message
):
    shutil.copytree(f"{made.train}/cat", tmp_path / "cat")
    shutil.copytree(f"{made.train}/cat", tmp_path / "one" / "cat")
    monkeypatch.setattr("poolwise.estimators.pooled_features.learn", None)  # whoever gets there fails
    done = poolwise("fit", tmp_path / folder, "-o", tmp_path / "m.safetensors", *QUICK, *more)
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert not (tmp_path / "m.safetensors").exists()


def test_without_candidates_nothing_is_selected_and_no_labels_are_needed(made, poolwise, tmp_path):
    done = poolwise("fit", f"{made.train}/cat", "-o", tmp_path / "m.safetensors", *QUICK, "--selection", "supervised")
    assert done.code == 0


def test_memory_that_is_missing_is_counted(made, poolwise, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.support.memory.available_bytes", lambda: 100_000)
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *SUPERVISED)
    assert (done.code, done.out) == (3, "")
    assert "the sample of 3,000 local vectors needs 1.3 MB, and this machine has 100.0 kB left. Give fewer patches" in done.err
    assert "not enough memory; give fewer --patches, --candidates" in done.err


def stacked(features, images):
    """Features of the images and of their mirror images, and labels twice."""
    pixels = images[:]
    X = np.vstack([features.transform(pixels), features.transform(pixels[:, :, ::-1])])
    return X, np.concatenate([images.labels, images.labels])


@pytest.mark.parametrize("more", [("--classifier", "svm"), ("--gamma", "0.1", "--candidates", "24", "--slim")])
def test_a_classifier_learns_from_mirror_images_too(made, poolwise, tmp_path, more):
    path, images = tmp_path / "m.safetensors", open_images(made.train)
    done = poolwise("fit", made.train, "-o", path, *QUICK, "--mirror-training", *more, "--json")
    assert (done.code, done.err) == (0, "")
    features, svm = (step for _, step in load(path).steps)
    expected = LinearSVM(0.1 if "--gamma" in more else "auto").fit(*stacked(features, images))
    np.testing.assert_allclose(svm.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(svm.intercept_, expected.intercept_, rtol=1e-6, atol=1e-9)
    alone = library(n_candidates=24 if "--gamma" in more else None).fit(images)
    np.testing.assert_array_equal(features.codes_, alone.codes_)  # features are learned from the images themselves
    assert describe(path).provenance["mirrored"] is True
    assert json.loads(done.out)["mirrored"] is True
    assert describe(made.model).provenance["mirrored"] is False


def test_folds_of_cv_keep_an_image_and_its_mirror_image_together(made, poolwise, tmp_path):
    path, images = tmp_path / "m.safetensors", open_images(made.train)
    assert poolwise("fit", made.train, "-o", path, *QUICK, "--mirror-training", "--classifier", "cv").code == 0
    features, svm = (step for _, step in load(path).steps)
    folds = mirrored_folds(images.labels, 5)
    expected = LinearSVMCV(cv=folds).fit(*stacked(features, images))
    np.testing.assert_array_equal(svm.scores_, expected.scores_)
    np.testing.assert_allclose(svm.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    assert svm.cv == "auto"  # the file has no row numbers


def test_mirrored_folds_are_those_of_the_images_twice(rng):
    labels = rng.integers(0, 3, 40)
    for (train, test), (one, other) in zip(mirrored_folds(labels, 5), StratifiedKFold(5).split(labels, labels), strict=True):
        assert sorted(train) == sorted([*one, *(one + 40)])
        assert sorted(test) == sorted(other)
        assert set(test % 40).isdisjoint(train % 40)


def test_mirror_images_are_read_block_by_block(rng):
    pixels = rng.integers(0, 256, (7, 4, 5, 3), dtype=np.uint8)
    asked = []

    class Source:
        shape, dtype = pixels.shape, pixels.dtype

        def __len__(self):
            return len(pixels)

        def __getitem__(self, rows):
            asked.append(rows)
            return pixels[rows]

    mirrored = Mirrored(Source())
    assert (mirrored.shape, mirrored.dtype, len(mirrored)) == ((7, 4, 5, 3), np.uint8, 7)
    assert asked == []
    for rows in (slice(2, 4), np.array([6, 0])):
        np.testing.assert_array_equal(mirrored[rows], np.stack([np.fliplr(image) for image in pixels[rows]]))
    assert len(asked) == 2


PLAN = ("--sizes", "3,5,8", "--predict", "16", "--runs", "1", *QUICK_PLAN, "--patches", "2000")


def test_plan_gives_labels_to_the_selection(made, poolwise):
    done = poolwise("plan", made.train, "--test", made.test, *PLAN, "--selection", "supervised", "--json")
    assert done.code == 0, done.err
    method = json.loads(done.out)["methods"][1]
    train, test = open_images(made.train), open_images(made.test)
    for row in method["rows"][:3]:
        K = row["codes"]
        how = {"n_patches": 2000, "dictionary": KMeans(max_iter=5), "selection": "supervised", "random_state": 0}
        features = paper_features(K, 4 * K, **how)
        svm = LinearSVM(None).fit(features.fit_transform(train, train.labels), train.labels)
        assert row["accuracies"] == [svm.score(features.transform(test), test.labels)]


def test_plan_counts_the_features_of_second_order(made, poolwise):
    more = ("--pool", "second_order", "--two-sided", "--no-candidates", "--json")
    (method,) = json.loads(poolwise("plan", made.train, "--test", made.test, *PLAN, *more).out)["methods"]
    assert [row["features"] for row in method["rows"]] == [4 * (2 * K) * (2 * K + 1) // 2 for K in (3, 5, 8, 16)]
    assert set(method["cost"]) == {"milliseconds", "ratio"}


def test_plan_refuses_what_candidates_would_not_take_before_work(made, poolwise, monkeypatch):
    monkeypatch.setattr("poolwise.images.open_images", None)
    done = poolwise("plan", made.train, *PLAN, "--selection", "supervised", "--super-patches", "50")
    assert (done.code, done.out) == (2, "")
    assert "--selection supervised looks at whole images with their labels; give --super-patches none" in done.err
