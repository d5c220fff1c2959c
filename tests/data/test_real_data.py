"""Figures on the real data sets: `make test-data` with POOLWISE_DATA, minutes each."""

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from poolwise import PooledFeatures

pytestmark = pytest.mark.data
GAMMA = 0.005


@pytest.fixture(scope="module")
def cifar10(data_home):
    folder = data_home / "cifar-10-batches-bin"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")

    def read(*names):
        rows = np.concatenate([np.fromfile(folder / name, np.uint8).reshape(-1, 3073) for name in names])
        return np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), rows[:, 0]

    return *read(*(f"data_batch_{i}.bin" for i in range(1, 6))), *read("test_batch.bin")


def test_cifar10_kmeans_200_reaches_the_papers_accuracy(cifar10):
    X_train, y_train, X_test, y_test = cifar10
    model = PooledFeatures.preset("jia2012", n_codes=200, random_state=0, verbose=1)
    F_train, F_test = model.fit_transform(X_train), model.transform(X_test)
    svm = OneVsRestClassifier(LinearSVC(C=1 / (2 * GAMMA * len(F_train)), dual=False, tol=1e-4), n_jobs=2)
    svm.fit(F_train.astype(np.float64), y_train)
    accuracy = 100 * svm.score(F_test, y_test)
    print(f"\nCIFAR-10, jia2012, K-means, K=200: {accuracy:.2f} % (the paper: 69.02)")
    assert accuracy == pytest.approx(69.0, abs=0.8)


def test_cifar10_codes_are_the_same_bits_on_1_2_and_4_threads(cifar10):
    images = cifar10[0][:10_000]
    settings = {"n_codes": 200, "n_patches": 100_000, "max_iter": 10, "random_state": 0}
    models = [PooledFeatures(**settings, n_jobs=n).fit(images) for n in (1, 2, 4)]
    assert len({model.codes_.tobytes() for model in models}) == 1
    whole = models[0].transform(images[:3000])
    parts = [models[1].transform(part) for part in np.array_split(images[:3000], 7)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_birds_of_128_pixels_with_the_papers_settings(data_home):
    path = data_home / "cub128.npz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    with np.load(path) as archive:
        images = archive["x_train"][:300]
    model = PooledFeatures(100, patch_size=5, pool="max", grid=4, n_patches=50_000, max_iter=10, random_state=0)
    features = model.fit_transform(images)
    assert features.shape == (300, 1600)
    assert np.isfinite(features).all()
