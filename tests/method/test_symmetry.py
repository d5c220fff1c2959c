"""Features of an image and of its turned or mirrored copies are the same, in both passes and before any root."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Nearest, Threshold, Triangle
from poolwise.method.extraction import features_of, prepare
from poolwise.method.extraction.plain import PlainPass
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.method.recipe import Recipe
from poolwise.method.symmetry import N_COPIES, check_symmetry, copies
from poolwise.support.parameters import ParameterError

POOLINGS = [
    Pool("average", [1, (1, 3)]),
    Pool("max", 2),
    Pool("sum", (2, 1)),
    Pool("rms", 2),
    Pool("both", [1, 2]),
    SecondOrder((1, 2)),
]


def turned(images, symmetry):
    """Copies that show the same, written out."""
    mirrored = np.flip(images, 2)
    if symmetry == "mirror":
        return [images, mirrored]
    upside_down = [np.flip(images, 1), np.flip(mirrored, 1)]
    upright = [images, mirrored, *upside_down]
    return upright + [np.transpose(one, (0, 2, 1, 3)) for one in upright]


@pytest.mark.parametrize("symmetry", ["mirror", "dihedral"])
def test_copies_are_all_turns_and_mirrors_each_once(rng, symmetry):
    images = rng.integers(0, 256, size=(2, 5, 5, 3))
    found, expected = ({np.ascontiguousarray(one).tobytes() for one in some} for some in
                       (copies(images, symmetry), turned(images, symmetry)))  # fmt: skip
    assert found == expected
    assert len(found) == N_COPIES[symmetry] == len(list(copies(images, symmetry)))
    assert next(copies(images, symmetry)).tobytes() == images.tobytes()


def test_without_symmetry_there_is_the_image_alone(rng):
    images = rng.integers(0, 256, size=(2, 4, 7, 3))
    (only,) = copies(images, None)
    np.testing.assert_array_equal(only, images)


def layer_of(rng, make_layer, pooling, symmetry, encoder=None, shape=(13, 13, 3)):
    return make_layer(
        rng, 7, shape=shape, descriptor=Patches((3, 4), stride=2), encoder=encoder, pooling=pooling, symmetry=symmetry
    )


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
@pytest.mark.parametrize("symmetry", ["mirror", "dihedral"])
def test_an_image_and_its_copies_have_the_same_features(rng, make_layer, photos, pooling, symmetry):
    images = photos[:2, :13, :13]
    layer = layer_of(rng, make_layer, pooling, symmetry)
    expected = layer.features(images)
    for copy in turned(images, symmetry):
        np.testing.assert_allclose(layer.features(copy), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(features_of(prepare(layer), copy), expected, atol=1e-4 * max(1, np.abs(expected).max()))
    without = replace(layer, symmetry=None)
    assert np.abs(without.features(images) - without.features(turned(images, symmetry)[1])).max() > 1e-3


@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
@pytest.mark.parametrize("symmetry", ["mirror", "dihedral"])
def test_statistics_are_averaged_before_they_are_normalised(rng, make_layer, photos, pooling, symmetry):
    images = photos[:2, :13, :13]
    layer = layer_of(rng, make_layer, pooling, symmetry)
    alone = replace(layer, symmetry=None)
    if isinstance(pooling, SecondOrder):
        alone = replace(alone, pooling=pooling.but(normalize=None))
        x = np.mean([alone.features(copy) for copy in turned(images, symmetry)], axis=0).reshape(-1, layer.n_cells, 28)
        S = np.zeros((*x.shape[:2], 7, 7))
        S[..., *np.triu_indices(7)] = x / np.where(np.eye(7), 1, np.sqrt(2))[np.triu_indices(7)]
        S += np.triu(S, 1).swapaxes(-1, -2)
        expected = pooling.normalized(S).reshape(2, -1)
    elif pooling.how == "rms":
        expected = np.sqrt(np.mean([alone.features(copy) ** 2 for copy in turned(images, symmetry)], axis=0))
    else:
        expected = np.mean([alone.features(copy) for copy in turned(images, symmetry)], axis=0)
    np.testing.assert_allclose(layer.features(images), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("encoder", [Threshold((0.1, 0.7), True), Triangle(), Nearest()], ids=repr)
@pytest.mark.parametrize("pooling", POOLINGS, ids=repr)
@pytest.mark.parametrize(("symmetry", "shape"), [("mirror", (9, 14, 3)), ("dihedral", (13, 13, 3))])
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_both_passes_are_the_layer(rng, make_layer, photos, encoder, pooling, symmetry, shape, make_pass):
    images = photos[:2, : shape[0], : shape[1]]
    layer = layer_of(rng, make_layer, pooling, symmetry, encoder, shape)
    expected = layer.features(images)
    X = features_of(make_pass(layer), images)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, expected, atol=1e-3 * max(1.0, np.abs(expected).max()))


def test_turning_needs_square_images():
    with pytest.raises(ParameterError, match="symmetry='dihedral' turns images by 90°, which needs square ones; these are 8×9"):
        check_symmetry("dihedral", (8, 9))
    for symmetry, size in [("dihedral", (8, 8)), ("mirror", (8, 9)), (None, (8, 9))]:
        check_symmetry(symmetry, size)
    with pytest.raises(ParameterError, match="use the mirror image alone"):
        Recipe(symmetry="dihedral").checked().fitted_to((32, 24, 3))
    assert Recipe(symmetry="mirror").checked().fitted_to((32, 24, 3)).symmetry == "mirror"


@pytest.mark.parametrize("word", ["Mirror", "", "rotation", False, 8])
def test_an_unknown_symmetry_is_refused(word):
    with pytest.raises(ParameterError, match="symmetry must be one of 'auto', None, 'mirror', 'dihedral'; got"):
        Recipe(symmetry=word).checked()
