"""Images to pooled activations: contrast, patches as columns, activation and pooling of one tile.

planes : (c, H, W)  one image, channel first        A : (d + 1, n)   n patches as columns, the last row is ones
B      : (d + 1, q) a tile of the folded dictionary Z : (n, q)       Z = AᵀB, the responses of one tile
"""

from typing import NamedTuple

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled, evenly
from poolwise.kernels.constants import BOTH, CONSTANT, MAX, NEAREST, NONE, SQUARE, SUM, TRIANGLE
from poolwise.kernels.moments import activate_rows, add_outer_products, group_by_atom
from poolwise.support.types import Array

_CLOSE_SHARE = 1e-3  # of |p|²: distances below it have lost their digits


class Patches(NamedTuple):
    """How patches are cut and normalised. `use_std`: contrast by the standard deviation, else by the variance."""

    height: int
    width: int
    stride: int
    use_contrast: bool
    use_std: bool
    offset: float


class Dictionary(NamedTuple):
    """The folded dictionary: Z = [p - centre, 1] B, in tiles of columns; with few directions, Z = [R [p - centre, 1], 1] B.

    centre : (d,)    R : (r, d + 1) to the directions kept, or (0, d + 1) for all d, and then r = d
    B : the tiles, (r + 1, widths[j]) each, end to end    D : (K, r) codes
    activation : THRESHOLD, TRIANGLE or NEAREST
    signs, thetas : (sides,) float32; output s · K + k is max(0, signs[s] · z_k - thetas[s])
    """

    centre: Array
    R: Array
    B: Array
    widths: Array
    D: Array
    activation: int
    signs: Array
    thetas: Array


class Atoms(NamedTuple):
    """The borders of the rectangles that all cells are unions of, and what is pooled of them.

    how : of every output by itself, NONE, SUM, SQUARE, MAX or BOTH    paired : outputs that are multiplied, the first ones
    """

    y_edges: Array
    x_edges: Array
    how: int
    paired: int


class Tiling(NamedTuple):
    """Most positions whose pixels are laid out at once, most in one product, and most in one product of activations."""

    positions: int
    rows: int
    square_rows: int


@compiled()
def contrast(planes: Array, ph: int, pw: int, stride: int, use_std: bool, offset: float, mean: Array, gain: Array) -> None:
    """Mean and 1 / contrast of every patch from box sums, which cost the same for any patch size.

    mean, gain : (h, w), filled in. `use_std`: 1 / (std + offset), population std; else 1 / sqrt(var + offset), var
    with n - 1. Sums are in float64, which is as exact as float32 pixels are. A patch whose contrast is within their rounding
    is constant: its gain is 0.
    """
    c, H, W = planes.shape
    h, w = mean.shape
    n = ph * pw * c
    s1, s2 = np.zeros(W), np.zeros(W)
    row1, row2 = np.zeros((H, w)), np.zeros((H, w))
    for y in range(H):
        s1[:] = 0.0
        s2[:] = 0.0
        for k in range(c):
            for x in range(W):
                v = np.float64(planes[k, y, x])
                s1[x] += v
                s2[x] += v * v
        if stride == 1:
            for dx in range(pw):
                for x in range(w):
                    row1[y, x] += s1[x + dx]
                    row2[y, x] += s2[x + dx]
        else:
            for dx in range(pw):
                for x in range(w):
                    row1[y, x] += s1[x * stride + dx]
                    row2[y, x] += s2[x * stride + dx]
    total1, total2 = np.zeros(w), np.zeros(w)
    for y in range(h):
        total1[:] = 0.0
        total2[:] = 0.0
        for dy in range(ph):
            for x in range(w):
                total1[x] += row1[y * stride + dy, x]
                total2[x] += row2[y * stride + dy, x]
        for x in range(w):
            m = total1[x] / n
            var = max(total2[x] / n - m * m, 0.0)
            mean[y, x] = m
            scale = np.sqrt(var) + offset if use_std else np.sqrt(var * n / max(n - 1, 1) + offset)
            gain[y, x] = 1.0 / scale if scale > CONSTANT * abs(m) else 0.0


