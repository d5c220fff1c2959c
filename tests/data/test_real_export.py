"""The exported graph on 1,000 test images of CIFAR-10: every configuration, in batches of 1 and 7, uint8 and float32."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures
from poolwise.datasets import fetch_cifar10
from poolwise.method.descriptors import Patches

from exporting import CONFIGURATIONS, PATCH, QUICK, agree, planes, session

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def cifar(data_home):
    X, y = fetch_cifar10(data_home=data_home, return_X_y=True)
    test = fetch_cifar10(data_home=data_home, subset="test")
    return X[:400], y[:400], test.images[:1000]


def larger(name):
    """The same configuration with patches of 6×6 and twice the codes."""
    setting = QUICK | CONFIGURATIONS[name]
    cut = setting["descriptor"]
    setting["descriptor"] = cut.but(size=6) if cut.patch_size == (PATCH, PATCH) else cut
    few = {"n_codes": 2 * setting["n_codes"], "n_patches": 2000, "n_jobs": 2}
    assert isinstance(cut, Patches)
    return setting | few


def in_batches(ready, images, size):
    """Features and labels."""
    parts = [ready.run(["features", "label"], {"images": images[i : i + size]}) for i in range(0, len(images), size)]
    return [np.concatenate(found) for found in zip(*parts, strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_thousand_images(cifar, name):
    """Labels may differ only where two margins are nearly equal."""
    images, labels, test = cifar
    model = make_pipeline(PooledFeatures(**larger(name)), LinearSVM(n_jobs=2)).fit(images, labels)
    expected = model[0].transform(test)
    margins = np.sort(model[1].decision_function(expected), axis=1)
    near = margins[:, -1] - margins[:, -2] <= 1e-4 * np.abs(margins).max()
    for size, dtype in ((7, "uint8"), (1, "float32")):
        features, found = in_batches(session(model, dtype=dtype), planes(test).astype(dtype), size)
        off = np.abs(features - expected).max() / np.abs(expected).max()
        differ = found != [str(label) for label in model[1].classes_[model.decision_function(test).argmax(axis=1)]]
        print(f"{name}: {off:.1e} of the scale, {differ.sum()} other labels, {near.sum()} near ties")
        agree(features, expected)
        assert not (differ & ~near).any()
