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
def patch_columns(
    planes: Array,
    patch: tuple[int, int],
    stride: int,
    y0: int,
    y1: int,
    x0: int,
    x1: int,
    mean: Array,
    gain: Array,
    strips: Array,
    A: Array,
) -> None:
    """Write the contrast-normalised patches at rows y0..y1 and columns x0..x1 of the position grid into A.

    mean, gain : ((y1 - y0)(x1 - x0),) of these positions
    strips     : scratch of pw · c · ((y1 - y0 - 1) stride + ph)(x1 - x0) floats. For each dx and channel it holds the tile's
                 pixels shifted by dx; with stride 1 a row of A is then one contiguous piece of it, whatever dy.
    """
    c = planes.shape[0]
    ph, pw = patch
    w = x1 - x0
    top, rows = y0 * stride, (y1 - y0 - 1) * stride + ph
    size = rows * w
    for dx in range(pw):
        for k in range(c):
            start = (dx * c + k) * size
            for r in range(rows):
                for x in range(w):
                    strips[start + r * w + x] = planes[k, top + r, (x0 + x) * stride + dx]
    f = 0
    for dy in range(ph):
        for s in range(pw * c):
            column = A[f]
            if stride == 1:
                strip = strips[s * size + dy * w : s * size + dy * w + len(column)]
                for n in range(len(column)):
                    column[n] = (strip[n] - mean[n]) * gain[n]
            else:
                for y in range(y1 - y0):
                    start = s * size + (y * stride + dy) * w
                    for x in range(w):
                        n = y * w + x
                        column[n] = (strips[start + x] - mean[n]) * gain[n]
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
    y0: int,
    y1: int,
    x0: int,
    x1: int,
    y_edges: Array,
    x_edges: Array,
    sign: float,
    theta: float,
    floor: float,
    how: int,
    t: Array,
    atoms: Array,
) -> None:
    """Threshold a tile of responses and pool it into the atoms, the rectangles that all cells are unions of.

    Z : ((y1 - y0)(x1 - x0), q)    y_edges, x_edges : atom borders    atoms : (rows, columns, q), updated
    Each atom's share of the tile is summed in t (q,) first: sums of sums lose fewer digits than one long one.
    """
    w = x1 - x0
    q = t.shape[0]
    s, th, fl = np.float32(sign), np.float32(theta), np.float32(floor)
    for i in range(len(y_edges) - 1):
        ya, yb = max(y0, y_edges[i]), min(y1, y_edges[i + 1])
        for j in range(len(x_edges) - 1):
            xa, xb = max(x0, x_edges[j]), min(x1, x_edges[j + 1])
            if ya >= yb or xa >= xb:
                continue
            t[:] = -np.inf if how == MAX else 0.0
            for y in range(ya, yb):
                _pool_rows(Z, (y - y0) * w + xa - x0, (y - y0) * w + xb - x0, s, th, fl, how, t)
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
    atoms: Array,
) -> None:
    """Images to pooled atoms: patches, contrast, one GEMM per tile, activation and pooling while the tile is in cache.

    planes : (n, c, H, W) float32            B : the tiles of the folded dictionary, (d + 1, widths[j]) each, end to end
    atoms  : (n, rows, columns, K or 2K) float32, filled in    tile : most positions at once    encoder : see above
    """
    n, c, H, W = planes.shape
    ph, pw = patch
    h, w = (H - ph) // stride + 1, (W - pw) // stride + 1
    d = ph * pw * c
    tw = min(w, tile)
    th = min(h, max(1, tile // tw))
    mean, gain = np.zeros((h, w), np.float32), np.ones((h, w), np.float32)
    columns = np.empty((d + 1) * th * tw, np.float32)
    strips = np.empty(pw * c * ((th - 1) * stride + ph) * tw, np.float32)
    responses = np.empty(th * tw * widths.max(), np.float32)
    t = np.empty(widths.max(), np.float32)
    atoms[:] = -np.inf if how == MAX else 0.0
    for i in range(n):
        if use_contrast:
            contrast(planes[i], ph, pw, stride, use_std, offset, mean, gain)
        for y0 in range(0, h, th):
            y1 = min(h, y0 + th)
            for x0 in range(0, w, tw):
                x1 = min(w, x0 + tw)
                m = (y1 - y0) * (x1 - x0)
                A = columns[: (d + 1) * m].reshape(d + 1, m)
                mt, gt = mean[y0:y1, x0:x1].copy().reshape(-1), gain[y0:y1, x0:x1].copy().reshape(-1)
                patch_columns(planes[i], patch, stride, y0, y1, x0, x1, mt, gt, strips, A)
                A[d] = 1.0
                k, start = 0, 0
                for q in widths:
                    Z = responses[: m * q].reshape(m, q)
                    np.dot(A.T, B[start : start + (d + 1) * q].reshape(d + 1, q), Z)
                    start += (d + 1) * q
                    if encoder == TRIANGLE:
                        triangle(Z, K)
                    elif encoder == NEAREST:
                        nearest_only(Z)
                    q = min(q, K)
                    into = atoms[i, :, :, k : k + q]
                    pool_tile(Z, y0, y1, x0, x1, y_edges, x_edges, 1.0, theta, floor, how, t[:q], into)
                    if two_sided:
                        into = atoms[i, :, :, K + k : K + k + q]
                        pool_tile(Z, y0, y1, x0, x1, y_edges, x_edges, -1.0, theta, floor, how, t[:q], into)
                    k += q


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
    n, K = X.shape[0], C.shape[0]
    buffer = np.empty(rows * codes, np.float32)
    for i in range(0, n, rows):
        i1 = min(n, i + rows)
        score[i:i1] = -np.inf
        label[i:i1] = 0
        for k in range(0, K, codes):
            k1 = min(K, k + codes)
            Z = buffer[: (k1 - k) * (i1 - i)].reshape(k1 - k, i1 - i)
            np.dot(C[k:k1], X[i:i1].T, Z)
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