@compiled()
def shifted_strips(planes: Array, pw: int, stride: int, top: int, rows: int, x0: int, w: int, strips: Array) -> None:
    """For each dx and channel the pixels of a tile, shifted by dx.

        strips[dx · c + k, r · w + x] = planes[k, top + r, (x0 + x) stride + dx]

    With stride 1 the values of one patch pixel at consecutive positions are then one contiguous piece, whatever its dy.

    strips : (pw · c, rows · w), filled in
    """
    c = planes.shape[0]
    for dx in range(pw):
        for k in range(c):
            for r in range(rows):
                if stride == 1:
                    for x in range(w):
                        strips[dx * c + k, r * w + x] = planes[k, top + r, x0 + dx + x]
                else:
                    for x in range(w):
                        strips[dx * c + k, r * w + x] = planes[k, top + r, (x0 + x) * stride + dx]


@compiled()
def patch_columns(
    strips: Array, ph: int, stride: int, w: int, n0: int, n1: int, mean: Array, gain: Array, centre: Array, A: Array
) -> None:
    """Write the contrast-normalised patches of positions n0..n1 of a tile, counted row by row, less `centre`, as columns of A.

    strips : as above, of a tile w positions wide    mean, gain : of the tile's positions    centre : (d,)
    A      : (d or more, n1 - n0), its first d = ph · pw · c rows are filled in
    """
    m, g = mean[n0:n1], gain[n0:n1]
    f = 0
    for dy in range(ph):
        for s in range(strips.shape[0]):
            column, shift = A[f], centre[f]
            if stride == 1:
                strip = strips[s, dy * w + n0 : dy * w + n1]
                for n in range(n1 - n0):
                    column[n] = (strip[n] - m[n]) * g[n] - shift
            else:
                for n in range(n1 - n0):
                    y, x = (n0 + n) // w, (n0 + n) % w
                    column[n] = (strips[s, (y * stride + dy) * w + x] - m[n]) * g[n] - shift
            f += 1


@compiled()
def _pool_rows(Z: Array, n0: int, n1: int, signs: Array, thetas: Array, how: int, t: Array) -> None:
    """Fold rows n0..n1 of the activations max(0, sign·Z - theta) into t (sides, q): sum, sum of squares or max.

    A few rows serve all sides while they are in the nearest cache.
    """
    sides, q = t.shape
    zero = np.float32(0)
    n = n0
    if how == SUM:
        while n + 4 <= n1:
            for s in range(sides):
                sign, theta, total = signs[s], thetas[s], t[s]
                for k in range(q):
                    a, b = sign * Z[n, k] - theta, sign * Z[n + 1, k] - theta
                    c, d = sign * Z[n + 2, k] - theta, sign * Z[n + 3, k] - theta
                    a, b = (a if a > zero else zero), (b if b > zero else zero)
                    c, d = (c if c > zero else zero), (d if d > zero else zero)
                    total[k] += (a + b) + (c + d)
            n += 4
        while n < n1:
            for s in range(sides):
                sign, theta, total = signs[s], thetas[s], t[s]
                for k in range(q):
                    a = sign * Z[n, k] - theta
                    total[k] += a if a > zero else zero
            n += 1
    elif how == SQUARE:
        while n < n1:
            for s in range(sides):
                sign, theta, total = signs[s], thetas[s], t[s]
                for k in range(q):
                    a = sign * Z[n, k] - theta
                    a = a if a > zero else zero
                    total[k] += a * a
            n += 1
    else:
        while n < n1:
            for s in range(sides):
                sign, theta, total = signs[s], thetas[s], t[s]
                for k in range(q):
                    a = sign * Z[n, k] - theta
                    a = a if a > zero else zero
                    total[k] = a if a > total[k] else total[k]
            n += 1


