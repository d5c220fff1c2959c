"""Each compiled loop next to its plain NumPy statement."""

import numpy as np
import pytest
import scipy.linalg

from poolwise.kernels import extraction, kmeans, moments, roots, svm
from poolwise.kernels.constants import MAX, SQUARE, SUM
from poolwise.method.descriptors.patches import view_patches


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("use_std", [True, False])
def test_contrast_and_patch_columns(rng, stride, use_std):
    image = rng.uniform(0, 255, size=(17, 14, 3)).astype(np.float32)
    planes = np.ascontiguousarray(image.transpose(2, 0, 1))
    patches = view_patches(image, (4, 5), stride).astype(np.float64)
    h, w = patches.shape[:2]
    mean, gain = np.empty((h, w), np.float32), np.empty((h, w), np.float32)
    extraction.contrast(planes, 4, 5, stride, use_std, 10.0, mean, gain)
    p = patches.reshape(h, w, -1)
    expected = 1 / (p.std(axis=2) + 10) if use_std else 1 / np.sqrt(p.var(axis=2, ddof=1) + 10)
    np.testing.assert_allclose(mean, p.mean(axis=2), rtol=1e-6)
    np.testing.assert_allclose(gain, expected, rtol=1e-5)

    centre = rng.normal(size=60).astype(np.float32)
    y0, x0 = 1, 2  # the tile's upper left position; it reaches to the lower right corner of the grid
    high, wide = (h - y0 - 1) * stride + 4, w - x0
    strips = np.empty((5 * 3, high * wide), np.float32)
    extraction.shifted_strips(planes, 5, stride, y0 * stride, high, x0, wide, strips)
    tile_mean, tile_gain, tile = mean[y0:, x0:].ravel(), gain[y0:, x0:].ravel(), p[y0:, x0:].reshape(-1, 60)
    for n0, n1 in [(0, len(tile)), (2, len(tile) - 1), (len(tile) - 1, len(tile))]:
        A = np.empty((60, n1 - n0), np.float32)
        extraction.patch_columns(strips, 4, stride, wide, n0, n1, tile_mean, tile_gain, centre, A)
        normalized = (tile - tile_mean[:, None]) * tile_gain[:, None] - centre
        np.testing.assert_allclose(A, normalized[n0:n1].T, atol=1e-5)


@pytest.mark.parametrize(("how", "reduce"), [(SUM, "sum"), (SQUARE, "square"), (MAX, "max")])
@pytest.mark.parametrize(("signs", "thetas"), [([1], [0]), ([-1], [0.3]), ([1], [5.0]), ([1, -1, 1, -1], [0, 0, 0.7, 0.7])])
def test_pool_tile(rng, how, reduce, signs, thetas):
    signs, thetas = np.array(signs, np.float32), np.array(thetas, np.float32)
    sides = len(signs)
    y0, y1, x0, x1 = 2, 9, 3, 14
    w, total = x1 - x0, (y1 - y0) * (x1 - x0)
    Z = rng.normal(size=((y1 - y0) * (x1 - x0), 5)).astype(np.float32)
    y_edges, x_edges = np.array([0, 4, 7, 12]), np.array([0, 5, 20])
    atoms = np.full((3, 2, sides, 5), -np.inf if reduce == "max" else 0, np.float32)
    t = np.empty((sides, 5), np.float32)
    for n0, n1 in [(0, 1), (1, 30), (30, total)]:  # pieces that begin and end within a row
        extraction.pool_tile(Z[n0:n1], n0, n1, (y0, x0), w, y_edges, x_edges, signs, thetas, how, t, atoms)
    F = np.maximum(signs[:, None] * Z[:, None] - thetas[:, None], 0).reshape(y1 - y0, x1 - x0, sides, 5)
    for i in range(3):
        for j in range(2):
            ys = slice(max(y_edges[i] - y0, 0), max(y_edges[i + 1] - y0, 0))
            xs = slice(max(x_edges[j] - x0, 0), max(x_edges[j + 1] - x0, 0))
            part = F[ys, xs].reshape(-1, sides, 5)
            expected = {"sum": part.sum(0), "square": (part**2).sum(0), "max": part.max(0)}[reduce]
            np.testing.assert_allclose(atoms[i, j], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("corner", "high", "wide"), [((0, 0), 12, 20), ((2, 3), 7, 11), ((5, 0), 1, 20), ((11, 19), 1, 1)])
