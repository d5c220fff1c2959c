"""Images in processes of joblib, which gives them large arrays as memory maps to read only."""

import joblib
import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures, open_images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """24 images in two classes, 1.2 MB decoded: joblib maps arrays from 1 MB on."""
    home, rng = tmp_path_factory.mktemp("workers"), np.random.default_rng(0)
    for number in range(24):
        pixels = rng.integers(0, 256, size=(130, 130, 3)) // (1 + number % 2) ** 2
        (home / "ab"[number % 2]).mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(home / "ab"[number % 2] / f"{number:02}.png")
    return home


def pipeline():
    features = PooledFeatures.preset("jia2012", n_codes=4, n_patches=2000, dictionary__max_iter=2, random_state=0, n_jobs=1)
    return make_pipeline(features.set_params(pooling__grid=1, descriptor__stride=4), LinearSVM(None, n_jobs=1))


def test_cross_validation_in_processes_is_that_in_one(folder):
    images = open_images(folder)
    found = cross_val_score(pipeline(), images, images.labels, cv=2, n_jobs=2, error_score="raise")
    assert found.tolist() == cross_val_score(pipeline(), images, images.labels, cv=2, error_score="raise").tolist()
    search = GridSearchCV(pipeline(), {"pooledfeatures__n_codes": [3, 4]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(open_images(folder), images.labels)
    assert search.best_score_ > 0.5
    np.save(folder / "all.npy", images[:])
    mapped = open_images(folder / "all.npy", labels=images.labels)
    assert cross_val_score(pipeline(), mapped, mapped.labels, cv=2, n_jobs=2, error_score="raise").tolist() == found.tolist()


def test_fitted_models_transform_in_processes(folder):
    images = open_images(folder)
    features, svm = (step for _, step in pipeline().fit(images, images.labels).steps)
    run = joblib.Parallel(2, max_nbytes=100)  # their codes, scales and coefficients are mapped too
    expected = features.transform(images)
    tasks = [joblib.delayed(features.transform)(open_images(folder)), joblib.delayed(svm.predict)(expected)]
    X, labels = run(tasks)
    np.testing.assert_array_equal(X, expected)
    assert labels.tolist() == svm.predict(expected).tolist()