@compiled()
def pool_tile(
    Z: Array,
    n0: int,
    n1: int,
    corner: tuple[int, int],
    w: int,
    y_edges: Array,
    x_edges: Array,
    signs: Array,
    thetas: Array,
    how: int,
    t: Array,
    atoms: Array,
) -> None:
    """Threshold responses and pool them into the atoms, the rectangles that all cells are unions of.

    Z : (n1 - n0, q or more) responses at positions n0..n1 of a tile w wide with its upper left position at `corner`
    y_edges, x_edges : atom borders    signs, thetas : (sides,)    atoms : (rows, columns, sides, q), updated
    Each atom's share is summed in t (sides, q) first: sums of sums lose fewer digits than one long one.
    """
    y0, x0 = corner
    first, end = y0 + n0 // w, y0 + (n1 - 1) // w + 1
    sides, q = t.shape
    for i in range(len(y_edges) - 1):
        ya, yb = max(first, y_edges[i]), min(end, y_edges[i + 1])
        if ya >= yb:
            continue
        for j in range(len(x_edges) - 1):
            xa, xb = max(0, x_edges[j] - x0), min(w, x_edges[j + 1] - x0)
            if xa >= xb:
                continue
            t[:] = -np.inf if how == MAX else 0.0
            for y in range(ya, yb):
                row = (y - y0) * w
                _pool_rows(Z, max(row + xa, n0) - n0, min(row + xb, n1) - n0, signs, thetas, how, t)
            for s in range(sides):
                atom, total = atoms[i, j, s], t[s]
                for k in range(q):
                    if how == MAX:
                        atom[k] = max(atom[k], total[k])
                    else:
                        atom[k] += total[k]


@compiled(fastmath=REORDER)
def triangle(Z: Array, D: Array) -> None:
    """Z[:, :K] becomes max(0, mean distance - distance), in place.

    On entry Z[:, :K] is p·d_k - |d_k|²/2 and Z[:, K:] is the whitened patch p itself. The distance |p|² - 2 Z cancels where a
    patch is close to a code; there it is computed from the difference.

    Z : (n, K + d)    D : (K, d)
    """
    K, d = D.shape
    for n in range(Z.shape[0]):
        row, p = Z[n, :K], Z[n, K:]
        square = np.float32(0)
        for j in range(d):
            square += p[j] * p[j]
        close = np.float32(_CLOSE_SHARE) * square
        total = np.float32(0)
        for k in range(K):
            v = square - np.float32(2) * row[k]
            if v < close:
                v = np.float32(0)
                for j in range(d):
                    v += (p[j] - D[k, j]) * (p[j] - D[k, j])
            row[k] = np.sqrt(v)
            total += row[k]
        mean = total / np.float32(K)
        for k in range(K):
            v = mean - row[k]
            row[k] = v if v > 0 else np.float32(0)


@compiled()
def nearest_only(Z: Array) -> None:
    """Each row of Z becomes 1 at its largest entry (the first of equals) and 0 elsewhere, in place."""
    for n in range(Z.shape[0]):
        best = 0
        for k in range(1, Z.shape[1]):
            if Z[n, k] > Z[n, best]:
                best = k
        Z[n] = 0.0
        Z[n, best] = 1.0


@compiled()
def silence(Z: Array, has_data: Array) -> None:
    """Responses become 0, and so does what is activated of them, at positions without data; has_data : (len(Z),)"""
    for n in range(len(Z)):
        if not has_data[n]:
            Z[n] = 0.0


