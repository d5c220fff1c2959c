"""Pictures of a fitted model for notebooks and papers: Pillow's images."""

from typing import Any

from PIL import Image

from poolwise.analysis.clusters import correlations_after
from poolwise.estimators import PooledFeatures
from poolwise.method.layer import Layer
from poolwise.report.draw.mosaic import arrange_clusters
from poolwise.support.tiles import arrange
from poolwise.support.types import Array


def tiles_of(layer: Layer, codes: Array) -> Array:
    """(K, height, width, 3) uint8 pictures of codes; an error where the descriptor's codes are not pictures."""
    tiles = layer.descriptor.draw(codes, layer.image_shape[2])
    if tiles is None:
        raise ValueError(f"codes of {layer.descriptor!r} are not pictures and cannot be drawn")
    return tiles


def draw_codes(
    model: PooledFeatures, *, whitened: bool = False, columns: int | None = None, zoom: int = 8, gap: int = 3
) -> Image.Image:
    """The codes of a fitted PooledFeatures as they would be in an image, or as they are in the space of whitened patches.

    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> draw_codes(PooledFeatures(4, n_patches=2000, random_state=0).fit(images), zoom=4, gap=2).size
    (54, 54)
    """
    layer = model.layer_
    tiles = tiles_of(layer, layer.codes if whitened else layer.whitening.undo(layer.codes))
    return Image.fromarray(arrange(tiles, columns, zoom=zoom, gap=gap))


def draw_clusters(model: PooledFeatures, *, whitened: bool = False, **layout: Any) -> Image.Image:
    """Each code kept above the candidates that it represents, the most alike after pooling first.

    layout : as in `cluster_mosaic`
    """
    candidates, cluster = model.require_clusters()
    codes = candidates.codes if whitened else model.layer_.whitening.undo(candidates.codes)
    closeness = correlations_after(candidates.statistics.covariance, cluster)
    return arrange_clusters(tiles_of(model.layer_, codes), cluster, closeness=closeness, **layout)
