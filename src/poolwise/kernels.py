"""The few compiled inner loops: what NumPy would do in many passes over memory, done while a tile is in cache.

Everything here works on float32 arrays, releases the GIL and starts no thread of its own; `extraction` and `kmeans`
call it from one thread per shard. The plain NumPy statement of each loop stands in `tests/test_kernels.py`.

    planes : (c, H, W)  one image, channel first        A : (d + 1, n)   n patches as columns, the last row is ones
    B      : (d + 1, q) a tile of the folded dictionary Z : (n, q)       Z = AᵀB, the responses of one tile
"""

import numpy as np
import scipy.linalg  # noqa: F401  (numba's np.dot calls SciPy's BLAS: it must be loaded before it can be limited)
from numba import njit

from poolwise.arrays import Array

SUM, SQUARE, MAX = 0, 1, 2
THRESHOLD, TRIANGLE, NEAREST = 0, 1, 2
_REORDER = {"reassoc", "nsz", "contract", "arcp"}


@njit(cache=True, nogil=True)
def contrast(planes: Array, ph: int, pw: int, stride: int, use_std: bool, offset: float, mean: Array, gain: Array) -> None:
    """Mean and 1 / contrast of every patch from box sums, which cost the same for any patch size.

    mean, gain : (h, w), filled in. `use_std`: 1 / (std + offset), population std; else 1 / sqrt(var + offset), var
    with n - 1. Sums are in float64, where squares of float32 pixels are exact: nothing cancels.
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
            gain[y, x] = 1.0 / scale if scale > 0 else 0.0


@njit(cache=True, nogil=True)
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
                for x in range(w):
                    strips[dx * c + k, r * w + x] = planes[k, top + r, (x0 + x) * stride + dx]


@njit(cache=True, nogil=True)
def patch_columns(strips: Array, ph: int, stride: int, w: int, n0: int, n1: int, mean: Array, gain: Array, A: Array) -> None:
    """Write the contrast-normalised patches of positions n0..n1 of a tile, counted row by row, as columns of A.

    strips : as above, of a tile w positions wide    mean, gain : of the tile's positions    A : (ph · pw · c, n1 - n0)
    """
    m, g = mean[n0:n1], gain[n0:n1]
    f = 0
    for dy in range(ph):
        for s in range(strips.shape[0]):
            column = A[f]
            if stride == 1:
                strip = strips[s, dy * w + n0 : dy * w + n1]
                for n in range(n1 - n0):
                    column[n] = (strip[n] - m[n]) * g[n]
            else:
                for n in range(n1 - n0):
                    y, x = (n0 + n) // w, (n0 + n) % w
                    column[n] = (strips[s, (y * stride + dy) * w + x] - m[n]) * g[n]
            f += 1


@njit(cache=True, nogil=True)
def _pool_rows(Z: Array, n0: int, n1: int, sign: np.float32, theta: np.float32, floor: np.float32, how: int, t: Array) -> None:
    """Fold rows n0..n1 of the activations max(sign·Z - theta, floor) into t (q,): sum, sum of squares or max."""
    q = t.shape[0]
    n = n0
    if how == SUM:
        while n + 4 <= n1:
            for k in range(q):
                a, b = sign * Z[n, k] - theta, sign * Z[n + 1, k] - theta
                c, d = sign * Z[n + 2, k] - theta, sign * Z[n + 3, k] - theta
                a, b = (a if a > floor else floor), (b if b > floor else floor)
                c, d = (c if c > floor else floor), (d if d > floor else floor)
                t[k] += (a + b) + (c + d)
            n += 4
        while n < n1:
            for k in range(q):
                a = sign * Z[n, k] - theta
                t[k] += a if a > floor else floor
            n += 1
    elif how == SQUARE:
        while n < n1:
            for k in range(q):
                a = sign * Z[n, k] - theta
                a = a if a > floor else floor
                t[k] += a * a
            n += 1
    else:
        while n < n1:
            for k in range(q):
                a = sign * Z[n, k] - theta
                a = a if a > floor else floor
                t[k] = a if a > t[k] else t[k]
            n += 1


@njit(cache=True, nogil=True)
def pool_tile(
    Z: Array,
    n0: int,
    n1: int,
    corner: tuple[int, int],
    w: int,
    y_edges: Array,
    x_edges: Array,
    sign: float,
    theta: float,
    floor: float,
    how: int,
    t: Array,
    atoms: Array,
) -> None:
    """Threshold responses and pool them into the atoms, the rectangles that all cells are unions of.

    Z : (n1 - n0, q or more) responses at positions n0..n1 of a tile w wide with its upper left position at `corner`
    y_edges, x_edges : atom borders    atoms : (rows, columns, q), updated
    Each atom's share is summed in t (q,) first: sums of sums lose fewer digits than one long one.
    """
    y0, x0 = corner
    first, end = y0 + n0 // w, y0 + (n1 - 1) // w + 1
    q = t.shape[0]
    s, th, fl = np.float32(sign), np.float32(theta), np.float32(floor)
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
                _pool_rows(Z, max(row + xa, n0) - n0, min(row + xb, n1) - n0, s, th, fl, how, t)
            atom = atoms[i, j]
            for k in range(q):
                if how == MAX:
                    atom[k] = max(atom[k], t[k])
                else:
                    atom[k] += t[k]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def triangle(Z: Array, K: int) -> None:
    """Z[:, :K] becomes max(0, mean distance - distance), in place.

    On entry Z[:, :K] is p·d_k - |d_k|²/2 and Z[:, K:] is the whitened patch p itself.
    """
    for n in range(Z.shape[0]):
        row, p = Z[n, :K], Z[n, K:]
        square = np.float32(0)
        for j in range(p.shape[0]):
            square += p[j] * p[j]
        total = np.float32(0)
        for k in range(K):
            v = square - np.float32(2) * row[k]
            row[k] = np.sqrt(v if v > 0 else np.float32(0))
            total += row[k]
        mean = total / np.float32(K)
        for k in range(K):
            v = mean - row[k]
            row[k] = v if v > 0 else np.float32(0)


@njit(cache=True, nogil=True)
def nearest_only(Z: Array) -> None:
    """Each row of Z becomes 1 at its largest entry (the first of equals) and 0 elsewhere, in place."""
    for n in range(Z.shape[0]):
        best = 0
        for k in range(1, Z.shape[1]):
            if Z[n, k] > Z[n, best]:
                best = k
        Z[n] = 0.0
        Z[n, best] = 1.0


@njit(cache=True, nogil=True)
def extract_block(
    planes: Array,
    patch: tuple[int, int],
    stride: int,
    use_contrast: bool,
    use_std: bool,
    offset: float,
    B: Array,
    widths: Array,
    K: int,
    encoder: int,
    two_sided: bool,
    theta: float,
    floor: float,
    how: int,
    y_edges: Array,
    x_edges: Array,
    tile: int,
    rows: int,
    atoms: Array,
) -> None:
    """Images to pooled atoms: patches, contrast, one GEMM per tile, activation and pooling while the tile is in cache.

    planes : (n, c, H, W) float32            B : the tiles of the folded dictionary, (d + 1, widths[j]) each, end to end
    atoms  : (n, rows, columns, K or 2K) float32, filled in    encoder : see above
    tile, rows : most positions whose pixels are laid out at once, and most in one product
    """
    n, c, H, W = planes.shape
    ph, pw = patch
    h, w = (H - ph) // stride + 1, (W - pw) // stride + 1
    d = ph * pw * c
    tw = min(w, tile)
    th = min(h, max(1, tile // tw))
    rows = min(rows, th * tw)
    mean, gain = np.zeros((h, w), np.float32), np.ones((h, w), np.float32)
    strips = np.empty(pw * c * ((th - 1) * stride + ph) * tw, np.float32)
    columns = np.empty((d + 1) * rows, np.float32)
    responses = np.empty(rows * widths.max(), np.float32)
    t = np.empty(widths.max(), np.float32)
    atoms[:] = -np.inf if how == MAX else 0.0
    for i in range(n):
        if use_contrast:
            contrast(planes[i], ph, pw, stride, use_std, offset, mean, gain)
        for y0 in range(0, h, th):
            for x0 in range(0, w, tw):
                y1, x1 = min(h, y0 + th), min(w, x0 + tw)
                high, wide = (y1 - y0 - 1) * stride + ph, x1 - x0
                S = strips[: pw * c * high * wide].reshape(pw * c, high * wide)
                shifted_strips(planes[i], pw, stride, y0 * stride, high, x0, wide, S)
                m, g = mean[y0:y1, x0:x1].copy().reshape(-1), gain[y0:y1, x0:x1].copy().reshape(-1)
                for n0 in range(0, len(m), rows):
                    n1 = min(len(m), n0 + rows)
                    A = columns[: (d + 1) * (n1 - n0)].reshape(d + 1, n1 - n0)
                    patch_columns(S, ph, stride, wide, n0, n1, m, g, A)
                    A[d] = 1.0
                    k, start = 0, 0
                    for q in widths:
                        Z = responses[: (n1 - n0) * q].reshape(n1 - n0, q)
                        np.dot(A.T, B[start : start + (d + 1) * q].reshape(d + 1, q), Z)
                        start += (d + 1) * q
                        if encoder == TRIANGLE:
                            triangle(Z, K)
                        elif encoder == NEAREST:
                            nearest_only(Z)
                        to = min(k + q, K)
                        tk, yx = t[: to - k], (y0, x0)
                        pool_tile(Z, n0, n1, yx, wide, y_edges, x_edges, 1.0, theta, floor, how, tk, atoms[i, :, :, k:to])
                        if two_sided:
                            into = atoms[i, :, :, K + k : K + to]
                            pool_tile(Z, n0, n1, yx, wide, y_edges, x_edges, -1.0, theta, floor, how, tk, into)
                        k = to


@njit(cache=True, nogil=True)
def scan_codes(Z: Array, first: int, half: Array, signed: bool, score: Array, label: Array) -> None:
    """Running argmax over codes, one lane per patch: score = max_k (Z[k] - half[k]), or of |Z[k]| if `signed`.

    Z : (q, n) responses of codes first..first+q    half : (q,)    score, label : (n,), updated; ties keep the lower k
    """
    q, n = Z.shape
    if signed:
        for k in range(q):
            for i in range(n):
                v = abs(Z[k, i])
                better = v > score[i]
                score[i] = v if better else score[i]
                label[i] = first + k if better else label[i]
        return
    k = 0
    while k + 4 <= q:
        b0, b1, b2, b3 = half[k], half[k + 1], half[k + 2], half[k + 3]
        l0 = np.int32(first + k)
        for i in range(n):
            s, j = score[i], label[i]
            v = Z[k, i] - b0
            j = l0 if v > s else j
            s = v if v > s else s
            v = Z[k + 1, i] - b1
            j = l0 + np.int32(1) if v > s else j
            s = v if v > s else s
            v = Z[k + 2, i] - b2
            j = l0 + np.int32(2) if v > s else j
            s = v if v > s else s
            v = Z[k + 3, i] - b3
            j = l0 + np.int32(3) if v > s else j
            s = v if v > s else s
            score[i], label[i] = s, j
        k += 4
    while k < q:
        for i in range(n):
            v = Z[k, i] - half[k]
            better = v > score[i]
            score[i] = v if better else score[i]
            label[i] = first + k if better else label[i]
        k += 1


@njit(cache=True, nogil=True)
def assign_shard(X: Array, C: Array, half: Array, signed: bool, rows: int, codes: int, score: Array, label: Array) -> None:
    """The best code of every row of X, by tiles of `rows` × `codes` that stay in cache.

    X : (n, d)    C : (K, d)    half : (K,)    score : (n,) float32 and label : (n,) int32, filled in
    """
    (n, d), K = X.shape, C.shape[0]
    buffer, transposed = np.empty(rows * codes, np.float32), np.empty(d * rows, np.float32)
    for i in range(0, n, rows):
        i1 = min(n, i + rows)
        XT = transposed[: d * (i1 - i)].reshape(d, i1 - i)
        XT[:] = X[i:i1].T
        score[i:i1] = -np.inf
        label[i:i1] = 0
        for k in range(0, K, codes):
            k1 = min(K, k + codes)
            Z = buffer[: (k1 - k) * (i1 - i)].reshape(k1 - k, i1 - i)
            np.dot(C[k:k1], XT, Z)
            scan_codes(Z, k, half[k:k1], signed, score[i:i1], label[i:i1])


@njit(cache=True, nogil=True)
def sum_by_label(X: Array, label: Array, C: Array, signed: bool, sums: Array, counts: Array) -> None:
    """sums[k] += X[i] for k = label[i], or (c_k·X[i]) X[i] if `signed`; counts[k] += 1. In the order of the rows.

    X : (n, d)    C : (K, d)    sums : (K, d) float64 and counts : (K,) int64, updated
    """
    d = X.shape[1]
    for i in range(X.shape[0]):
        k = label[i]
        counts[k] += 1
        weight = 1.0
        if signed:
            weight = 0.0
            for j in range(d):
                weight += C[k, j] * X[i, j]
        for j in range(d):
            sums[k, j] += weight * X[i, j]
