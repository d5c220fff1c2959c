"""The exported graph in onnxruntime against the library, part by part: features to 1e-4 of their scale, the same labels."""

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from PIL import Image
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures, open_images
from poolwise.export import to_onnx
from poolwise.export.resizing import triangle_weights
from poolwise.method.descriptors import Patches

from exporting import CONFIGURATIONS, QUICK, REFERENCE, SIDE, agree, planes, run, session


@pytest.fixture(scope="module")
def data(photos):
    """60 pieces of three pictures with their labels, 12×12."""
    labels = np.repeat(["cat", "grass", 'a page, "quoted"'], 20)
    pieces = [photos[(i // 20) * 10 + i % 10, 16 * (i % 2) : 16 * (i % 2) + SIDE, 4 : 4 + SIDE] for i in range(60)]
    return np.stack(pieces), labels


@pytest.fixture(scope="module")
def odd(
    data,
):
    """Flat, bright, dark and constant images, noise of one step, half and half, and a natural one."""
    rng = np.random.default_rng(0)
    shape = (SIDE, SIDE, 3)
    half = np.zeros(shape, np.uint8)
    half[:, 6:] = 255
    return np.stack(
        [
            np.full(shape, 255, np.uint8),
            np.zeros(shape, np.uint8),
            np.full(shape, (200, 10, 90), np.uint8),
            rng.integers(254, 256, shape).astype(np.uint8),
            rng.integers(0, 2, shape).astype(np.uint8),
            half,
            data[0][0],
        ]
    )


@pytest.fixture(scope="module")
def fitted(data):
    """Models of the configurations, each made once."""
    made = {}

    def get(name):
        if name not in made:
            images, labels = data
            features = PooledFeatures(**QUICK | CONFIGURATIONS[name])
            made[name] = make_pipeline(features, LinearSVM(n_jobs=1)).fit(images, labels)
        return made[name]

    return get


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration(fitted, data, odd, name):
    model, images = fitted(name), np.concatenate([odd, data[0][::10]])
    expected, labels = model[0].transform(images), model.predict(images)
    margins = model[1].decision_function(expected)
    found = run(model, planes(images))
    agree(found["features"], expected)
    agree(found["margins"], margins.astype(np.float32), 1e-3)
    clear = np.sort(margins, axis=1)[:, -1] - np.sort(margins, axis=1)[:, -2] > 1e-3 * np.abs(margins).max()
    assert clear.sum() >= 8
    assert found["label"][clear].tolist() == labels[clear].tolist()
    assert model[1].classes_[found["label_index"]].tolist() == found["label"].tolist()
    real, one = session(model, dtype="float32", layout="NHWC"), images[:1].astype(np.float32)
    agree(real.run(["features"], {"images": one})[0], expected[:1])
    agree(real.run(["features"], {"images": images[:7].astype(np.float32)})[0], expected[:7])


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_evaluator_agrees(fitted, odd, name):
    model = fitted(name)
    features, label = ReferenceEvaluator(to_onnx(model)).run(["features", "label"], {"images": planes(odd)})
    agree(features, model[0].transform(odd))
    assert label.tolist() == run(model, planes(odd))["label"].tolist()


@pytest.mark.parametrize("output", ["all", "last"])
def test_layers_on_layers(data, odd, output):
    images, labels = data
    second = PooledFeatures(**QUICK | {"descriptor": Patches(2)})
    first = PooledFeatures(**QUICK | {"symmetry": "mirror", "statistics": True})
    stack = StackedFeatures([first, second], map_cells=5, output=output, n_jobs=1)
    model = make_pipeline(stack, LinearSVM(n_jobs=1)).fit(images, labels)
    found = run(model, planes(odd))
    agree(found["features"], stack.transform(odd))
    assert found["label"].tolist() == model.predict(odd).tolist()


@pytest.mark.parametrize("count", [2, 3])
def test_probabilities_and_numbers_as_labels(data, count):
    """Of two classes the graph gives two margins, minus and plus the one that there is."""
    images, labels = data
    numbers = np.unique(labels, return_inverse=True)[1][: 20 * count] * 10 + 7
    model = make_pipeline(PooledFeatures(**QUICK), LinearSVMCV([0.01], cv=3, n_jobs=1)).fit(images[: 20 * count], numbers)
    found, F = run(model, planes(images)), model.decision_function(images)
    assert found["margins"].shape == (60, count)
    assert np.allclose(found["margins"], np.stack([-F, F], axis=1) if count == 2 else F, atol=1e-4)
    assert np.allclose(found["probabilities"], model.predict_proba(images), atol=1e-4)
    assert found["label"].tolist() == [str(label) for label in model.predict(images)]


def test_features_alone(fitted, odd):
    ready = session(fitted("paper")[0])
    assert [one.name for one in ready.get_outputs()] == ["features"]
    agree(ready.run(None, {"images": planes(odd)})[0], fitted("paper")[0].transform(odd))


def test_grey_images_and_rows(data):
    images = data[0][:, :, :, 0]
    grey = PooledFeatures(**QUICK).fit(images)
    agree(run(grey, images[:, None])["features"], grey.transform(images))
    rows = PooledFeatures(**QUICK).fit(images.reshape(60, -1)[:, :40])
    agree(run(rows, images.reshape(60, 1, 1, -1)[..., :40])["features"], rows.transform(images.reshape(60, -1)[:, :40]))


@pytest.mark.filterwarnings("ignore:all pixels lie")
@pytest.mark.parametrize(
    ("gain", "level", "offset"), [(100, 20_000, 10.0), (1 / 255, 0, 0.04), (1, 3000, 10.0), (30, -5000, 0.0)]
)
def test_numbers_of_another_range(data, gain, level, offset):
    """Moments of patches are sums in float64 there; in float32 they would be off by far more."""
    images = (data[0] * np.float64(gain) + level).astype(np.float32)
    images[0] = level + 7 * gain
    model = PooledFeatures(**QUICK | {"bands": None, "descriptor": Patches(4, offset=offset)}).fit(images)
    agree(run(model, planes(images), dtype="float32")["features"], model.transform(images))


@pytest.mark.filterwarnings("ignore:all pixels lie")
def test_statistics_of_large_numbers_that_hardly_differ(data):
    """Squares of such numbers have no digits left for their differences in float32."""
    images = (data[0].astype(np.float32) / 50 + 60_000).astype(np.float32)
    model = PooledFeatures(**QUICK | {"bands": None, "statistics": True}).fit(images)
    codes = model.layer_.n_code_features
    expected = model.transform(images)[:, codes:]
    assert expected.std(axis=0).min() > 0.1
    agree(run(model, planes(images), dtype="float32")["features"][:, codes:], expected)


@pytest.mark.parametrize("size", [(12, 31), (40, 12), (37, 50), (5, 7), (12, 12)])
def test_resizing_inside_is_that_of_open_images(tmp_path, data, fitted, size):
    """Pixels of 8 bits are those of Pillow to the bit, rounding included."""
    model, rng = fitted("paper")[0], np.random.default_rng(0)
    pictures = [np.asarray(Image.fromarray(image).resize(size[::-1], Image.Resampling.BICUBIC)) for image in data[0][:6]]
    pictures.append(rng.integers(0, 256, (*size, 3)).astype(np.uint8))
    for number, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / f"{number}.png")
    resized = open_images(tmp_path, resize=(SIDE, SIDE))[:]
    weights = [triangle_weights(size[0], SIDE), triangle_weights(size[1], SIDE)]
    exact = np.einsum("ij,njkc,lk->nilc", weights[0], np.stack(pictures).astype(float), weights[1])
    assert np.abs(exact - resized).max() <= 1.01
    found = run(model, planes(np.stack(pictures)), resize=size)["features"]
    agree(found, model.transform(resized))
    real = run(model, planes(np.stack(pictures)).astype(np.float32), resize=size, dtype="float32")["features"]
    agree(real, model.transform(exact.astype(np.float32)))


def test_a_batch_is_free(fitted, data):
    """One image gives the same numbers as that image among others."""
    ready, images = session(fitted("defaults")), planes(data[0][:7])
    together = ready.run(["features"], {"images": images})[0]
    alone = np.concatenate([ready.run(["features"], {"images": images[i : i + 1]})[0] for i in range(7)])
    assert np.allclose(together, alone, atol=1e-5)
