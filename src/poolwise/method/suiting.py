"""Which pooling suits labelled images: the one whose features predict the labels best when each image is left out in turn.

First that of first order; then whether products of outputs next to them do clearly better, since these are many more numbers;
and at last whether an average over image and mirror image does, since it doubles the cost.

    T - T̂ = Q T / diag Q,    Q = (G + λI)⁻¹,    G = X Xᵀ

is what ridge regression misses of each image if it is learned from the others, without learning it n times. The error of a
pooling is |T - T̂|² / |T|² at the best λ.

X : (n, d) standardised pooled outputs, columns centred    T : (n, t) targets, centred    T̂ : predictions
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg

from poolwise.engine import Engine
from poolwise.engine.threads import Threads
from poolwise.method.extraction import block_size, prepare
from poolwise.method.extraction.base import Pass
from poolwise.method.layer import Layer
from poolwise.method.nodata import cells_with_data
from poolwise.method.pooling import BothOrders, Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale
from poolwise.method.symmetry import SymmetryName
from poolwise.support.blocks import spans
from poolwise.support.parameters import AUTO
from poolwise.support.progress import Update
from poolwise.support.types import Array, ImageSource

_MOST_IMAGES = 2_000
_MOST_CODES = 100  # of the dictionary; which of them makes no difference to the order of grids
_LEVELS = (0.005, 0.05, 0.5, 5.0)  # λ, times the mean of G's diagonal
_FEWEST_IMAGES = 10  # with fewer, errors say nothing
_WORTH_MORE = 0.98  # of the error: what products, and then a mirror image, must leave at most, since they cost as much again
_MOST_BYTES = 4 << 30  # of features that have products


def suiting_pooling(
    recipe: Recipe,
    layer: Layer,
    images: Array | ImageSource,
    targets: Array,
    *,
    engine: Engine,
    update: Update,
) -> tuple[Pooling, SymmetryName]:
    """One of `recipe.poolings`, and a symmetry, by the errors of up to 2,000 images spread evenly.

    recipe : what is "auto" in it is chosen    layer : of codes without a scale    targets : (n, t) of all images
    """
    choices = recipe.poolings(layer.positions)
    symmetry: SymmetryName = None if recipe.symmetry == AUTO else recipe.symmetry
    rows = np.unique(np.linspace(0, len(images) - 1, min(len(images), _MOST_IMAGES)).astype(np.intp))
    T = (targets[rows] - targets[rows].mean(axis=0)).astype(np.float32)
    if len(images) < _FEWEST_IMAGES or not T.any():
        return choices[0], symmetry
    if not layer.encoder.coupled:
        layer = layer.keep(np.arange(min(_MOST_CODES, len(layer.codes))), None)

    done = 0

    def errors_of(some: Sequence[Pooling], symmetry: SymmetryName) -> list[float]:
        found: list[float] = []
        nonlocal done
        for how in dict.fromkeys(choice.word for choice in some):
            same = [choice for choice in some if choice.word == how]
            pooled = _pooled(replace(layer, symmetry=symmetry), same, images, rows, engine)
            for choice in same:
                cells, pooled = pooled[:, : choice.n_cells], pooled[:, choice.n_cells :]
                found.append(left_out_error(_standardized(cells, recipe), T, engine.local))
                done += 1
                update(done)
        return found

    first = [choice for choice in choices if not isinstance(choice, BothOrders)] or choices
    best, error = _least(first, errors_of(first, symmetry))  # choices of one word follow each other
    outputs = layer.encoder.sides * recipe.n_codes
    together = [
        choice
        for choice in choices
        if isinstance(choice, BothOrders) and choice.first == best.word and _bytes(choice, outputs, len(images)) <= _MOST_BYTES
    ]
    if together:
        better, less = _least(together, errors_of(together, symmetry))
        if less < _WORTH_MORE * error:
            best, error = better, less
    if recipe.symmetry == AUTO and errors_of([best], "mirror")[0] < _WORTH_MORE * error:
        symmetry = "mirror"
    return best, symmetry


def _least(choices: Sequence[Pooling], errors: Sequence[float]) -> tuple[Pooling, float]:
    """The one with the least error, and that."""
    best = int(np.argmin(errors))
    return choices[best], errors[best]


def _bytes(pooling: Pooling, outputs: int, n: int) -> int:
    """Of the features of n images."""
    return 4 * n * pooling.n_cells * pooling.width(outputs)


def _pooled(layer: Layer, choices: Sequence[Pooling], images: Array | ImageSource, rows: Array, engine: Engine) -> Array:
    """(n, cells, width): the cells of all grids one behind the other, from one pass over the images."""
    levels = [level for choice in choices for level in choice.grids]
    distinct = list(dict.fromkeys(levels))
    pooling = choices[0] if len(choices) == 1 else choices[0].but(grid=distinct)
    ready = prepare(replace(layer, pooling=pooling, scale=Scale.none(pooling.n_cells, pooling.width(layer.n_outputs))))
    blocks = [rows[span] for span in spans(len(rows), block_size(ready.layer, images.shape[1:]))]
    found = np.concatenate(list(engine.map(_pool_rows, blocks, images, ready)))
    if levels == distinct:
        return found
    sizes = [height * width for height, width in distinct]
    first = dict(zip(distinct, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    return found[:, np.concatenate([first[level] + np.arange(level[0] * level[1]) for level in levels])]


def _pool_rows(rows: Array, images: Array | ImageSource, ready: Pass) -> Array:
    return ready.pooled(images[rows])


def _standardized(pooled: Array, recipe: Recipe) -> Array:
    """(n, d): divided by the spread that an output has in all cells, or in each; columns centred."""
    axis = 0 if recipe.scale is not None and recipe.scale.form == "cell" else (0, 1)
    if not cells_with_data(pooled).all():
        return _standardized_around(pooled, axis, None if recipe.scale is None else recipe.scale.offset)
    X = pooled - pooled.mean(axis=0)
    if recipe.scale is not None:
        X /= np.sqrt(pooled.var(axis=axis, dtype=np.float64) + recipe.scale.offset + np.finfo(np.float32).tiny).astype(X.dtype)
    return X.reshape(len(X), -1)


def _standardized_around(pooled: Array, axis: int | tuple[int, int], offset: float | None) -> Array:
    """The same where cells have no data, which get the mean, 0."""
    some = np.ma.masked_invalid(pooled)
    X = (some - some.mean(axis=0)).filled(0)
    if offset is not None:
        variance = np.ma.filled(some.var(axis=axis, dtype=np.float64), 0)
        X /= np.sqrt(variance + offset + np.finfo(np.float32).tiny).astype(X.dtype)
    return X.reshape(len(X), -1)


def left_out_error(X: Array, T: Array, engine: Threads) -> float:
    """|T - T̂|² / |T|² at the best of several λ; 1 where X says nothing.

    >>> X = np.linspace(-1, 1, 20, dtype=np.float32)[:, None]
    >>> with Threads(1) as engine:
    ...     round(left_out_error(X, 3 * X, engine), 3), round(left_out_error(np.zeros_like(X), X, engine), 3)
    (0.0, 1.0)
    """
    G = X @ X.T
    mean = float(np.trace(G)) / len(G)
    if not (mean > 0 and np.isfinite(mean)):
        return 1.0
    whole = float((T.astype(np.float64) ** 2).sum())
    return min(engine.map(_error_at, [level * mean for level in _LEVELS], G, T)) / whole


def _error_at(ridge: float, G: Array, T: Array) -> float:
    """|T - T̂|² at one λ; infinite where rounding leaves no inverse."""
    A = G.copy()
    A.ravel()[:: len(A) + 1] += np.float32(ridge)
    potrf, trtri, potrs = scipy.linalg.get_lapack_funcs(("potrf", "trtri", "potrs"), (A,))
    factor, failed = potrf(A.T, lower=1, overwrite_a=1)  # A = L Lᵀ
    if failed:
        return float("inf")
    missed = potrs(factor, T, lower=1)[0]  # Q T
    inverse = trtri(factor, lower=1, overwrite_c=1)[0]
    missed /= np.einsum("ij,ij->j", inverse, inverse)[:, None]  # diag Q = diag L⁻ᵀ L⁻¹
    return float((missed.astype(np.float64) ** 2).sum())