@compiled()
def extract_block(
    planes: Array,
    cut: Patches,
    folded: Dictionary,
    cells: Atoms,
    tiling: Tiling,
    has_data: Array,
    atoms: Array,
    moments: Array,
) -> None:
    """Images to pooled atoms: patches, contrast, one GEMM per tile, activation and pooling while the tile is in cache.

    planes : (n, c, H, W) float32    has_data : (n, h, w) bool, the positions that are pooled, or (0, 0, 0) for all
    atoms : (n, rows, columns, width) float32, filled in; width = outputs, 2 outputs for BOTH, 0 for NONE
    moments : (n, rows, columns, paired²) float32, filled in

    Activations are never negative, so one of 0 changes no sum, no square and no maximum.
    """
    n, c, H, W = planes.shape
    ph, pw, stride = cut.height, cut.width, cut.stride
    y_edges, x_edges, how = cells.y_edges, cells.x_edges, cells.how
    B, widths, signs, thetas = folded.B, folded.widths, folded.signs, folded.thetas
    h, w = (H - ph) // stride + 1, (W - pw) // stride + 1
    K, sides, d, inner = len(folded.D), len(signs), ph * pw * c, folded.D.shape[1]
    tw = min(w, tiling.positions)
    th = min(h, max(1, tiling.positions // tw))
    rows = min(tiling.rows, th * tw)
    mean, gain = np.zeros((h, w), np.float32), np.ones((h, w), np.float32)
    strips = np.empty(pw * c * ((th - 1) * stride + ph) * tw, np.float32)
    columns = np.empty((d + 1) * rows, np.float32)
    reduced = np.empty((inner + 1) * rows if len(folded.R) else 0, np.float32)
    responses = np.empty(rows * widths.max(), np.float32)
    totals = np.empty(sides * widths.max(), np.float32)
    outer = cells.paired
    F, product = np.empty((th * tw if outer else 0, outer), np.float32), np.empty((outer, outer), np.float32)
    row, end = np.empty(th * tw, np.int64), np.zeros((len(y_edges) - 1, len(x_edges) - 1), np.int64)
    atoms[:] = -np.inf if how == MAX else 0.0
    if how == BOTH:
        atoms[:, :, :, sides * K :] = -np.inf
    moments[:] = 0.0
    parts, everywhere = 2 if how == BOTH else 1, np.ones(0, np.bool_)
    for i in range(n):
        if cut.use_contrast:
            contrast(planes[i], ph, pw, stride, cut.use_std, cut.offset, mean, gain)
        for y0 in range(0, h, th):
            for x0 in range(0, w, tw):
                y1, x1 = min(h, y0 + th), min(w, x0 + tw)
                high, wide = (y1 - y0 - 1) * stride + ph, x1 - x0
                S = strips[: pw * c * high * wide].reshape(pw * c, high * wide)
                shifted_strips(planes[i], pw, stride, y0 * stride, high, x0, wide, S)
                m, g = mean[y0:y1, x0:x1].copy().reshape(-1), gain[y0:y1, x0:x1].copy().reshape(-1)
                present = has_data[i, y0:y1, x0:x1].copy().reshape(-1) if len(has_data) else everywhere
                if outer:
                    group_by_atom((y0, x0), y1 - y0, wide, y_edges, x_edges, row, end)
                even = evenly(len(m), rows)
                for n0 in range(0, len(m), even):
                    n1 = min(len(m), n0 + even)
                    A = columns[: (d + 1) * (n1 - n0)].reshape(d + 1, n1 - n0)
                    patch_columns(S, ph, stride, wide, n0, n1, m, g, folded.centre, A)
                    A[d] = 1.0
                    if len(folded.R):
                        few = reduced[: (inner + 1) * (n1 - n0)].reshape(inner + 1, n1 - n0)
                        np.dot(folded.R, A, few[:inner])
                        few[inner] = 1.0
                        A = few
                    k, start = 0, 0
                    for q in widths:
                        Z = responses[: (n1 - n0) * q].reshape(n1 - n0, q)
                        np.dot(A.T, B[start : start + (inner + 1) * q].reshape(inner + 1, q), Z)
                        start += (inner + 1) * q
                        if folded.activation == TRIANGLE:
                            triangle(Z, folded.D)
                        elif folded.activation == NEAREST:
                            nearest_only(Z)
                        if len(has_data):
                            silence(Z, present[n0:n1])
                        to = min(k + q, K)
                        if outer:
                            activate_rows(Z, row[n0:n1], k, to - k, K, signs, thetas, F)
                        if how != NONE:
                            t = totals[: sides * (to - k)].reshape(sides, to - k)
                            into = atoms[i].reshape(len(y_edges) - 1, len(x_edges) - 1, parts, sides, K)[:, :, :, :, k:to]
                            first = SUM if how == BOTH else how
                            pool_tile(Z, n0, n1, (y0, x0), wide, y_edges, x_edges, signs, thetas, first, t, into[:, :, 0])
                            if how == BOTH:
                                pool_tile(Z, n0, n1, (y0, x0), wide, y_edges, x_edges, signs, thetas, MAX, t, into[:, :, 1])
                        k = to
                if outer:
                    add_outer_products(F, end, tiling.square_rows, product, moments[i])
