"""Images with pixels that have no data. Inside the method such a pixel is NaN in every band (`Masked` makes it so).

What is learned and pooled leaves out patches that touch one (`Descriptor.with_data`). A pooled cell without any patch left is
NaN in every number, until scaling makes it 0, the mean of all cells (`Scale`).

images : (n, H, W, c)    pooled : (n, cells, ...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, Example, ParameterError

if TYPE_CHECKING:
    from poolwise.support.types import Array, ImageSource

_FEWEST_WITH_LABELS = 2  # images that selection with labels can learn from


def is_masked(images: Array | ImageSource) -> bool:
    """Whether images may have pixels without data."""
    return bool(getattr(images, "is_masked", False))


def nan_pixels(images: Array) -> Array | None:
    """(n, H, W) which pixels are NaN; None where none is, as in all images of whole numbers."""
    if images.dtype.kind != "f":
        return None
    missing = np.asarray(np.isnan(images[..., 0]))
    return missing if missing.any() else None


def filled(images: Array, missing: Array) -> Array:
    """Images with 0 in pixels without data: nothing that is kept depends on it."""
    return np.where(missing[..., None], images.dtype.type(0), images)


def cells_with_data(pooled: Array) -> Array:
    """(n, cells) whether there is a patch in a cell."""
    return ~np.asarray(np.isnan(pooled).reshape(*pooled.shape[:2], -1).all(axis=2))


def rows_with_data(pooled: Array) -> Array:
    """(n, cells, width) pooled to (samples, width): the cells that have data.

    >>> rows_with_data(np.array([[[1.0, 2.0], [np.nan, np.nan]]])).tolist()
    [[1.0, 2.0]]
    """
    has_data = cells_with_data(pooled)
    return pooled.reshape(-1, pooled.shape[2]) if has_data.all() else pooled[has_data]


def mean_with_data(views: list[Array]) -> tuple[Array, Array]:
    """The mean of statistics (n, cells, ...) over copies of images, of each cell over those copies where it has data.

    returns : the mean, 0 where no copy has any, and (n, cells) how many have
    """
    has_data = [cells_with_data(view) for view in views]
    count = np.sum(has_data, axis=0)
    shape = (*count.shape, *[1] * (views[0].ndim - 2))
    total = np.zeros_like(views[0])
    for view, has in zip(views, has_data, strict=True):
        total += np.where(has.reshape(shape), view, view.dtype.type(0))
    return total / np.maximum(count, 1).reshape(shape).astype(total.dtype), count


def check_windows(found: int, asked: int | None) -> None:
    """A ParameterError where no super-patch has data."""
    if not found:
        raise ParameterError(
            "none of {n_super_patches} random windows has a patch without missing pixels ({nodata}); give more of them",
            n_super_patches=asked,
            nodata=NAME,
        )


def check_labelled(found: int, n: int, grid: tuple[int, int]) -> None:
    """A ParameterError where selection with labels has too few images with data in every cell of a grid."""
    if found < min(n, _FEWEST_WITH_LABELS):
        raise ParameterError(
            f"{{selection}} looks at images that have data in each of {grid[0]}×{grid[1]} cells; {found:,} of {n:,} have. Give "
            f"more images, or use {{affinity}}",
            selection="supervised",
            affinity=Example("selection='affinity'", "--selection affinity"),
        )
