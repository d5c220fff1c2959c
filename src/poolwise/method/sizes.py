"""How much memory a fit needs and how long its file becomes, counted before anything is learned.

M : candidates, or K without    outputs : sides · M    p : one output of each candidate in each cell of the coarse grid

Where a pooling is still to be chosen, the smallest one counts: what is refused would have failed.
"""

import math

from poolwise.method.pooling import Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.selection.supervised import LABELLED_GRID
from poolwise.support.memory import check_memory

_COVARIANCE_BYTES = 25  # per entry: sums in float64, the result, and what selection makes of it
_FEWER = "Give fewer candidates, thresholds or sides, or a coarser grid."


def check_fit(recipe: Recipe, shape: tuple[int, ...], *, with_targets: bool, keep_features: bool, local: bool = True) -> None:
    """A MemoryError with numbers and a remedy where a fit of images of this shape, (n, H, W, c), cannot be held.

    recipe : checked, decided and fitted to the images    local : whether patches are held here, not by workers
    """
    if local:
        needed = 4 * recipe.n_patches * recipe.descriptor.dimension(shape[3])
        check_memory(needed, f"the sample of {recipe.n_patches:,} local vectors", "Give fewer patches.")
    if recipe.n_candidates is not None:
        columns = _columns(recipe, shape[1:3], with_targets=with_targets)
        check_memory(_COVARIANCE_BYTES * columns**2, f"the covariance of {columns:,} outputs", _FEWER)
    if keep_features:
        check_features(shape[0], _n_features(recipe, shape[1:3]), "Fit with fewer codes, cells or images.")


def check_features(n: int, features: int, remedy: str) -> None:
    """The same of the features of n images alone."""
    check_memory(4 * n * features, f"the result, {features:,} features of {n:,} images,", remedy)


def file_bytes(recipe: Recipe, image_shape: tuple[int, int, int], *, classes: int = 0, slim: bool = False) -> int:
    """About what `save` will write, without its text; classes : of a classifier, 0 without one

    recipe : checked and decided
    """
    recipe = recipe.fitted_to(image_shape)
    K, sides, d = recipe.n_codes, recipe.encoder.sides, recipe.descriptor.dimension(image_shape[2])
    pooling, M = _pooling(recipe, image_shape[:2]), recipe.n_candidates
    width, kept = pooling.width(sides * K), pooling.directions_kept(sides * K)
    rows = classes if classes > 2 else min(classes, 1)
    total = 8 * d * d + 4 * K * d + 16 * width + 8 * rows * _n_features(recipe, image_shape[:2])
    total += 4 * width * (kept or 0)
    if M is None:
        return total
    by_labels = recipe.selects_by_labels
    if not by_labels and recipe.projection is not None and kept is None:
        total += 8 * width**2
    if not slim:
        seen = int(M) if by_labels else sides * int(M)
        total += 4 * (int(M) - K) * d + 8 * seen**2
        total += 4 * _columns(recipe, image_shape[:2], with_targets=True) ** 2 if by_labels else 0
    return total


def _columns(recipe: Recipe, size: tuple[int, ...], *, with_targets: bool) -> int:
    """Of the square matrix that selection looks at."""
    M = int(recipe.n_candidates or 0)
    if not (with_targets and recipe.selects_by_labels):
        return recipe.encoder.sides * M
    h, w = recipe.descriptor.positions((size[0], size[1]))
    return min(LABELLED_GRID, h) * min(LABELLED_GRID, w) * M


def _pooling(recipe: Recipe, size: tuple[int, ...]) -> Pooling:
    positions = recipe.descriptor.positions((size[0], size[1]))
    fitted = [one.fitted_to(positions) for one in recipe.poolings(positions)]
    outputs = recipe.encoder.sides * recipe.n_codes
    return min(fitted, key=lambda one: one.n_cells * one.width(outputs))


def _n_features(recipe: Recipe, size: tuple[int, ...]) -> int:
    pooling, outputs = _pooling(recipe, size), recipe.encoder.sides * recipe.n_codes
    return math.prod((pooling.n_cells, pooling.directions_kept(outputs) or pooling.width(outputs)))
