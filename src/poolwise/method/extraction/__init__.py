"""A layer at work: images to features in blocks, on an engine.

A layer whose parts allow it goes through the `fused` pass, one product per tile of positions; the others through the `plain`
one, which calls the parts themselves. Images go to the engine in blocks of a fixed size, so memory does not grow with their
number and no result depends on the number of threads.

images : (n, H, W, c)    pooled : (n, cells, width) float32 before scale and projection    features : (n, n_features) float32
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from poolwise.engine import Engine
from poolwise.method.band_statistics import band_statistics
from poolwise.method.extraction.base import Pass
from poolwise.method.extraction.fused import FusedPass
from poolwise.method.extraction.plain import PlainPass
from poolwise.method.layer import Layer
from poolwise.method.nystrom import ROWS_PER_WIDE_PANEL
from poolwise.method.sizes import check_features
from poolwise.support.blocks import spans
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource

_BYTES_PER_BLOCK, _BYTES_PER_WIDE_BLOCK = 1 << 20, 1 << 24


def prepare(layer: Layer) -> Pass:
    """The fused pass where there is one, else the plain one."""
    return FusedPass.of(layer) or PlainPass(layer)


def features_of(ready: Pass, images: Array) -> Array:
    """One block of images to features: pooled, standardised and, cell by cell, projected; then the statistics of bands."""
    scale, projection = ready.layer.scale, ready.layer.projection
    X = scale(ready.pooled(images))
    if projection is not None:
        X = projection(X.reshape(-1, X.shape[2]))
    X = X.reshape(len(images), -1)
    return X if ready.layer.statistics is None else np.hstack([X, band_features_of(ready.layer, images)])


def band_features_of(layer: Layer, images: Array) -> Array:
    """One block of images to the statistics of bands, standardised: (n, n_band_features)."""
    if layer.statistics is None:
        return np.empty((len(images), 0), np.float32)
    return layer.statistics(band_statistics(images, layer.pooling.grids, layer.symmetry)).reshape(len(images), -1)


def block_size(layer: Layer, image_shape: tuple[int, int, int]) -> int:
    """Images per block: about a megabyte of pixels and pooled outputs, whatever the number of images and threads.

    A projection of many numbers takes as many rows at a time as pay for reading it, up to 16 MB of pixels.
    """
    width = layer.n_cells * layer.pooling.width(layer.n_outputs)
    least = 1
    if layer.projection is not None and layer.projection.kind == "direction":
        most = max(1, _BYTES_PER_WIDE_BLOCK // (4 * int(np.prod(image_shape))))
        least = min(max(1, ROWS_PER_WIDE_PANEL // layer.n_cells), most)
    return max(least, _BYTES_PER_BLOCK // (4 * (int(np.prod(image_shape)) + 2 * width)))


def pooled_blocks(
    ready: Pass,
    images: Array | ImageSource,
    engine: Engine,
    *,
    about: int | None = None,
    then: Callable[..., Any] | None = None,
    common: tuple[Any, ...] = (),
) -> Iterator[tuple[slice, Any]]:
    """(rows, pooled activations of these images), block after block; of `about` this many images, spread evenly, if given.

    then : in place of the activations, then(activations, *common), computed where they are
    """
    blocks = spans(len(images), block_size(ready.layer, images.shape[1:]))
    if about is not None and about < len(images):
        wanted = -(-about // (blocks[0].stop - blocks[0].start))
        blocks = [blocks[i * len(blocks) // wanted] for i in range(wanted)]
    yield from zip(blocks, engine.map(_pooled, blocks, images, ready, then, *common), strict=True)


def feature_blocks(ready: Pass, images: Array | ImageSource, engine: Engine) -> Iterator[tuple[slice, Array]]:
    """(rows, features of these images), block after block."""
    blocks = spans(len(images), block_size(ready.layer, images.shape[1:]))
    yield from zip(blocks, engine.map(_features, blocks, images, ready), strict=True)


def band_feature_blocks(layer: Layer, images: Array | ImageSource, engine: Engine) -> Iterator[tuple[slice, Array]]:
    """(rows, statistics of bands of these images, standardised), block after block; nothing of a layer without them."""
    if layer.statistics is None:
        return
    blocks = spans(len(images), block_size(layer, images.shape[1:]))
    yield from zip(blocks, engine.map(_band_features, blocks, images, layer), strict=True)


def _band_features(rows: slice, images: Array | ImageSource, layer: Layer) -> Array:
    return band_features_of(layer, images[rows])


def extract(ready: Pass, images: Array | ImageSource, *, engine: Engine, stages: Stages) -> Array:
    """(n, n_features) float32; memory beyond the result does not grow with the number of images."""
    check_features(len(images), ready.layer.n_features, "Give fewer images at once, or take them block by block.")
    features = np.empty((len(images), ready.layer.n_features), np.float32)
    with stages.stage("transform", len(images)) as update:
        for rows, X in feature_blocks(ready, images, engine):
            features[rows] = X
            update(rows.stop)
    return features


def features_of_rows(rows: slice, images: Array | ImageSource, ready: Pass) -> Array:
    """(rows, n_features) of some images, block by block: a shard of features."""
    features, size = (
        np.empty((rows.stop - rows.start, ready.layer.n_features), np.float32),
        block_size(ready.layer, images.shape[1:]),
    )
    for part in spans(len(features), size):
        features[part] = features_of(ready, images[rows.start + part.start : rows.start + part.stop])
    return features


def _pooled(rows: slice, images: Array | ImageSource, ready: Pass, then: Callable[..., Any] | None = None, *common: Any) -> Any:
    pooled = ready.pooled(images[rows])
    return pooled if then is None else then(pooled, *common)


def blocks_of(ready: Pass, images: Array | ImageSource) -> list[slice]:
    """The blocks that images are computed in."""
    return spans(len(images), block_size(ready.layer, images.shape[1:]))


def _features(rows: slice, images: Array | ImageSource, ready: Pass) -> Array:
    return features_of(ready, images[rows])
