"""Patches, whitening and encoder as nodes: images (n, c, H, W) to activations (n, outputs, h, w).

    z = F p̂ + b,   p̂ = (p - mean(p)) · gain        a convolution with F, whose rows are brought to sum 0 over a patch:
                                                     gain · (F p) is then F p̂, and no mean is subtracted from any patch

Means and second moments of patches come from average pooling of the images, each less its mean. Where that would lose digits
(numbers far from 0..255, or hardly any offset of the contrast) they are sums in float64.

F : (K, d) codes with whitening folded in    b : (K,)    d : numbers of a patch, in row, column, channel order
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from poolwise.export.graph import Graph, real, whole
from poolwise.kernels.constants import CONSTANT
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Linear, Nearest, Threshold, Triangle
from poolwise.method.layer import Layer
from poolwise.support.types import Array

LEAST_OFFSET = 1.0  # of the contrast, for moments in float32


@dataclass(frozen=True)
class _Cut:
    """How a layer cuts patches out of the images `x`, less a level; gain : the name of (n, 1, h, w) factors, or None."""

    patches: Patches
    channels: int
    x: str
    level: float
    gain: str | None

    def filters(self, F: Array) -> Array:
        """(K, d) to the weights of a convolution, (K, c, ph, pw) float32."""
        if self.gain is not None:
            F = F - F.mean(axis=1, keepdims=True)
        ph, pw = self.patches.patch_size
        return np.ascontiguousarray(F.reshape(-1, ph, pw, self.channels).transpose(0, 3, 1, 2), np.float32)

    def responses(self, graph: Graph, F: Array, b: Array) -> str:
        """(n, K, h, w): F p̂ + b."""
        ph, pw = self.patches.patch_size
        window: dict[str, Any] = {"kernel_shape": [ph, pw], "strides": [self.patches.stride] * 2}
        if self.gain is None:
            return graph("Conv", self.x, self.filters(F), (b + self.level * F.sum(axis=1)).astype(np.float32), **window)
        z = graph("Mul", graph("Conv", self.x, self.filters(F), **window), self.gain)
        return graph("Add", z, b.astype(np.float32)[:, None, None])


def activations(graph: Graph, layer: Layer, x: str, *, is_pixels: bool) -> list[str]:
    """Of images (n, c, H, W) float: tensors (n, some, h, w), all outputs one after the other.

    is_pixels : whether numbers are about 0..255
    """
    cut = _cut(graph, layer, x, is_pixels)
    D, W, m = np.asarray(layer.codes, np.float64), layer.whitening.W, layer.whitening.m
    encoder = layer.encoder
    if isinstance(encoder, Triangle | Nearest):
        return [_by_distance(graph, layer, cut.responses(graph, W.T, -m @ W))]
    alpha = encoder.thresholds[0] if isinstance(encoder, Threshold) and encoder.sides == 1 else 0.0
    if layer.whitening.is_reduced:
        few = cut.responses(graph, W.T, -m @ W)
        bias = np.full(len(D), -alpha, np.float32)
        z = graph("Conv", few, D.astype(np.float32)[:, :, None, None], bias, kernel_shape=[1, 1])
    else:
        F = D @ W
        z = cut.responses(graph, F, -F @ m - alpha)
    if isinstance(encoder, Linear):
        return [graph("Relu", z), graph("Relu", graph("Neg", z))] if encoder.two_sided else [z]
    if not isinstance(encoder, Threshold):
        raise AssertionError("check_layer has refused it")
    if encoder.sides == 1:
        return [graph("Relu", z)]
    found = []
    for threshold in encoder.thresholds:
        found.append(graph("Relu", graph("Sub", z, real(threshold))))
        if encoder.two_sided:
            found.append(graph("Relu", graph("Sub", real(-threshold), z)))
    return found


def _by_distance(graph: Graph, layer: Layer, P: str) -> str:
    """Triangle or nearest, of whitened patches (n, r, h, w); in float64, since distances cancel."""
    D, (h, w) = np.asarray(layer.codes, np.float64), layer.positions
    K, r = D.shape
    P = graph.cast(graph.reshape(P, 0, r, h * w), np.float64)
    norms = (D**2).sum(axis=1)[:, None]
    if isinstance(layer.encoder, Nearest):
        best = graph("ArgMax", graph("Sub", graph("MatMul", D, P), norms / 2), axis=1, keepdims=0)
        return graph.reshape(graph("OneHot", best, np.asarray(K, np.int64), real(0, 1), axis=1), 0, K, h, w)
    square = graph("ReduceSum", graph("Mul", P, P), whole(1), keepdims=1)
    squares = graph("Max", graph("Add", graph("Add", graph("MatMul", -2 * D, P), norms), square), np.zeros(()))
    distance = graph("Sqrt", squares)
    closer = graph("Sub", graph("ReduceMean", distance, axes=[1], keepdims=1), distance)
    return graph.reshape(graph("Relu", graph.cast(closer, np.float32)), 0, K, h, w)


def _cut(graph: Graph, layer: Layer, x: str, is_pixels: bool) -> _Cut:
    patches, c = layer.descriptor, layer.image_shape[2]
    if not isinstance(patches, Patches):
        raise AssertionError("check_layer has refused it")
    if patches.contrast is None:
        level = float(np.float32(layer.whitening.m.mean()))
        return _Cut(patches, c, graph("Sub", x, real(level)), level, None)
    centred = graph("Sub", x, graph("ReduceMean", x, axes=[1, 2, 3], keepdims=1))
    if is_pixels and patches.offset >= LEAST_OFFSET:
        contrast = _contrast(graph, patches, c, *_pooled_moments(graph, patches, centred), np.float32)
        return _Cut(patches, c, centred, 0.0, graph("Reciprocal", contrast))
    gain = _exact_gain(graph, patches, c, *_summed_moments(graph, patches, c, layer.positions, x))
    return _Cut(patches, c, centred, 0.0, gain)


def _pooled_moments(graph: Graph, patches: Patches, x: str) -> tuple[str, str]:
    window: dict[str, Any] = {"kernel_shape": list(patches.patch_size), "strides": [patches.stride] * 2}
    mean = graph("AveragePool", graph("ReduceMean", x, axes=[1], keepdims=1), **window)
    square = graph("AveragePool", graph("ReduceMean", graph("Mul", x, x), axes=[1], keepdims=1), **window)
    return mean, square


def _summed_moments(graph: Graph, patches: Patches, c: int, positions: tuple[int, int], x: str) -> tuple[str, str]:
    """The same by adding up shifted images in float64, as `kernels.extraction.contrast` does."""
    x = graph.cast(x, np.float64)
    n = np.float64(np.prod(patches.patch_size) * c)
    found = []
    for total in (x, graph("Mul", x, x)):
        total = graph("ReduceSum", total, whole(1), keepdims=1)
        for axis, size, count in zip((2, 3), patches.patch_size, positions, strict=True):
            reach = (count - 1) * patches.stride + 1
            shifted = [graph.part(total, (axis,), (i,), (i + reach,), patches.stride) for i in range(size)]
            total = graph("Sum", *shifted)
        found.append(graph("Div", total, np.asarray(n)))
    return found[0], found[1]


def _exact_gain(graph: Graph, patches: Patches, c: int, mean: str, square: str) -> str:
    """1 / contrast, and 0 where the contrast is within the rounding of the pixels."""
    contrast = _contrast(graph, patches, c, mean, square, np.float64)
    seen = graph("Greater", contrast, graph("Mul", graph("Abs", mean), np.asarray(CONSTANT, np.float64)))
    gain = graph("Reciprocal", graph("Where", seen, contrast, np.ones((), np.float64)))
    return graph.cast(graph("Where", seen, gain, np.zeros((), np.float64)), np.float32)


def _contrast(graph: Graph, patches: Patches, c: int, mean: str, square: str, dtype: type) -> str:
    def number(value: float) -> Array:
        return np.asarray(value, dtype)

    variance = graph("Max", graph("Sub", square, graph("Mul", mean, mean)), number(0))
    if patches.contrast == "std":
        return graph("Add", graph("Sqrt", variance), number(patches.offset))
    n = int(np.prod(patches.patch_size)) * c
    return graph("Sqrt", graph("Add", graph("Mul", variance, number(n / max(n - 1, 1))), number(patches.offset)))
