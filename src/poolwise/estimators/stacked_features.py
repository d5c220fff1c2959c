"""StackedFeatures: layers on layers, each learned from the maps of the one before it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from poolwise.engine.current import here
from poolwise.engine.threads import Threads
from poolwise.estimators.pooled_features import PooledFeatures
from poolwise.method.descriptors import Patches
from poolwise.method.extraction import feature_blocks, prepare
from poolwise.method.layer import Layer
from poolwise.method.stack import Maps, map_layer, maps_of
from poolwise.support.blocks import spans
from poolwise.support.parameters import AUTO, Choice, ParameterError, Whole
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.support.types import Array, ImageSource

MOST_LAYERS = 8
_IMAGES_PER_BLOCK, _MAPS_PER_BLOCK = 512, 16


class StackedFeatures(TransformerMixin, BaseEstimator):
    """Features of several layers: the codes of each look at the maps of the layer before it.

    A layer's map is what its codes respond, averaged over `map_cells` × `map_cells` cells of an image; the next layer's patches
    are cut from that. Which when: to experiment. One layer with as many codes was better where we compared them, and one of
    second-order pooling is far better (docs/parts.md).

    Parameters
    ----------
    layers : sequence of PooledFeatures or None, default=None
        Not fitted; the first one sees images, so that bands, statistics and image_shape are given to it alone. None: two
        layers, 100 codes each, the second with patches of 3×3 cells.
    map_cells : int, default=9
        Rows and columns of the maps between layers; fewer where an image has fewer positions.
    output : {"all", "last"}, default="all"
        Features of all layers, one behind the other, or of the last one.
    random_state : int, RandomState instance or None, default=None
        For layers that have none of their own.
    n_jobs : int or None, default=None
        Threads of every layer; None: as many as each of them says.
    verbose : int, default=0
        Show progress on stderr.

    Attributes
    ----------
    layers_ : list of PooledFeatures
        Fitted.
    maps_ : list of poolwise.method.layer.Layer
        What gives the maps after each layer but the last.
    image_shape_in_ : (height, width, channels)
    n_features_in_ : int

    Examples
    --------
    >>> images = np.random.default_rng(0).integers(0, 256, size=(30, 16, 16, 3), dtype=np.uint8)
    >>> few = {"n_patches": 2000, "random_state": 0}
    >>> second = PooledFeatures(6, pooling="average", descriptor=Patches(2), **few)
    >>> stack = StackedFeatures([PooledFeatures(4, pooling="average", **few), second], map_cells=5).fit(images)
    >>> stack.transform(images).shape
    (30, 160)
    """

    def __init__(
        self,
        layers: Sequence[PooledFeatures] | None = None,
        *,
        map_cells: int = 9,
        output: Literal["all", "last"] = "all",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.layers = layers
        self.map_cells = map_cells
        self.output = output
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn layer after layer. X, y : as for `PooledFeatures`. A fit that fails leaves the stack as it was."""
        templates = self._templates()
        Whole().check("map_cells", self.map_cells)
        Choice(("all", "last")).check("output", self.output)
        twin, stages = copy.copy(self), Stages(bool(self.verbose), "StackedFeatures ")
        layers: list[PooledFeatures] = []
        maps: list[Layer] = []
        images: Any = X
        for number, template in enumerate(templates):
            model = clone(template)
            if model.random_state is None and self.random_state is not None:
                model.random_state = (seed_of(self.random_state) + number) % 2**32
            if self.n_jobs is not None:
                model.n_jobs = self.n_jobs
            if number:
                _fit_into(model, images.shape[1:])
            layers.append(model.fit(images, y))
            if number < len(templates) - 1:
                images = model.look_at(images)
                with here(model.n_jobs) as engine:
                    maps.append(map_layer(model.layer_, images, self.map_cells, engine=engine, stages=stages))
                images = Maps(maps[-1], images)
        twin.layers_, twin.maps_ = layers, maps
        twin.remember_images()
        self.__dict__ = twin.__dict__
        return self

    def remember_images(self) -> None:
        """What the first layer knows of the images is known of the stack."""
        for name in ("image_shape_in_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.layers_[0], name):
                setattr(self, name, getattr(self.layers_[0], name))
            elif hasattr(self, name):
                delattr(self, name)

    def _templates(self) -> list[PooledFeatures]:
        if self.layers is None:
            return [PooledFeatures(100), PooledFeatures(100, descriptor=Patches(3))]
        found = list(self.layers)
        if not 1 <= len(found) <= MOST_LAYERS or not all(isinstance(one, PooledFeatures) for one in found):
            raise ParameterError(f"layers must be 1 to {MOST_LAYERS} PooledFeatures; got {self.layers!r}")
        if any(one.nodata is not None for one in found):
            raise ParameterError(
                "maps of a layer have no pixels without data, so a stack cannot leave these out; use one layer for {nodata}",
                nodata=next(one.nodata for one in found if one.nodata is not None),
            )
        if any(one.image_shape is not None for one in found[1:]):
            raise ParameterError("image_shape is for the first layer; the others see maps")
        if any(one.statistics for one in found[1:]):
            raise ParameterError(
                "statistics are of an image's bands, and layers above the first see maps; give statistics=True to the first "
                "alone"
            )
        scaled = [
            one.bands for one in found[1:] if not (one.bands is None or (isinstance(one.bands, str) and one.bands == AUTO))
        ]
        if scaled:
            raise ParameterError(
                "layers above the first see maps, whose numbers are like those of pixels already; leave out {bands} there",
                bands=scaled[0],
            )
        return found

    def transform(self, X: Any) -> Array:
        """Features of images, (n, H, W, c) to (n, n_features) float32; maps are computed block by block."""
        images = self.look_at(X)
        found = np.empty((len(images), self.n_features_out_), np.float32)
        for rows, part in self._blocks(images):
            found[rows] = part
        return found

    def transform_blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """What `transform` computes, block after block and never all of it at once: (rows, features of these images)."""
        return self._blocks(self.look_at(X))

    def _blocks(self, images: Array | ImageSource) -> Iterator[tuple[slice, Array]]:
        """As many images at a time as pay for starting threads; the maps of a block are computed once."""
        layers, maps = [prepare(model.layer_) for model in self.layers_], [prepare(layer) for layer in self.maps_]
        for rows in spans(len(images), _IMAGES_PER_BLOCK):
            seen = np.asarray(images[rows])
            found = []
            for number, model in enumerate(self.layers_):
                with Threads(model.n_jobs if self.n_jobs is None else self.n_jobs) as engine:
                    if self.output == "all" or number == len(layers) - 1:
                        found.append(np.concatenate([X for _, X in feature_blocks(layers[number], seen, engine)]))
                    if number < len(maps):
                        parts = [seen[part] for part in spans(len(seen), _MAPS_PER_BLOCK)]
                        seen = np.concatenate(list(engine.map(partial(maps_of, maps[number]), parts)))
            yield rows, np.concatenate(found, axis=1)

    @property
    def passes_(self) -> list[Layer]:
        """All layers that `transform` runs: those that make maps, and those whose features are given."""
        return [*self.maps_, *(model.layer_ for model in self.layers_[0 if self.output == "all" else -1 :])]

    @property
    def n_features_out_(self) -> int:
        """Numbers per image."""
        each = [model.layer_.n_features for model in self.layers_]
        return sum(each) if self.output == "all" else each[-1]

    @property
    def saw_labels_(self) -> bool:
        """Whether labels decided any of what was learned."""
        return any(model.saw_labels_ for model in self.layers_)

    def look_at(self, X: Any) -> Array | ImageSource:
        """Images as (n, H, W, c), checked against those seen in `fit`; a source stays as it is."""
        check_is_fitted(self)
        return self.layers_[0].look_at(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Those of each layer behind `layer0_`, `layer1_`."""
        check_is_fitted(self)
        self.layers_[0].get_feature_names_out(input_features)
        shown = list(enumerate(self.layers_))[0 if self.output == "all" else -1 :]
        names = [f"layer{number}_{name}" for number, model in shown for name in model.get_feature_names_out()]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _fit_into(model: PooledFeatures, shape: tuple[int, int, int]) -> None:
    """Patches of a later layer no larger than its maps, which may be very small."""
    cut = model.recipe.descriptor
    if isinstance(cut, Patches):
        (ph, pw), (H, W, _) = cut.patch_size, shape
        model.descriptor = replace(cut, size=(min(ph, H), min(pw, W)))
