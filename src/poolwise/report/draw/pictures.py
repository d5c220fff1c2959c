"""Pictures of a fitted model for notebooks and papers: Pillow's images."""

from typing import Any

import numpy as np
from PIL import Image

from poolwise.analysis.clusters import correlations_after
from poolwise.estimators import PooledFeatures
from poolwise.method.layer import Layer
from poolwise.report.draw.mosaic import arrange_clusters
from poolwise.support.tiles import arrange
from poolwise.support.types import Array


def tiles_of(layer: Layer, codes: Array) -> Array:
    """(K, height, width, 3) uint8 pictures of a layer's codes; where these are none, windows that excite them."""
    tiles = layer.descriptor.draw(codes, layer.image_shape[2])
    tiles = layer.pictures if tiles is None else tiles
    if tiles is None:
        raise ValueError(f"codes of {layer.descriptor!r} are not pictures, and the model has no windows that excite them")
    return tiles


def whitened_pictures(layer: Layer, codes: Array) -> Array:
    """(K, d) codes in the space of whitened patches; those of a rank r turned back into it, with 0 in the directions left out.

    V_r d_k,   W = V_r diag(gain)
    """
    if not layer.whitening.is_reduced:
        return codes
    W = layer.whitening.W
    gain = np.linalg.norm(W, axis=0)
    pictures: Array = codes @ np.divide(W, gain, out=np.zeros_like(W), where=gain > 0).T
    return pictures


def draw_codes(
    model: PooledFeatures, *, whitened: bool = False, columns: int | None = None, zoom: int = 8, gap: int = 3
) -> Image.Image:
    """The codes of a fitted PooledFeatures as they would be in an image, or as they are in the space of whitened patches.

    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> draw_codes(PooledFeatures(4, n_patches=2000, random_state=0).fit(images), zoom=4, gap=2).size
    (54, 54)
    """
    layer = model.layer_
    tiles = tiles_of(layer, whitened_pictures(layer, layer.codes) if whitened else layer.whitening.undo(layer.codes))
    return Image.fromarray(arrange(tiles, columns, zoom=zoom, gap=gap))


def draw_clusters(model: PooledFeatures, *, whitened: bool = False, **layout: Any) -> Image.Image:
    """Each code kept above the candidates that it represents, the most alike after pooling first.

    layout : as in `cluster_mosaic`
    """
    candidates, cluster, layer = *model.require_clusters(), model.layer_
    layer = candidates.layer
    codes = whitened_pictures(layer, layer.codes) if whitened else layer.whitening.undo(layer.codes)
    closeness = correlations_after(candidates.statistics.covariance, cluster)
    return arrange_clusters(tiles_of(layer, codes), cluster, closeness=closeness, **layout)
