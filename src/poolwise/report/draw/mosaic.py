"""Codes as pictures: side by side, and each above those that it represents."""

import numpy as np
from PIL import Image

from poolwise.analysis.clusters import members_of
from poolwise.method.descriptors.patches import draw_tiles
from poolwise.support.tiles import BACKGROUND, arrange
from poolwise.support.types import Array


def code_mosaic(
    codes: Array, patch_shape: tuple[int, int, int], *, columns: int | None = None, zoom: int = 8, gap: int = 3
) -> Image.Image:
    """Draw codes side by side, each stretched to full contrast about mid-grey, with sharp pixels.

    Three channels are drawn in colour, any other number as the grey mean of the channels.

    Parameters
    ----------
    codes : (K, d)
    patch_shape : (height, width, channels), with d = height · width · channels
    columns : int, default: as square as possible
    zoom, gap : pixels of the picture per pixel of a code, and between codes

    Returns
    -------
    PIL.Image.Image, RGB

    Examples
    --------
    >>> code_mosaic(np.eye(4, 12), (2, 2, 3), zoom=4, gap=2).size
    (22, 22)
    """
    return Image.fromarray(arrange(draw_tiles(codes, patch_shape), columns, zoom=zoom, gap=gap))


def cluster_mosaic(
    candidates: Array,
    cluster: Array,
    patch_shape: tuple[int, int, int],
    *,
    closeness: Array | None = None,
    columns: int = 32,
    most: int = 8,
    zoom: int = 6,
    gap: int = 3,
) -> Image.Image:
    """Draw clusters: each column is an exemplar above the codes that it represents, the largest cluster first.

    Parameters
    ----------
    candidates : (M, d)
    cluster : (M,)
        For each candidate the index of its exemplar, as `PooledFeatures.cluster_` has it.
    patch_shape : (height, width, channels)
    closeness : (M,), default: by index
        The codes of a cluster come in the order of this, the largest first: for instance the correlation with their exemplar.
    columns : int
        Exemplars side by side; more of them go into further bands below.
    most : int
        Codes shown below an exemplar, at most.
    zoom, gap : pixels of the picture per pixel of a code, and between codes

    Returns
    -------
    PIL.Image.Image, RGB

    Examples
    --------
    >>> cluster_mosaic(np.eye(4, 12), np.array([0, 0, 0, 3]), (2, 2, 3), zoom=4, gap=2).size
    (22, 36)
    """
    tiles = draw_tiles(candidates, patch_shape)
    return arrange_clusters(tiles, cluster, closeness=closeness, columns=columns, most=most, zoom=zoom, gap=gap)


def arrange_clusters(
    tiles: Array,
    cluster: Array,
    *,
    closeness: Array | None = None,
    columns: int = 32,
    most: int = 8,
    zoom: int = 6,
    gap: int = 3,
) -> Image.Image:
    """The same of tiles, (M, h, w, 3) uint8."""
    pixels = tiles.repeat(zoom, axis=1).repeat(zoom, axis=2)
    h, w = pixels.shape[1:3]
    exemplars, sizes = np.unique(cluster, return_counts=True)
    exemplars = exemplars[np.argsort(-sizes, kind="stable")]
    closeness = -np.arange(len(cluster)) if closeness is None else closeness
    by_code = dict(zip(np.sort(exemplars), members_of(cluster, np.sort(exemplars), closeness), strict=True))
    members = [by_code[k][:most] for k in exemplars]
    columns, apart = min(columns, len(exemplars)), 3 * gap
    bands = [range(start, min(len(exemplars), start + columns)) for start in range(0, len(exemplars), columns)]
    below = [max(len(members[c]) for c in band) for band in bands]
    heights = [gap + h + (apart + n * (h + gap) - gap if n else 0) + 3 * apart for n in below]
    canvas = np.full((sum(heights) - 3 * apart + gap, columns * (w + gap) + gap, 3), BACKGROUND, np.uint8)
    top = 0
    for band, height in zip(bands, heights, strict=True):
        for place, c in enumerate(band):
            x, y = gap + place * (w + gap), top + gap
            canvas[y : y + h, x : x + w] = pixels[exemplars[c]]
            for row, i in enumerate(members[c]):
                y = top + gap + h + apart + row * (h + gap)
                canvas[y : y + h, x : x + w] = pixels[i]
        top += height
    return Image.fromarray(canvas)


def by_colour(codes: Array, channels: int) -> Array:
    """Order codes from grey to colourful, for the eye: indices (K,)."""
    tiles = np.asarray(codes).reshape(len(codes), -1, channels)
    grey = tiles.mean(axis=2, keepdims=True)
    order: Array = np.argsort(((tiles - grey) ** 2).sum(axis=(1, 2)), kind="stable")
    return order
