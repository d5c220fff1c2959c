"""Banks: one dictionary, and the pooled responses of images to it, from which many settings take their columns.

Settings with the same codes and the same kind of pooling are one `Group`: images are pooled once, for the union of their grids,
thresholds and sides, and the features of a setting are some of these columns, standardised by the images learned from.

pooled : (n, cells, width) float32 of the union    X : (n, n_features) float32 of one setting
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from poolwise.engine import Engine
from poolwise.method.dictionaries import KMeans
from poolwise.method.extraction import extract, pooled_blocks, prepare
from poolwise.method.layer import Layer
from poolwise.method.learning import learn_codes, learn_outputs, learn_with_targets
from poolwise.method.masked import Masked
from poolwise.method.nodata import nan_pixels, rows_with_data
from poolwise.method.pooling import BothOrders, SecondOrder
from poolwise.method.scale import Scale, Standardize
from poolwise.method.statistics import Moments
from poolwise.support.blocks import spans
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource
from poolwise.tuning.settings import Setting

CEILING = 512 << 20  # bytes of the pooled numbers of a group
PATCHES, PATCHES_PER_CODE, ROUNDS = 30_000, 20, 10  # fewer than a fit takes
_ROWS_PER_BLOCK, _IMAGES_LOOKED_AT_TOGETHER = 4096, 256
_PARTS = {"average": (0,), "max": (1,), "both": (0, 1)}  # of the outputs of "both": averages, then maxima


@dataclass(frozen=True)
class Group:
    """Settings that share an extraction.

    union : the setting whose pooled numbers hold those of all
    """

    settings: tuple[Setting, ...]
    union: Setting


def group(settings: Iterable[Setting], n: int, ceiling: int = CEILING) -> list[Group]:
    """Settings in groups, in the order of their first ones; the numbers of n images of a group take at most `ceiling` bytes.

    >>> two = [Setting(8, grid=(1,)), Setting(8, grid=(2,), two_sided=True)]
    >>> [found.union.grid for found in group(two, 10)], len(group(two, 10, ceiling=2000))
    ([(1, 2)], 2)
    """
    groups: dict[object, list[Group]] = {}
    for setting in settings:
        alike = groups.setdefault(_kind(setting), [])
        if alike:
            union = _union(alike[-1].union, setting)
            if 4 * n * union.n_features <= ceiling:
                alike[-1] = Group((*alike[-1].settings, setting), union)
                continue
        alike.append(Group((setting,), setting))
    return [found for alike in groups.values() for found in alike]


def _kind(setting: Setting) -> object:
    """What settings must have in common to share an extraction."""
    if setting.directions is not None:
        return setting
    if setting.is_second_order or setting.pairs is not None:  # products of outputs have no sides
        return setting.bank, setting.pool, setting.alpha, setting.two_sided, setting.pairs
    return setting.bank


def _union(a: Setting, b: Setting) -> Setting:
    return a.but(
        grid=tuple(sorted({*a.grid, *b.grid})),
        alpha=tuple(sorted({*a.alpha, *b.alpha})),
        two_sided=a.two_sided or b.two_sided,
        pool=a.pool if a.pool == b.pool else "both",
    )


def learn_bank(
    setting: Setting, images: Array | ImageSource, targets: Array | None, *, seed: int, engine: Engine, stages: Stages
) -> Layer:
    """The layer of a setting's codes, still without a scale, learned from few patches.

    targets : (n, t) what codes are chosen by, for selection="supervised"
    """
    M = setting.n_candidates or setting.n_codes
    recipe = setting.recipe(n_patches=max(PATCHES, PATCHES_PER_CODE * M), dictionary=KMeans(max_iter=ROUNDS))
    recipe = recipe.fitted_to(images.shape[1:])
    seen = Masked(images, "nan") if _has_nan(images, engine) else images  # patches are drawn where there are data
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* have no patch of ")  # every bank and fold would say so; the fit of the best does
        _, layer = learn_codes(recipe, seen, rng=np.random.default_rng(seed), engine=engine, stages=stages)
    if setting.n_candidates is None:
        return layer
    if targets is None:
        raise ValueError("selection with labels needs targets")
    one_sided = replace(layer, encoder=Setting(1).encoder, scale=Scale.none(layer.n_cells, M))
    candidates = learn_with_targets(recipe, one_sided, seen, targets, seed=seed, engine=engine, stages=stages)
    candidates = replace(candidates, pooling=BothOrders(1))  # so that the codes whose products may be pooled come first
    chosen = candidates.select(setting.n_codes, "supervised", engine=engine.local, stages=stages)
    return candidates.layer.keep(chosen.selected, None)


def _has_nan(images: Array | ImageSource, engine: Engine) -> bool:
    """Whether any image has pixels without data; only images of real numbers are looked at."""
    blocks = spans(len(images), _IMAGES_LOOKED_AT_TOGETHER) if images.dtype.kind == "f" else []
    return any(list(engine.map(_block_has_nan, blocks, images)))


def _block_has_nan(rows: slice, images: Array | ImageSource) -> bool:
    return nan_pixels(np.asarray(images[rows])) is not None


def dressed(layer: Layer, setting: Setting) -> Layer:
    """The codes of a layer with the encoder, pooling and symmetry of a setting, without a scale."""
    pooling = setting.pooling.fitted_to(layer.positions)
    nothing = Scale.none(pooling.n_cells, pooling.width(setting.encoder.sides * len(layer.codes)))
    return replace(layer, encoder=setting.encoder, pooling=pooling, symmetry=setting.symmetry, scale=nothing, projection=None)


def pool_images(layer: Layer, images: Array | ImageSource, *, engine: Engine, stages: Stages) -> Array:
    """(n, cells, width) float32 of a layer without a scale."""
    width = layer.pooling.width(layer.n_outputs)
    pooled = np.empty((len(images), layer.n_cells, width), np.float32)
    with stages.stage("images", len(images)) as update:
        for rows, block in pooled_blocks(prepare(layer), images, engine):
            pooled[rows] = block
            update(rows.stop)
    return pooled


def view(pooled: Array, setting: Setting, union: Setting, n: int, *, overwrite: bool = False) -> Array:
    """The features of a setting from the pooled numbers of its group, standardised by the first n images.

    overwrite : whether `pooled` is not needed any more, so that a setting that takes all of it needs no copy
    """
    if setting == union.but(scale_offset=setting.scale_offset):
        taken = pooled if overwrite else pooled.copy()
    else:
        cells, columns = cells_of(setting, union), columns_of(setting, union)
        taken = pooled[:, cells] if columns is None else pooled[:, cells[:, None], columns]
    width = taken.shape[2]
    moments = Moments(width, diagonal=True)
    for rows in spans(n, _ROWS_PER_BLOCK):
        moments.update(rows_with_data(taken[rows]))
    scale = Standardize(offset=setting.scale_offset).learned(moments, width)
    for rows in spans(len(taken), _ROWS_PER_BLOCK):
        taken[rows] = scale(taken[rows])
    return taken.reshape(len(taken), -1)


def cells_of(setting: Setting, union: Setting) -> Array:
    """Where the cells of a setting's grids are among those of the union.

    >>> cells_of(Setting(8, grid=(2,)), Setting(8, grid=(1, 2)))
    array([1, 2, 3, 4])
    """
    first = dict(zip(union.grid, np.cumsum([0, *(side * side for side in union.grid)]), strict=False))
    return np.concatenate([first[side] + np.arange(side * side) for side in setting.grid])


def columns_of(setting: Setting, union: Setting) -> Array | None:
    """Where the outputs of a setting are among those of the union; None if they are all of them.

    >>> columns_of(Setting(2, alpha=(1.0,)), Setting(2, alpha=(0.25, 1.0), two_sided=True))
    array([4, 5])
    """
    if (setting.alpha, setting.two_sided, setting.pool) == (union.alpha, union.two_sided, union.pool):
        return None
    signs, K = (2 if union.two_sided else 1), setting.n_codes
    sides = [union.alpha.index(alpha) * signs + sign for alpha in setting.alpha for sign in range(1 + setting.two_sided)]
    outputs = np.concatenate([side * K + np.arange(K) for side in sides])
    every = union.encoder.sides * K
    parts = _PARTS[setting.pool] if union.pool == "both" else (0,)
    return np.concatenate([part * every + outputs for part in parts])


def projected(
    layer: Layer,
    setting: Setting,
    images: Array | ImageSource,
    first: Array | ImageSource,
    *,
    seed: int,
    engine: Engine,
    stages: Stages,
) -> Array:
    """The features of a setting with directions, which are learned from `first`, the first of the images."""
    if not isinstance(layer.pooling, SecondOrder):
        raise ValueError("directions are of second-order pooling")
    recipe = setting.recipe().fitted_to(images.shape[1:])
    layer, _ = learn_outputs(recipe, layer, first, False, seed=seed, engine=engine, stages=stages)
    return extract(prepare(layer), images, engine=engine, stages=stages)
