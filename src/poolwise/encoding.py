"""Encoding: whitened patches to activations (stage 5 of the method).

    threshold              f_k = max(0, d_k·p - α)
    threshold, two-sided   f_k = max(0, d_k·p - α),  f_{K+k} = max(0, -d_k·p - α)
    triangle               f_k = max(0, mean_j ‖p - d_j‖ - ‖p - d_k‖)
    vq                     f_k = 1 if d_k is nearest to p (the first of equals), else 0

P : (n, d) whitened patches    D : (K, d) codes    F : (n, K) activations, or (n, 2K) two-sided
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from poolwise import kernels
from poolwise.arrays import Array
from poolwise.engine import product_tile, spans
from poolwise.whitening import Whitening

Encoder = Literal["threshold", "triangle", "vq"]

ENCODERS = ("threshold", "triangle", "vq")


def encode(P: Array, D: Array, encoder: Encoder, alpha: float = 0.25, two_sided: bool = False) -> Array:
    """Encode patches, (n, d) to (n, K) or (n, 2K): the formulas above, as they stand.

    `extraction` gives the same numbers from raw images, folded and tiled; this is for descriptors of your own.

    >>> encode(np.array([[1.0, 0.0]]), np.array([[0.8, 0.6], [-1.0, 0.0]]), "threshold", two_sided=True)
    array([[0.55, 0.  , 0.  , 0.75]])
    """
    Z = P @ D.T
    if encoder == "threshold":
        F = np.maximum(0, Z - alpha)
        return np.hstack([F, np.maximum(0, -Z - alpha)]) if two_sided else F
    square = (P**2).sum(axis=1, keepdims=True) - 2 * Z + (D**2).sum(axis=1)
    if encoder == "triangle":
        distance = np.sqrt(np.maximum(0, square))
        activations: Array = np.maximum(0, distance.mean(axis=1, keepdims=True) - distance)
        return activations
    return (square.argmin(axis=1)[:, None] == np.arange(len(D))).astype(Z.dtype)


@dataclass(frozen=True)
class FoldedDictionary:
    """Contrast-normalised patches to responses in one product: Z = [p - centre, 1] B, whitening and threshold folded into B.

    D      : (K, d) float32 codes      centre : (d,) float32, the whitening's mean
    B      : tiles of columns, (d + 1, widths[j]) float32 each, end to end; a tile of responses fits in cache
    kind   : which loop of `kernels` turns responses into activations
    theta  : what the loop must still subtract    rows : most positions in one product
    outputs : activations per position, K or 2K
    """

    D: Array
    centre: Array
    B: Array
    widths: Array
    kind: int
    two_sided: bool
    theta: float
    rows: int

    @property
    def outputs(self) -> int:
        return len(self.D) * (2 if self.two_sided else 1)


def fold_dictionary(D: Array, whitening: Whitening, encoder: Encoder, alpha: float, two_sided: bool) -> FoldedDictionary:
    """Fold whitening, mean and threshold into the dictionary.

    Encoders that compare a code with the others (triangle, vq) need all responses of a patch in one tile. The squared norm
    of the whitened patch, which triangle needs, comes from d more columns: the whitening itself.
    """
    K, d = D.shape
    centre = whitening.m.astype(np.float32)
    F, _ = whitening.fold(D)
    b = F @ (centre - whitening.m)  # patches come less the centre, which keeps the digits of bright ones; this is its rounding
    rows, columns = product_tile(d + 1)
    if encoder == "threshold":
        kind, theta = kernels.THRESHOLD, alpha if two_sided else 0.0
        b = b if two_sided else b - alpha
    else:
        theta, columns = 0.0, K + d
        b = b - (np.asarray(D, np.float64) ** 2).sum(axis=1) / 2
        kind = kernels.NEAREST
        if encoder == "triangle":
            kind = kernels.TRIANGLE
            F, b = np.vstack([F, whitening.W]), np.concatenate([b, whitening.W @ (centre - whitening.m)])
    B = np.vstack([F.T, b]).astype(np.float32)
    tiles = [np.ascontiguousarray(B[:, part]) for part in spans(B.shape[1], columns)]
    flat = np.concatenate([tile.ravel() for tile in tiles])
    widths = np.array([tile.shape[1] for tile in tiles])
    return FoldedDictionary(np.ascontiguousarray(D, np.float32), centre, flat, widths, kind, two_sided, theta, rows)