def test_positions_of_an_atom_become_neighbours(corner, high, wide):
    y_edges, x_edges = np.array([0, 4, 7, 12]), np.array([0, 5, 20])
    row, end = np.full(high * wide, -1), np.zeros((3, 2), np.int64)
    moments.group_by_atom(corner, high, wide, y_edges, x_edges, row, end)
    assert sorted(row) == list(range(high * wide))
    atom = [
        2 * (np.searchsorted(y_edges, corner[0] + n // wide, side="right") - 1)
        + np.searchsorted(x_edges, corner[1] + n % wide, side="right")
        - 1
        for n in range(high * wide)
    ]
    np.testing.assert_array_equal(np.searchsorted(end.ravel(), row, side="right"), atom)


def test_activations_of_a_tile_go_to_their_rows_and_columns(rng):
    Z, row = rng.normal(size=(6, 4)).astype(np.float32), rng.permutation(8)[:6]
    signs, thetas = np.array([1, -1, 1], np.float32), np.array([0.1, 0.2, 0.8], np.float32)
    F = np.full((8, 3 * 7), 9, np.float32)
    moments.activate_rows(Z, row, 2, 3, 7, signs, thetas, F)
    expected = np.full((8, 3, 7), 9.0)
    for n in range(6):
        for s in range(3):
            for k in range(3):
                expected[row[n], s, 2 + k] = max(0, signs[s] * Z[n, k] - thetas[s])
    np.testing.assert_allclose(F, expected.reshape(8, 21), rtol=1e-6)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_outer_products_are_added_to_their_atoms(rng, most):
    F = rng.normal(size=(9, 4)).astype(np.float32)
    end = np.array([[3, 3], [4, 9]])  # the second atom has no position in this tile
    atoms = rng.normal(size=(2, 2, 16)).astype(np.float32)
    before = atoms.astype(np.float64)
    moments.add_outer_products(F, end, most, np.empty((4, 4), np.float32), atoms)
    parts = [F[:3], F[:0], F[3:4], F[4:]]
    added = np.array([sum((np.outer(f, f) for f in part), np.zeros((4, 4))).ravel() for part in parts])
    np.testing.assert_allclose(atoms, before + added.reshape(2, 2, 16), atol=1e-5)


@pytest.mark.parametrize("K", [1, 2, 7, 40])
@pytest.mark.parametrize("offset", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_square_roots_of_matrices_of_any_rank(rng, K, offset, size):
    A = [size * rng.normal(size=(K, rank)) for rank in (1, K, 3 * K)]
    S = np.array([a @ a.T / K for a in A])
    least = offset * np.trace(S, axis1=1, axis2=2) / K
    S += least[:, None, None] * np.eye(K)
    out = np.empty(S.shape, np.float32)
    roots.square_roots(S.astype(np.float32), least, out)
    for ours, s in zip(out, S, strict=True):
        np.testing.assert_allclose(ours, scipy.linalg.sqrtm(s).real, atol=2e-4 * np.sqrt(np.trace(s)))


def test_the_square_root_of_nothing_is_nothing():
    out = np.ones((2, 3, 3), np.float32)
    roots.square_roots(np.array([np.zeros((3, 3)), 4 * np.eye(3)], np.float32), np.array([0.0, 0.4]), out)
    np.testing.assert_allclose(out, [np.zeros((3, 3)), 2 * np.eye(3)], atol=1e-5)


def test_triangle(rng):
    P, D = (10 + rng.normal(size=(n, 4)).astype(np.float32) for n in (30, 7))
    P[:7] = D + 1e-3  # patches close to a code, where |p|² - 2 p·d + |d|² would lose its digits
    Z = np.hstack([P @ D.T - (D**2).sum(axis=1) / 2, P]).astype(np.float32)
    extraction.triangle(Z, D)
    distance = np.linalg.norm(P[:, None] - D, axis=2)
    np.testing.assert_allclose(Z[:, :7], np.maximum(0, distance.mean(1, keepdims=True) - distance), atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_line_slopes_and_take_step(rng, dtype):
    F, P = rng.normal(size=(2, 3, 40)).astype(dtype)
    t, label, target, fold = rng.uniform(size=3), rng.integers(3, size=40), np.array([2, 0, 1]), np.array([1, 0, 1])
    weight, up, down = rng.uniform(size=(2, 40)), rng.uniform(size=3), rng.uniform(size=3)
    part = slice(5, 33)
    y = np.where(label == target[:, None], 1, -1)[:, part]
    w = weight[fold][:, part] * np.where(y > 0, up[:, None], down[:, None])
    moved = F + t[:, None] * P
    slack = np.maximum(0, 1 - y * moved[:, part])
    out, R, before = np.empty((3, 2)), np.full((3, 40), 9, dtype), F.copy()
    svm.line_slopes(F, P, t, label, target, weight, fold, up, down, 5, 33, out)
    p = P[:, part].astype(np.float64)
    np.testing.assert_allclose(out[:, 0], -2 * (w * slack * y * p).sum(1), rtol=1e-5)
    np.testing.assert_allclose(out[:, 1], 2 * (w * (slack > 0) * p * p).sum(1), rtol=1e-5)
    loss = np.empty(3)
    svm.take_step(F, P, t, label, target, weight, fold, up, down, 5, 33, R, loss)
    np.testing.assert_allclose(F[:, part], moved[:, part], rtol=1e-5)
    np.testing.assert_allclose(R[:, part], -2 * w * slack * y, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(loss, (w * slack**2).sum(1), rtol=1e-5)
    for outside in (slice(0, 5), slice(33, 40)):
        np.testing.assert_array_equal(F[:, outside], before[:, outside])
        assert (R[:, outside] == 9).all()


def test_weighted_sums(rng):
    X, weight, shift = rng.normal(size=(50, 4)).astype(np.float32), rng.uniform(size=50), rng.normal(size=4)
    first, second = np.ones(4), np.ones(4)
    svm.weighted_sums(X, weight, shift, first, second)
    np.testing.assert_allclose(first, 1 + weight @ (X - shift), rtol=1e-12)
    np.testing.assert_allclose(second, 1 + weight @ (X - shift) ** 2, rtol=1e-12)


def test_nearest_only_keeps_the_first_of_equals():
    Z = np.array([[1, 3, 3], [5, 0, 5], [-3, -2, -1]], np.float32)
    extraction.nearest_only(Z)
    np.testing.assert_array_equal(Z, [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("q", [1, 3, 4, 11])
def test_scan_codes_is_argmax_and_ties_keep_the_lower_code(rng, signed, q):
    Z = rng.integers(-3, 4, size=(q, 50)).astype(np.float32)  # small whole numbers: many ties
    half = np.zeros(q, np.float32) if signed else rng.integers(0, 2, size=q).astype(np.float32)
    score, label = np.full(50, -np.inf, np.float32), np.zeros(50, np.int32)
    kmeans.scan_codes(Z, 10, half, signed, score, label)
    S = np.abs(Z) if signed else Z - half[:, None]
    np.testing.assert_array_equal(score, S.max(axis=0))
    np.testing.assert_array_equal(label, 10 + S.argmax(axis=0))


@pytest.mark.parametrize(("rows", "codes"), [(7, 3), (64, 64), (1000, 5)])
def test_assign_shard_does_not_depend_on_its_tiles(rng, rows, codes):
    X, C = rng.normal(size=(100, 6)).astype(np.float32), rng.normal(size=(9, 6)).astype(np.float32)
    half = ((C**2).sum(axis=1) / 2).astype(np.float32)
    score, label = np.empty(100, np.float32), np.empty(100, np.int32)
    kmeans.assign_shard(X, C, half, False, rows, codes, score, label)
    np.testing.assert_array_equal(label, ((X[:, None] - C) ** 2).sum(axis=2).argmin(axis=1))


@pytest.mark.parametrize("signed", [False, True])
def test_sum_by_label(rng, signed):
    X, C = rng.normal(size=(100, 6)).astype(np.float32), rng.normal(size=(4, 6)).astype(np.float32)
    label = rng.integers(4, size=100).astype(np.int32)
    sums, counts = np.zeros((4, 6)), np.zeros(4, np.int64)
    square = kmeans.sum_by_label(X, label, C, signed, sums, counts)
    assert square == pytest.approx((X.astype(np.float64) ** 2).sum(), rel=1e-12)
    weight = (C[label] * X).sum(axis=1, keepdims=True) if signed else 1
    np.testing.assert_allclose(sums, np.eye(4)[label].T @ (weight * X.astype(np.float64)), atol=1e-5)
    np.testing.assert_array_equal(counts, np.bincount(label, minlength=4))
