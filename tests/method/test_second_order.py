"""Second-order pooling against a loop over positions, with the matrix functions of SciPy; and the laws of its numbers."""

import itertools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import LLC, Nearest, Threshold, Triangle
from poolwise.method.extraction import features_of, fused, pooled_blocks, prepare
from poolwise.method.extraction.fused import FusedPass
from poolwise.method.extraction.plain import PlainPass
from poolwise.method.pooling import POOLINGS, Pool, SecondOrder
from poolwise.method.pooling.cells import as_grids, cut_cells
from poolwise.method.pooling.second_order import matrix_function
from poolwise.support.parameters import ParameterError

NORMALIZATIONS = ["root", "power", "log", None]
GRIDS = [1, 2, (3, 2), [1, 2, (1, 3)]]


def moments(F, grid):
    """Σ f fᵀ / n of the positions of each cell, one by one."""
    h, w, K = F.shape
    for rows, columns in as_grids(grid):
        for i, j in itertools.product(range(rows), range(columns)):
            members = [F[y, x] for y in range(h) for x in range(w) if (y * rows // h, x * columns // w) == (i, j)]
            yield sum((np.outer(f, f) for f in members), np.zeros((K, K))) / len(members)


def normalized(S, normalize, offset):
    """By SciPy, which knows nothing of symmetry; a matrix without any response stays 0."""
    if normalize is None or not S.any():
        return S
    if normalize == "power":
        return np.sign(S) * np.sqrt(np.abs(S))
    S = S + offset * np.trace(S) / len(S) * np.eye(len(S))
    return np.real(scipy.linalg.sqrtm(S) if normalize == "root" else scipy.linalg.logm(S))


def packed(S):
    """The upper triangle, row by row."""
    return [S[i, j] * (1 if i == j else np.sqrt(2)) for i in range(len(S)) for j in range(i, len(S))]


def unpacked(x, K):
    S = np.zeros((K, K))
    S[np.triu_indices(K)] = x
    return (S + S.T) / np.where(np.eye(K, dtype=bool), 2, np.sqrt(2))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shift", [0, 2, -2])
def test_against_a_loop_over_positions(rng, normalize, grid, shift):
    F = rng.normal(size=(7, 6, 4)) + shift
    pooling = SecondOrder(grid, normalize, 0.05)
    expected = [packed(normalized(S, normalize, 0.05)) for S in moments(F, grid)]
    np.testing.assert_allclose(pooling(F), expected, atol=1e-9)
    assert pooling(F).shape == (pooling.n_cells, pooling.width(4))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_statistics_are_the_moments_themselves(rng, normalize):
    F = rng.uniform(size=(5, 5, 3))
    np.testing.assert_allclose(SecondOrder([1, 2], normalize).statistics(F), list(moments(F, [1, 2])), rtol=1e-12)


ENCODERS = [Threshold(0.25, two_sided=False), Threshold((0.1, 0.6), two_sided=True), Triangle(), Nearest(), LLC()]


def in_float32(layer, images):
    """By hand, from activations in the layer's own formula."""
    P = layer.descriptor(images.astype(np.float64))
    n, h, w, d = P.shape
    F = layer.encoder(layer.whitening(P.reshape(-1, d)), layer.codes.astype(np.float64)).reshape(n, h, w, -1)
    pooling = layer.pooling
    return [np.ravel([packed(normalized(S, pooling.normalize, pooling.offset)) for S in moments(f, pooling.grid)]) for f in F]


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_both_passes_are_the_loop(rng, make_layer, photos, encoder, normalize, make_pass):
    images = photos[:2, :14, 4:22]
    cut, pooling = Patches(5, stride=2), SecondOrder([1, (2, 3)], normalize)
    layer = make_layer(rng, 6, shape=images.shape[1:], descriptor=cut, encoder=encoder, pooling=pooling)
    expected = np.array(in_float32(layer, images))
    np.testing.assert_allclose(layer.features(images), expected, atol=1e-8)
    ready = make_pass(layer)
    assert isinstance(ready, FusedPass) == (make_pass is prepare and not isinstance(encoder, LLC))
    X = features_of(ready, images)
    assert X.dtype == np.float32
    np.testing.assert_allclose(X, expected, atol=1e-3 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("tile", [1, 10, 40, 200])
@pytest.mark.parametrize("stride", [1, 2])
def test_tiles_of_positions_do_not_show(rng, make_layer, photos, monkeypatch, tile, stride):
    ready = prepare(make_layer(rng, 9, descriptor=Patches(stride=stride), pooling=SecondOrder([2, 3], None)))
    whole = ready.pooled(photos[:2])
    monkeypatch.setattr(fused, "_POSITIONS_PER_TILE", tile)
    np.testing.assert_allclose(ready.pooled(photos[:2]), whole, atol=1e-5)


def test_more_codes_than_one_tile_holds(rng, make_layer, photos):
    layer = make_layer(rng, 70, encoder=Threshold(0.25, two_sided=True), pooling=SecondOrder(1))
    np.testing.assert_allclose(features_of(prepare(layer), photos[:1]), layer.features(photos[:1]), atol=1e-4)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_the_same_bits_on_any_number_of_threads(rng, make_layer, photos, normalize):
    ready = prepare(make_layer(rng, 30, pooling=SecondOrder(2, normalize)))
    found = set()
    for n_jobs in (1, 2, 4):
        with Threads(n_jobs) as engine:
            found.add(np.concatenate([X for _, X in pooled_blocks(ready, photos[:40], engine)]).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("offset", [0.0, 0.1])
@pytest.mark.parametrize("make_pass", [prepare, PlainPass])
def test_images_without_any_response_give_zeros(rng, make_layer, normalize, offset, make_pass):
    images = np.zeros((2, 12, 12, 1), np.uint8)
    pooling = SecondOrder([1, 2], normalize, offset)
    layer = make_layer(
        rng, 5, shape=(12, 12, 1), descriptor=Patches(4), encoder=Threshold(100.0, two_sided=False), pooling=pooling
    )
    np.testing.assert_array_equal(layer.features(images), 0)
    np.testing.assert_array_equal(features_of(make_pass(layer), images), 0)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("offset", [0.0, 1e-3, 0.1])
def test_one_position_and_outputs_that_never_respond_give_finite_numbers(rng, normalize, offset):
    F = rng.uniform(size=(3, 3, 5)).astype(np.float32)
    F[..., 2] = 0
    for f in (F, F[:1, :1], 1e-12 * F, 1e-20 * F, 1e8 * F):
        pooling = SecondOrder(1, normalize, offset)
        for dtype in (np.float32, np.float64):
            assert np.isfinite(pooling(f.astype(dtype))).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from(NORMALIZATIONS), st.floats(-3, 3))
@settings(max_examples=60, deadline=None)
def test_laws_of_positive_matrices(seed, K, normalize, shift):
    F = np.random.default_rng(seed).normal(size=(4, 5, K)) + shift
    S = next(moments(F, 1))
    (x,) = SecondOrder(1, normalize, 0.1)(F)
    matrix = normalized(S, normalize, 0.1)
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(matrix), rel=1e-6)
    found = unpacked(x, K)
    np.testing.assert_allclose(found, matrix, atol=1e-6)
    if normalize in ("root", None):
        assert np.linalg.eigvalsh(found).min() > -1e-9
    if normalize == "root":
        np.testing.assert_allclose(found @ found, S + 0.1 * np.trace(S) / K * np.eye(K), rtol=1e-7, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NORMALIZATIONS))
@settings(max_examples=30, deadline=None)
def test_scalar_products_are_those_of_the_matrices(seed, normalize):
    F, G = np.random.default_rng(seed).uniform(size=(2, 4, 5, 3))
    (x,), (y,) = (SecondOrder(1, normalize)(one) for one in (F, G))
    S, T = (normalized(next(moments(one, 1)), normalize, 0.1) for one in (F, G))
    assert x @ y == pytest.approx(np.trace(S @ T), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("function", ["root", "log"])
def test_matrix_functions_are_those_of_scipy(rng, function):
    A = rng.normal(size=(2, 3, 5, 5))
    S = A @ np.swapaxes(A, -1, -2) + 0.1 * np.eye(5)
    theirs = [[(scipy.linalg.sqrtm if function == "root" else scipy.linalg.logm)(s) for s in row] for row in S]
    np.testing.assert_allclose(matrix_function(S, function), theirs, atol=1e-8)


def test_a_turn_of_the_outputs_turns_the_root_and_the_logarithm(rng):
    F, Q = rng.normal(size=(6, 6, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    for normalize in ("root", "log", None):
        pooling = SecondOrder(1, normalize)
        (x,), (y,) = pooling(F), pooling(F @ Q)
        np.testing.assert_allclose(unpacked(y, 4), Q.T @ unpacked(x, 4) @ Q, atol=1e-9)


def test_numbers_and_their_names(rng):
    pooling = SecondOrder(1)
    assert pooling.names(["a", "b", "c"]) == ["a*a", "a*b", "a*c", "b*b", "b*c", "c*c"]
    assert [pooling.width(n) for n in (1, 2, 3, 200)] == [1, 3, 6, 20100]
    assert pooling.products(7) == 49
    assert SecondOrder([1, (2, 3)]).n_cells == 7
    assert SecondOrder([1, (2, 3)]).first_order() == Pool("average", [1, (2, 3)])


def test_a_grid_that_fits_stays_and_one_that_does_not_is_refused_or_clipped():
    assert SecondOrder(2, "log", 0.3).fitted_to((5, 5)) == SecondOrder([(2, 2)], "log", 0.3)
    with pytest.raises(ParameterError, match="a grid of 3 cells does not fit"):
        SecondOrder((1, 3)).fitted_to((5, 2))
    assert SecondOrder([1, (2, 3)]).fitted_to((1, 2), clip=True) == SecondOrder([(1, 1), (1, 2)])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"normalize": "sqrt"}, "normalize must be one of 'root', 'power', 'log', None; got 'sqrt'"),
        ({"offset": -1}, "offset must be a finite number of at least 0; got -1"),
        ({"offset": None}, "offset must be a finite number of at least 0; got None"),
        ({"grid": 0}, "grid must be"),
    ],
)
def test_senseless_values_are_refused(wrong, text):
    with pytest.raises(ParameterError, match=text):
        POOLINGS.check("pooling", SecondOrder(**wrong))


def test_moments_of_a_pyramid_are_weighted_means_of_their_parts(rng):
    F = rng.normal(size=(7, 5, 3)).astype(np.float32)
    pooling = SecondOrder([1, 2], None)
    cells = cut_cells((7, 5), pooling.grids)
    whole, *parts = pooling.statistics(F.astype(np.float64))
    np.testing.assert_allclose(whole, np.average(parts, axis=0, weights=cells.sizes[1:]), atol=1e-12)
