"""Histograms of gradients at every position of an image: dense SIFT and HOG. The formulas are in `method.descriptors`."""

import math

import numpy as np

from poolwise.kernels.compiling import REORDER, compiled
from poolwise.support.types import Array

_CLIP = np.float32(0.2)


@compiled(fastmath=REORDER)
def sift(plane: Array, kernels: Array, first: int, stride: int, contrast: float, root: bool, out: Array, at: int) -> None:
    """SIFT with bins of one size, of one plane (H, W) float32, to out[:, :, at : at + 128].

    kernels : (4, 2 · reach + 1) what a pixel counts in each row or column of bins    first : the first window's first pixel
    """
    H, W = plane.shape
    h, w = out.shape[:2]
    span, bins, directions = kernels.shape[1], 4, 8
    maps = np.zeros((H - 2, directions, W - 2), np.float32)
    for y in range(H - 2):
        for x in range(W - 2):
            dx = plane[y + 1, x + 2] - plane[y + 1, x]
            dy = plane[y, x + 1] - plane[y + 2, x + 1]
            size = math.sqrt(dx * dx + dy * dy)
            if size > 0:
                turn = math.atan2(dy, dx) * (directions / (2 * math.pi))
                if turn < 0:
                    turn += directions
                low = int(turn)
                part = turn - low
                maps[y, low % directions, x] += np.float32(size * (1 - part))
                maps[y, (low + 1) % directions, x] += np.float32(size * part)
    begin, end = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    whole = 0.0
    for i in range(bins):
        begin[i], end[i] = span, 0
        for u in range(span):
            whole += kernels[i, u]
            if kernels[i, u] > 0:
                begin[i], end[i] = min(begin[i], u), u + 1
    least = contrast * whole * whole
    across = np.empty((H - 2, w, bins, directions), np.float32)
    for y in range(H - 2):
        for c in range(w):
            x = first + c * stride
            for j in range(bins):
                for o in range(directions):
                    seen = np.float32(0)
                    for u in range(begin[j], end[j]):
                        seen += kernels[j, u] * maps[y, o, x + u]
                    across[y, c, j, o] = seen
    width = bins * directions
    scale = np.float32(math.sqrt(bins * width))
    found = np.empty(bins * width, np.float32)
    for r in range(h):
        y = first + r * stride
        for c in range(w):
            found[:] = 0
            for i in range(bins):
                for v in range(begin[i], end[i]):
                    k = kernels[i, v]
                    for j in range(bins):
                        for o in range(directions):
                            found[i * width + j * directions + o] += k * across[y + v, c, j, o]
            total, square = 0.0, 0.0
            for t in range(bins * width):
                total += found[t]
                square += found[t] * found[t]
            if total < least or square <= 0:
                for t in range(bins * width):
                    out[r, c, at + t] = 0
                continue
            length = np.float32(1 / math.sqrt(square))
            total, square = 0.0, 0.0
            for t in range(bins * width):
                found[t] = min(found[t] * length, _CLIP)
                total += found[t]
                square += found[t] * found[t]
            by = np.float32(1 / total if root else 1 / math.sqrt(square))
            for t in range(bins * width):
                value = found[t] * by
                out[r, c, at + t] = scale * (np.sqrt(value) if root else value)


@compiled(fastmath=REORDER)
def hog(pixels: Array, cell: int, block: int, orientations: int, stride: int, epsilon: float, out: Array) -> None:
    """HOG of one image (H, W, c) float32 to out, (h, w, block² · orientations)."""
    H, W, channels = pixels.shape
    h, w = out.shape[:2]
    maps = np.zeros((H - 2, W - 2, orientations), np.float32)
    for y in range(H - 2):
        for x in range(W - 2):
            best, gx, gy = np.float32(-1), np.float32(0), np.float32(0)
            for c in range(channels):
                dx = pixels[y + 1, x + 2, c] - pixels[y + 1, x, c]
                dy = pixels[y + 2, x + 1, c] - pixels[y, x + 1, c]
                square = dx * dx + dy * dy
                if square > best:
                    best, gx, gy = square, dx, dy
            angle = math.atan2(np.float64(gy), np.float64(gx)) * (180 / math.pi)
            angle = angle + 180 if angle < 0 else angle
            angle = angle - 180 if angle >= 180 else angle
            which = min(int(angle / (180 / orientations)), orientations - 1)
            maps[y, x, which] = math.sqrt(best)
    across = np.zeros((H - 2, W - 1 - cell, orientations), np.float32)
    sums = np.zeros((H - 1 - cell, W - 1 - cell, orientations), np.float32)
    for y in range(H - 2):
        for x in range(W - 1 - cell):
            for u in range(cell):
                for o in range(orientations):
                    across[y, x, o] += maps[y, x + u, o]
    for y in range(H - 1 - cell):
        for v in range(cell):
            for x in range(W - 1 - cell):
                for o in range(orientations):
                    sums[y, x, o] += across[y + v, x, o]
    d = block * block * orientations
    part, scale = np.float32(1 / (cell * cell)), np.float32(math.sqrt(d))
    for r in range(h):
        for c in range(w):
            square = 0.0
            for i in range(block):
                for j in range(block):
                    for o in range(orientations):
                        value = part * sums[r * stride + i * cell, c * stride + j * cell, o]
                        out[r, c, (i * block + j) * orientations + o] = value
                        square += value * value
            by = np.float32(1 / math.sqrt(square + epsilon * epsilon))
            square = 0.0
            for t in range(d):
                out[r, c, t] = min(out[r, c, t] * by, _CLIP)
                square += out[r, c, t] * out[r, c, t]
            by = np.float32(scale / math.sqrt(square + epsilon * epsilon))
            for t in range(d):
                out[r, c, t] *= by
