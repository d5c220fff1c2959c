"""Layers on layers: what a layer's codes respond in small cells is an image for the next layer.

    map of image I = 128 + 40 · (x - mean) / spread,   x : (m, m, outputs) averages of the activations in m × m cells

A map has as many channels as the layer has outputs, and numbers like those of pixels, so that the next layer takes it as it
takes any image of many bands. A `Maps` computes the maps of the images that are asked for: never all at once.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from poolwise.engine import Engine
from poolwise.method.extraction import prepare
from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.learning import learn_scale
from poolwise.method.pooling import Pool
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale, Standardize
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource

LEVEL, SPREAD = np.float32(128), np.float32(40)  # of a map's numbers, as pixels have them
_IMAGES_FOR_SCALE = 5_000
_NO_OFFSET = 1e-6


def map_layer(layer: Layer, images: Array | ImageSource, cells: int, *, engine: Engine, stages: Stages) -> Layer:
    """The layer whose pooled, standardised outputs are the maps of a layer: averages over cells × cells, without symmetry.

    cells : at most as many as there are positions
    """
    h, w = layer.positions
    pooling = Pool("average", grid=(min(cells, h), min(cells, w))).fitted_to((h, w))
    nothing = Scale.none(pooling.n_cells, layer.n_outputs)
    lean = replace(layer, pooling=pooling, scale=nothing, projection=None, symmetry=None, statistics=None)
    recipe = Recipe(scale=Standardize(offset=_NO_OFFSET)).checked()
    scale = learn_scale(recipe, prepare(lean), images, about=_IMAGES_FOR_SCALE, engine=engine, stages=stages)
    return replace(lean, scale=scale)


class Maps(ImageSource):
    """The maps of images, as images: (n, m, m, outputs) float32, computed where they are read.

    layer : of `map_layer`    images : (n, H, W, c), which may be maps themselves
    """

    dtype = np.dtype(np.float32)

    def __init__(self, layer: Layer, images: Array | ImageSource) -> None:
        self.layer, self.images = layer, images
        ((rows, columns),) = layer.pooling.grids
        self.shape = (len(images), rows, columns, layer.n_outputs)

    @cached_property
    def _ready(self) -> Pass:
        return prepare(self.layer)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_ready"}

    def __getitem__(self, rows: Any) -> Array:
        return maps_of(self._ready, np.asarray(self.images[rows]))


def maps_of(ready: Pass, images: Array) -> Array:
    """(n, m, m, outputs) float32, on the calling thread; ready : the pass of a `map_layer`"""
    x = ready.layer.scale(ready.pooled(images))
    x *= SPREAD
    x += LEVEL
    return x.reshape(len(x), *ready.layer.pooling.grids[0], -1)
