"""Layers on layers: against the same computed by hand, in blocks of any size, from a file, and as a scikit-learn estimator."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, PooledFeatures, StackedFeatures, load, save
from poolwise.method.descriptors import Patches
from poolwise.method.pooling.cells import cell_edges
from poolwise.method.stack import Maps

from settings import QUICK, paper_features


def first(**more):
    return paper_features(**{**QUICK, **more})


def second(**more):
    return paper_features(**{**QUICK, "n_codes": 6, "descriptor": Patches(3), **more})


@pytest.fixture(scope="module")
def stack(photos):
    return StackedFeatures([first(), second()], map_cells=7).fit(photos)


def maps_by_hand(model, images, cells):
    """Averages of the first layer's activations in cells × cells, standardised over all images and cells."""
    layer = model.layer_
    P = layer.descriptor(images.astype(np.float64))
    n, h, w, d = P.shape
    F = layer.encoder(layer.whitening(P.reshape(-1, d)), layer.codes.astype(np.float64)).reshape(n, h, w, -1)
    edges = list(cell_edges(h, cells))
    x = np.stack(
        [np.stack([F[:, a:b, c:e].mean(axis=(1, 2)) for c, e in pairwise(edges)], axis=1) for a, b in pairwise(edges)],
        axis=1,
    )
    return x


def test_maps_are_what_the_codes_respond_in_each_cell(stack, photos):
    maps = Maps(stack.maps_[0], photos)
    assert maps.shape == (len(photos), 7, 7, 8)
    x = maps_by_hand(stack.layers_[0], photos, 7)
    expected = 128 + 40 * (x - x.mean(axis=(0, 1, 2))) / np.sqrt(x.var(axis=(0, 1, 2)) + 1e-6)
    np.testing.assert_allclose(maps[:], expected, atol=0.05)
    np.testing.assert_array_equal(maps[np.array([5, 2])], maps[:][[5, 2]])


def test_the_second_layer_is_a_layer_of_the_maps(stack, photos):
    alone = second().fit(Maps(stack.maps_[0], photos)[:])
    X = np.concatenate([first().fit(photos).transform(photos), alone.transform(Maps(stack.maps_[0], photos)[:])], axis=1)
    np.testing.assert_allclose(stack.transform(photos), X, atol=1e-4)


def test_the_last_layer_alone(stack, photos):
    last = StackedFeatures([first(), second()], map_cells=7, output="last").fit(photos)
    np.testing.assert_array_equal(last.transform(photos), stack.transform(photos)[:, -last.layers_[1].layer_.n_features :])
    assert len(last.get_feature_names_out()) == last.transform(photos[:2]).shape[1]
    assert stack.get_feature_names_out()[0] == "layer0_pool2x2_r0c0_code0"
    assert stack.get_feature_names_out()[-1] == "layer1_pool2x2_r1c1_code5"


def test_few_images_give_what_many_give(stack, photos):
    X = stack.transform(photos)
    np.testing.assert_array_equal(stack.transform(photos[7:9]), X[7:9])


def test_three_layers_and_labels(photos):
    labels = np.arange(len(photos)) % 4
    layers = [first(), second(), PooledFeatures(4, descriptor=Patches(2), n_patches=1000, random_state=0)]
    stack = StackedFeatures(layers, map_cells=7).fit(photos, labels)
    assert [one.layer_.image_shape for one in stack.layers_] == [(32, 32, 3), (7, 7, 8), (5, 5, 6)]
    assert stack.layers_[2].selection_ is not None  # by labels: the default


def test_a_stack_survives_a_file(stack, photos, tmp_path):
    save(stack, tmp_path / "stack.safetensors")
    again = load(tmp_path / "stack.safetensors")
    assert again.transform(photos).tobytes() == stack.transform(photos).tobytes()
    assert (again.image_shape_in_, again.n_features_in_) == (stack.image_shape_in_, stack.n_features_in_)
    labels = np.arange(len(photos)) % 3
    model = make_pipeline(clone(stack), LinearSVM()).fit(photos, labels)
    save(model, tmp_path / "both.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "both.safetensors").predict(photos), model.predict(photos))


def test_the_same_bits_on_any_number_of_threads(stack, photos):
    two = StackedFeatures([first(n_jobs=2), second(n_jobs=2)], map_cells=7).fit(photos)
    assert two.transform(photos).tobytes() == stack.transform(photos).tobytes()


@pytest.mark.parametrize("later", ["auto", None])
def test_scaled_bands_of_the_first_layer(photos, later):
    """Images that are scaled by hand give the same; what a later layer learns from is what it sees in `transform`."""
    bands = [(0, 100), (50, 255), (-10, 300)]
    stack = StackedFeatures([first(bands=bands), second(bands=later)], map_cells=7).fit(photos)
    X = stack.transform(photos)
    scaled = stack.layers_[0].bands_(photos)
    np.testing.assert_allclose(StackedFeatures([first(bands=None), second()], map_cells=7).fit(scaled).transform(scaled), X)
    alone = second(bands=None).fit(Maps(stack.maps_[0], scaled))
    np.testing.assert_allclose(alone.transform(Maps(stack.maps_[0], scaled)), X[:, -alone.layer_.n_features :], atol=1e-5)


def test_a_fit_that_fails_leaves_the_stack_as_it_was(stack, photos):
    X = stack.transform(photos[:3])
    with pytest.raises(ValueError, match=r"images"):
        stack.fit("nothing")
    np.testing.assert_array_equal(stack.transform(photos[:3]), X)


@pytest.mark.parametrize(
    ("stack", "says"),
    [
        (StackedFeatures([]), "layers must be 1 to 8"),
        (StackedFeatures([1]), "layers must be 1 to 8"),
        (StackedFeatures([first(), second(image_shape=(4, 4))]), "image_shape is for the first layer"),
        (StackedFeatures([first(), second(statistics=True)]), "give statistics=True to the first alone"),
        (StackedFeatures([first(), second(bands="standardize")]), "maps, whose numbers are like those of pixels already"),
        (StackedFeatures([first(), second(bands=[(0, 100)] * 8)]), r"maps, .* leave out bands=\[\(0, 100\)"),
        (StackedFeatures([first()], map_cells=0), "map_cells must be"),
        (StackedFeatures([first()], output="both"), "output must be"),
    ],
)
def test_values_without_a_meaning(photos, stack, says):
    with pytest.raises(ValueError, match=says):
        stack.fit(photos)


def _halves(images):
    return images[:, ::2, ::2].astype(np.float32)


def test_a_stack_on_a_function_of_the_users_own_is_given_it_again(photos, tmp_path):
    stack = StackedFeatures([first(descriptor=_halves), second()], map_cells=7).fit(photos)
    save(stack, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="give it again"):
        load(tmp_path / "model.safetensors").transform(photos)
    again = load(tmp_path / "model.safetensors", descriptor=_halves)
    np.testing.assert_array_equal(again.transform(photos), stack.transform(photos))


def test_a_stack_on_patches_refuses_a_function(stack, tmp_path):
    save(stack, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="load it without `descriptor`"):
        load(tmp_path / "model.safetensors", descriptor=_halves)
