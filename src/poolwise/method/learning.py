"""Learning a layer: the stages of the method, each on its own, timed and with progress; `fitting` has their order.

images : (n, H, W, c)    M : codes that K-means learns, K or the number of candidates
"""

from dataclasses import replace

import numpy as np

from poolwise.engine import Engine, Held
from poolwise.method.candidates import Candidates, Statistics
from poolwise.method.dictionaries import Dictionary
from poolwise.method.directions import leading_directions, predicting_directions
from poolwise.method.exciting import exciting_windows
from poolwise.method.extraction import band_feature_blocks, blocks_of, extract, pooled_blocks, prepare
from poolwise.method.extraction.base import Pass
from poolwise.method.extraction.rows import feature_rows, pooled_rows, rows_with_targets, variances
from poolwise.method.layer import Layer
from poolwise.method.nodata import check_labelled, check_windows, is_masked, rows_with_data
from poolwise.method.pooling import Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale, Standardize
from poolwise.method.selection.supervised import LABELLED_GRID, Labelled
from poolwise.method.statistics import CovarianceStream, Moments, moments_of_rows
from poolwise.method.super_patches import super_patch_blocks
from poolwise.method.whitening import Whitening, fit_whitening, whiten
from poolwise.support.blocks import spans
from poolwise.support.memory import check_memory
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource

_ROWS_PER_BLOCK = 16384
_LEAST_SAMPLES, _SAMPLES_PER_NUMBER = 20_000, 2  # cells that directions are learned from
_DIRECTIONS_BYTES = 10  # per entry: sums in float64, and columns that are multiplied with it
_MOST_NUMBERS_TOGETHER = 24_000  # of all cells, whose covariance directions by labels are learned from: 2.3 GB


def learn_codes(
    recipe: Recipe, images: Array | ImageSource, *, rng: np.random.Generator, engine: Engine, stages: Stages
) -> tuple[Dictionary, Layer]:
    """Stages 1 to 4: patches, contrast, whitening, dictionary; the layer still without a scale."""
    M = recipe.n_codes if recipe.n_candidates is None else int(recipe.n_candidates)
    with stages.stage("patches"):
        P = _sample(recipe, images, rng=rng, engine=engine)
    with stages.stage("whitening"):
        whitening = fit_whitening(P, recipe.whitening)
        whiten(P, whitening)
    with stages.stage("dictionary", recipe.dictionary.max_iter) as update:
        learned = recipe.dictionary.learn(P, M, rng=rng, update=update)
    layer = layer_of_codes(recipe, images, whitening, learned.codes)
    if layer.descriptor.draw(layer.whitening.undo(layer.codes[:1]), images.shape[3]) is None:
        with stages.stage("pictures"):
            layer = replace(layer, pictures=exciting_windows(layer, images, engine=engine))
    return learned, layer


def layer_of_codes(recipe: Recipe, images: Array | ImageSource, whitening: Whitening, codes: Array) -> Layer:
    """A layer without a scale."""
    pooling, encoder = recipe.pooling, recipe.encoder
    nothing = Scale.none(pooling.n_cells, pooling.width(encoder.sides * len(codes)))
    return Layer(images.shape[1:], recipe.descriptor, whitening, codes, encoder, pooling, nothing, symmetry=recipe.symmetry)


