"""The method in plain NumPy against a loop over patches, and what a layer knows of its own size."""

import itertools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Nearest, Threshold, Triangle
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.method.scale import Scale


def contrast(p, kind, offset):
    centred = p - p.mean()
    if kind == "std":
        return centred / (p.std() + offset)
    return centred / np.sqrt(p.var(ddof=1) + offset) if kind == "variance" else p


def activation(p, D, encoder):
    """As the paper words it, code by code."""
    if isinstance(encoder, Threshold):
        found = []
        for alpha in encoder.alpha if isinstance(encoder.alpha, tuple) else (encoder.alpha,):
            found += [max(0, d @ p - alpha) for d in D]
            found += [max(0, -d @ p - alpha) for d in D] if encoder.two_sided else []
        return found
    distance = [np.linalg.norm(p - d) for d in D]
    if isinstance(encoder, Triangle):
        return [max(0, np.mean(distance) - one) for one in distance]
    return [float(k == np.argmin(distance)) for k in range(len(D))]


def pooled(F, how, grid):
    """Position (y, x) of h × w belongs to cell (⌊y·rows/h⌋, ⌊x·columns/w⌋)."""
    h, w = len(F), len(F[0])
    reduce = {
        "average": np.mean,
        "sum": np.sum,
        "max": np.max,
        "rms": lambda f, axis: np.sqrt(np.mean(f**2, axis=axis)),
        "both": lambda f, axis: np.append(f.mean(axis=axis), f.max(axis=axis)),
    }[how]
    cells = []
    for rows, columns in grid:
        for i, j in itertools.product(range(rows), range(columns)):
            members = [F[y][x] for y in range(h) for x in range(w) if (y * rows // h, x * columns // w) == (i, j)]
            cells.append(reduce(np.array(members), axis=0))
    return np.array(cells)


def by_hand(layer, image):
    """One image, patch by patch."""
    (H, W, _), (ph, pw) = image.shape, layer.descriptor.patch_size
    D, cut = layer.codes.astype(np.float64), layer.descriptor
    F = []
    for y in range(0, H - ph + 1, cut.stride):
        F.append([])
        for x in range(0, W - pw + 1, cut.stride):
            p = contrast(image[y : y + ph, x : x + pw].ravel(), cut.contrast, cut.offset)
            F[-1].append(activation(layer.whitening.W.T @ (p - layer.whitening.m), D, layer.encoder))
    x = (pooled(F, layer.pooling.how, layer.pooling.grids) - layer.scale.mean) / layer.scale.spread
    return (x if layer.projection is None else np.array([layer.projection.T @ cell for cell in x])).ravel()


@pytest.mark.parametrize(
    "encoder", [Threshold(0.25, two_sided=False), Threshold((0.1, 0.6), two_sided=True), Triangle(), Nearest()], ids=repr
)
@pytest.mark.parametrize("how", [word for word in Pool.words if word != "auto"])
@pytest.mark.parametrize(
    ("shape", "descriptor", "grid"),
    [
        ((9, 11, 3), Patches(4), 2),
        ((10, 12, 1), Patches((2, 3), stride=2, contrast="variance"), [1, (2, 3)]),
        ((7, 6, 2), Patches((3, 2), contrast=None), (1, 2)),
    ],
)
def test_features_are_the_method_patch_by_patch(rng, make_layer, encoder, how, shape, descriptor, grid):
    images = rng.uniform(0, 255 if descriptor.contrast else 3, size=(2, *shape))
    layer = make_layer(rng, 5, shape=shape, descriptor=descriptor, encoder=encoder, pooling=Pool(how, grid))
    cells, outputs = layer.n_cells, layer.pooling.width(layer.n_outputs)
    shared = Scale(rng.normal(size=outputs), rng.uniform(0.5, 2, size=outputs))
    per_cell = Scale(rng.normal(size=(cells, outputs)), rng.uniform(0.5, 2, size=(cells, outputs)))
    for scale, projection in [
        (layer.scale, None),
        (shared, Projection("nystrom", rng.normal(size=(outputs, outputs)))),
        (per_cell, Projection("pca", rng.normal(size=(3, outputs)))),
    ]:
        whole = replace(layer, scale=scale, projection=projection)
        X = whole.features(images)
        assert X.dtype == np.float64
        np.testing.assert_allclose(X, [by_hand(whole, image) for image in images], rtol=1e-9, atol=1e-9)


def test_a_layer_knows_its_size(rng, make_layer):
    layer = make_layer(
        rng,
        7,
        shape=(20, 30, 3),
        descriptor=Patches((4, 6), stride=2),
        encoder=Threshold(0.25, two_sided=True),
        pooling=Pool("average", grid=[1, 2]),
    )
    assert layer.positions == (9, 13)
    assert layer.n_outputs == 14
    assert layer.n_cells == 5
    assert layer.n_features == 5 * 14
    assert layer.multiply_adds == {"encoding": 9 * 13 * 72 * 7, "pooling": 0, "projection": 0}
    projected = replace(layer, projection=Projection("pca", rng.normal(size=(4, 14))))
    assert projected.n_features == 5 * 4
    assert projected.multiply_adds == {"encoding": 9 * 13 * 72 * 7, "pooling": 0, "projection": 5 * 4 * 14}
    for one in (layer, projected):
        assert one.features(rng.uniform(0, 255, size=(2, 20, 30, 3))).shape == (2, one.n_features)


@pytest.mark.parametrize(("symmetry", "copies"), [(None, 1), ("mirror", 2), ("dihedral", 8)])
@pytest.mark.parametrize("rank", [None, 30])
def test_a_layer_knows_its_cost(rng, make_layer, symmetry, copies, rank):
    cut = Patches((4, 6), stride=2)
    layer = make_layer(rng, 7, shape=(20, 30, 3), descriptor=cut, pooling=SecondOrder(grid=1), rank=rank, symmetry=symmetry)
    positions, products = copies * 9 * 13, 72 * 7 if rank is None else 72 * 30 + 30 * 7
    assert layer.multiply_adds == {"encoding": positions * products, "pooling": positions * 7 * 7, "projection": 0}
    assert layer.n_features == 28


def test_features_of_every_encoder_and_pooling_are_as_many_as_it_says(rng, make_layer, photos, encoder, pooling):
    layer = make_layer(rng, 6, encoder=encoder, pooling=pooling)
    assert layer.features(photos[:2]).shape == (2, layer.n_features)
    assert layer.n_outputs == encoder.sides * 6


def test_activations_are_those_of_patches_as_the_descriptor_gives_them(rng, make_layer, photos, encoder):
    layer = make_layer(rng, encoder=encoder, pooling=Pool("average", grid=1))
    P = layer.descriptor(photos[:2].astype(np.float64)).reshape(-1, 108)
    F = layer.activations(P).reshape(2, -1, layer.n_outputs)
    np.testing.assert_allclose(F.mean(axis=1), layer.features(photos[:2]), atol=1e-6)


def test_outputs_of_codes_come_side_by_side(rng, make_layer):
    one, two = (make_layer(rng, 10, encoder=Threshold(0.25, two_sided=sides == 2)) for sides in (1, 2))
    assert one.outputs_of(np.array([2, 7])).tolist() == [2, 7]
    assert two.outputs_of(np.array([2, 7])).tolist() == [2, 7, 12, 17]


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("per_cell", [False, True])
def test_keeping_some_codes_keeps_their_features(rng, make_layer, photos, two_sided, per_cell):
    layer = make_layer(rng, 10, encoder=Threshold(0.25, two_sided=two_sided))
    shape = (4, layer.n_outputs) if per_cell else (layer.n_outputs,)
    layer = replace(layer, scale=Scale(rng.normal(size=shape), rng.uniform(1, 2, size=shape)))
    selected = np.array([1, 4, 8])
    kept = layer.keep(selected, None)
    whole = layer.features(photos[:2]).reshape(2, 4, -1)
    expected = whole[:, :, np.isin(np.arange(layer.n_outputs) % 10, selected)]
    np.testing.assert_allclose(kept.features(photos[:2]), expected.reshape(2, -1), rtol=1e-12)
    np.testing.assert_array_equal(kept.codes, layer.codes[selected])
    T = Projection("nystrom", rng.normal(size=(kept.n_outputs, kept.n_outputs)))
    np.testing.assert_allclose(layer.keep(selected, T).features(photos[:2]), (expected @ T.T.T).reshape(2, -1), rtol=1e-9)


def test_a_layer_cannot_change(rng, make_layer):
    with pytest.raises(FrozenInstanceError):
        make_layer(rng).codes = np.zeros((1, 108))