def _sample(recipe: Recipe, images: Array | ImageSource, *, rng: np.random.Generator, engine: Engine) -> Held:
    """Local vectors to learn from; in groups of neighbours for a dictionary that wants them so."""
    side = recipe.dictionary.group_side
    if side == 1:
        return recipe.descriptor.sample(images, recipe.n_patches, rng=rng, engine=engine)
    groups = max(1, recipe.n_patches // side**2)
    return recipe.descriptor.sample_groups(images, groups, side, rng=rng, engine=engine)


def learn_outputs(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    keep_features: bool,
    *,
    seed: int,
    targets: Array | None = None,
    engine: Engine,
    stages: Stages,
) -> tuple[Layer, Array | None]:
    """Stages 5 to 8 of codes that are all kept: scale, directions, and the features if they are asked for.

    Where they are the pooled numbers standardised, each image is encoded once.
    """
    if layer.pooling.directions_kept(layer.n_outputs) is not None:
        known = targets if layer.pooling.needs_labels(layer.n_outputs) else None
        layer = learn_directions(recipe, layer, images, known, seed=seed, engine=engine, stages=stages)
    if layer.projection is None:
        keep = np.empty((len(images), layer.n_features), np.float32) if keep_features else None
        layer = replace(layer, scale=learn_scale(recipe, prepare(layer), images, keep, engine=engine, stages=stages))
        if keep is not None:
            _standardize_in_place(keep[:, : layer.n_code_features], layer)
            for rows, S in band_feature_blocks(layer, images, engine):
                keep[rows, layer.n_code_features :] = S
        return layer, keep
    if layer.projection.kind != "direction":
        layer = replace(layer, scale=learn_scale(recipe, prepare(layer), images, engine=engine, stages=stages))
    return layer, extract(prepare(layer), images, engine=engine, stages=stages) if keep_features else None


def _standardize_in_place(pooled: Array, layer: Layer) -> None:
    for rows in spans(len(pooled), _ROWS_PER_BLOCK):
        part = pooled[rows].reshape(rows.stop - rows.start, layer.n_cells, -1)
        pooled[rows] = layer.scale(part).reshape(len(part), -1)


def learn_directions(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    targets: Array | None,
    *,
    seed: int,
    engine: Engine,
    stages: Stages,
) -> Layer:
    """The scale of a cell's numbers, and their directions of largest variance or, with targets, those that predict these.

    Scale and covariance are of images spread evenly over all; what goes with targets is of all of them.

    targets : (n, t), NaN in rows that are not to be looked at
    """
    width, count = layer.pooling.width(layer.n_outputs), layer.pooling.directions_kept(layer.n_outputs) or 0
    about = -(-max(_LEAST_SAMPLES, _SAMPLES_PER_NUMBER * width) // layer.n_cells)
    if not _is_shared(recipe.scale):
        layer = replace(layer, scale=learn_scale(recipe, prepare(layer), images, about=about, engine=engine, stages=stages))
    ready, stream, done = prepare(layer), CovarianceStream(width, engine.local), 0
    with stages.stage("directions", min(about, len(images))) as update:
        for _, pooled in pooled_blocks(ready, images, engine, about=about):
            stream.add(rows_with_data(pooled if _is_shared(recipe.scale) else layer.scale.around(pooled)))
            done += len(pooled)
            update(min(done, about))
        layer, C = _standardized(layer, recipe.scale, stream.moments())
        rng = np.random.default_rng(seed)
        if targets is None:
            return replace(layer, projection=leading_directions(C, count, rng=rng, engine=engine.local))
    known = np.asarray(np.isfinite(targets).all(axis=1))
    centred = np.where(known[:, None], targets - targets[known].mean(axis=0), 0).astype(np.float32)
    if centred.shape[1] == 2 and np.array_equal(centred[:, 0], -centred[:, 1]):
        centred = centred[:, :1]  # of two classes, one says it all
    numbers = layer.n_cells * width
    together = CovarianceStream(numbers, engine.local, dtype="float32") if numbers <= _MOST_NUMBERS_TOGETHER else None
    B = np.zeros((numbers, centred.shape[1]))
    with stages.stage("labels", len(images)) as update:
        for rows, pooled in pooled_blocks(ready, images, engine):
            X = layer.scale(pooled).reshape(len(pooled), numbers)
            B += X.T @ centred[rows]
            if together is not None and known[rows].any():
                together.add(X[known[rows]])
            update(rows.stop)
    B /= known.sum()
    with stages.stage("directions by labels"):
        if together is not None:
            moments = together.moments()
            G = moments.scatter
            G /= moments.n
            return replace(layer, projection=predicting_directions(C, B, count, G, rng=rng, engine=engine.local))
        B = B.reshape(layer.n_cells, width, -1).transpose(1, 0, 2).reshape(width, -1)
        return replace(layer, projection=predicting_directions(C, B, count, rng=rng, engine=engine.local))


def learn_scale(
    recipe: Recipe,
    ready: Pass,
    images: Array | ImageSource,
    keep: Array | None = None,
    *,
    about: int | None = None,
    engine: Engine,
    stages: Stages,
) -> Scale:
    """Stages 5 to 8: pool all images, or `about` this many; mean and spread of what is pooled, and that itself to `keep`."""
    standardize, layer = recipe.scale, ready.layer
    outputs = layer.pooling.width(layer.n_outputs)
    if standardize is None and keep is None:
        return Scale.none(layer.n_cells, outputs)
    width = outputs if _is_shared(standardize) else layer.n_cells * outputs
    moments = Moments(width, diagonal=True)
    with stages.stage("pooling", len(images)) as update:
        if keep is None:
            for rows, part in pooled_blocks(ready, images, engine, about=about, then=variances, common=(width,)):
                moments.merge(part)
                update(rows.stop)
        else:
            for rows, pooled in pooled_blocks(ready, images, engine, about=about):
                if standardize is not None:
                    moments.update(pooled.reshape(-1, width))
                keep[rows, : layer.n_code_features] = pooled.reshape(len(pooled), -1)
                update(rows.stop)
    return Scale.none(layer.n_cells, outputs) if standardize is None else standardize.learned(moments, outputs)


def learn_candidates(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    *,
    seed: int,
    rng: np.random.Generator,
    engine: Engine,
    stages: Stages,
) -> Candidates:
    """Stages 5 to 8 for selection: the scale as in `learn_scale`, and C, the covariance of the standardised samples.

    A sample is a cell of an image or, if `n_super_patches` is given, a super-patch. One pass over the images, or two if each
    cell has a scale of its own. Selection sees the first order of any pooling.
    """
    layer, pooling = of_first_order(layer)
    standardize, outputs, ready = recipe.scale, layer.n_outputs, prepare(layer)
    if not _is_shared(standardize):
        layer = replace(layer, scale=learn_scale(recipe, ready, images, engine=engine, stages=stages))
    samples = len(images) if recipe.n_super_patches is None else recipe.n_super_patches
    with stages.stage("covariance", samples) as update:
        if recipe.n_super_patches is not None:
            stream, done = CovarianceStream(outputs, engine.local), 0
            for X in super_patch_blocks(layer, images, recipe.n_super_patches, rng=rng, engine=engine):
                stream.add(rows_with_data(X[:, None]))
                done += len(X)
                update(done)
            moments = stream.moments()
        else:
            shared, blocks = _is_shared(standardize), blocks_of(ready, images)
            moments = moments_of_rows(
                engine.local if is_masked(images) else engine,
                pooled_rows if shared else feature_rows,
                blocks,
                *(images, ready if shared else prepare(layer)),
                counts=[(rows.stop - rows.start) * layer.n_cells for rows in blocks],
                width=outputs,
                each=lambda number, _: update(blocks[number].stop),
            )
    check_windows(moments.n, recipe.n_super_patches)
    layer, C = _standardized(layer, standardize, moments)
    return Candidates(layer, Statistics(C, moments.n), seed, pooling)


def _standardized(layer: Layer, standardize: Standardize | None, moments: Moments) -> tuple[Layer, Array]:
    """The layer with its scale, if all cells share it, and C of the standardised samples, in the place of their scatter."""
    factor = np.ones(len(moments.mean))
    if standardize is not None and _is_shared(standardize):
        layer = replace(layer, scale=standardize.learned(moments, len(factor)))
        factor = layer.scale.spread
    C = moments.scatter  # it may be large
    C /= moments.n * factor[:, None]
    C /= factor
    if not np.isfinite(C).all():
        raise ValueError("the pooled activations are too large for a float32 covariance; rescale the images to 0..255")
    return layer, C


def learn_with_targets(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    targets: Array,
    *,
    seed: int,
    engine: Engine,
    stages: Stages,
) -> Candidates:
    """The same for selection with labels, in one pass: the scale of every output, and how one output a code goes with targets.

    A code is judged by its first output on a coarse grid, which is as good as all of its outputs, and far smaller. Images that
    have no data in a whole cell of that are left out.
    """
    layer, pooling = of_first_order(layer)
    own, M, outputs = layer.pooling.grids, len(layer.codes), layer.n_outputs
    h, w = layer.positions
    coarse = min(LABELLED_GRID, h), min(LABELLED_GRID, w)
    grids = own if coarse in own else (*own, coarse)
    first = sum(rows * columns for rows, columns in grids[: grids.index(coarse)])
    n_own, n_coarse = layer.n_cells, coarse[0] * coarse[1]
    shared = _is_shared(recipe.scale)
    moments = Moments(outputs if shared else n_own * outputs, diagonal=True)
    ready = prepare(replace(layer, pooling=layer.pooling.but(grid=list(grids))))
    with stages.stage("covariance", len(images)) as update:
        blocks = blocks_of(ready, images)

        def each(number: int, part: Moments) -> None:
            moments.merge(part)
            update(blocks[number].stop)

        found = moments_of_rows(
            engine.local if is_masked(images) else engine,
            rows_with_targets,
            [(rows, targets[rows]) for rows in blocks],
            *(images, ready, (first, n_coarse, M), n_own, len(moments.mean)),
            counts=[rows.stop - rows.start for rows in blocks],
            width=n_coarse * M + targets.shape[1],
            each=each,
        )
    check_labelled(found.n, len(images), coarse)
    if recipe.scale is not None:
        layer = replace(layer, scale=recipe.scale.learned(moments, outputs))
    offset = 0.0 if recipe.scale is None else recipe.scale.offset
    p, spread = n_coarse * M, found.scale(offset)[: n_coarse * M]
    Q = found.scatter / found.n
    G = Q[:p, :p] / spread[:, None] / spread
    labelled = Labelled(G.astype(np.float32), Q[:p, p:] / spread[:, None], float(np.trace(Q[p:, p:])), found.n)
    C = sum(G[cell * M : (cell + 1) * M, cell * M : (cell + 1) * M] for cell in range(n_coarse)) / n_coarse
    return Candidates(layer, Statistics(np.asarray(C), found.n, labelled), seed, pooling)


def of_first_order(layer: Layer) -> tuple[Layer, Pooling | None]:
    """The layer as selection sees it, and its own pooling where that is another."""
    first = layer.pooling.first_order()
    if first == layer.pooling:
        return layer, None
    unknown = Scale.none(first.n_cells, layer.n_outputs)
    return replace(layer, pooling=first, scale=unknown), layer.pooling


def check_directions(recipe: Recipe) -> None:
    outputs = recipe.encoder.sides * recipe.n_codes
    if recipe.pooling.directions_kept(outputs) is None:
        return
    width, remedy = recipe.pooling.width(outputs), "Give fewer codes, thresholds or sides, or no directions."
    needed = _DIRECTIONS_BYTES * width**2
    numbers = width * recipe.pooling.n_cells
    if recipe.pooling.needs_labels(outputs) and numbers <= _MOST_NUMBERS_TOGETHER:
        needed += 4 * numbers**2
    check_memory(needed, f"the covariance of the {width:,} numbers of a cell", remedy)


def _is_shared(standardize: Standardize | None) -> bool:
    return standardize is not None and standardize.form == "shared"
