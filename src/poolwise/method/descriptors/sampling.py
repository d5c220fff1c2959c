"""Windows at random places of random images, and what a descriptor makes of them.

Of images with pixels without data, NaN, the place is uniform over the windows that touch none of them: where one does, another
is drawn from those of its image, and where an image has none, another image. Without such pixels nothing more is drawn.

images : (n, H, W, c)    windows : (m, height, width, c)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from poolwise.method.nodata import is_masked
from poolwise.support.blocks import spans
from poolwise.support.lazy import np
from poolwise.support.missing import whole_windows
from poolwise.support.parameters import NAME, ParameterError
from poolwise.support.warning import warn_user

if TYPE_CHECKING:
    from poolwise.engine import Engine, Held
    from poolwise.support.types import Array, ImageSource

Describe = Callable[["Array"], "Array"]  # (m, height, width, c) windows to (m, d)

_SAMPLES_PER_SHARD = 8192
_BYTES_PER_SHARD = 16 << 20
_DECODED_BYTES_PER_SHARD = 4 << 20


def sample_windows(
    images: Array | ImageSource,
    n: int,
    window: tuple[int, int],
    describe: Describe,
    *,
    each: int = 1,
    rng: np.random.Generator,
    engine: Engine,
) -> Held:
    """Draw n windows, the image uniform with replacement and the place uniform, and hold what `describe` makes of each.

    images : any numeric dtype, may be a memory map    each : vectors of a window    returns : (n · each, d) float32

    Each image that is drawn from a source is decoded once, and few are in memory at a time.
    """
    count, H, W, c = images.shape
    height, width = window
    image, y, x = rng.integers(count, size=n), rng.integers(H - height + 1, size=n), rng.integers(W - width + 1, size=n)
    again = None
    if is_masked(images):
        image, again = _with_data(images, window, image, rng, engine)
    cut: Callable[..., tuple[Array, Array]]
    if isinstance(images, np.ndarray):
        order = np.argsort(image, kind="stable")  # read the images from first to last: they may be on disk
        at_once = max(1, min(_SAMPLES_PER_SHARD, _BYTES_PER_SHARD // (4 * height * width * c)))
        shards, cut = [order[rows] for rows in spans(n, at_once)], _from_array
    else:
        at_once = max(1, _DECODED_BYTES_PER_SHARD // (H * W * c * images.dtype.itemsize))
        shards, cut = by_image(image, at_once), _from_source
    return engine.hold(cut, shards, images, image, y, x, window, describe, each, again, n=n * each)


def by_image(image: Array, at_once: int) -> list[Array]:
    """Samples in shards of so many images each, from the first image to the last; image : (n,) the image of each sample

    >>> [shard.tolist() for shard in by_image(np.array([2, 0, 1, 0]), 2)]
    [[1, 3, 2], [0]]
    """
    order = np.argsort(image, kind="stable")
    starts = np.flatnonzero(np.diff(image[order], prepend=-1))  # where the samples of the next image begin
    return np.split(order, starts[at_once::at_once])


def _from_array(
    samples: Array,
    pixels: Array,
    image: Array,
    y: Array,
    x: Array,
    window: tuple[int, int],
    describe: Describe,
    each: int,
    again: Array | None = None,
) -> tuple[Array, Array]:
    views = np.lib.stride_tricks.sliding_window_view(pixels, window, axis=(1, 2))
    windows = np.moveaxis(views[image[samples], y[samples], x[samples]], 1, 3)
    return _rows(samples, each), describe(windows.astype(np.float32))


def _from_source(
    samples: Array,
    source: ImageSource,
    image: Array,
    y: Array,
    x: Array,
    window: tuple[int, int],
    describe: Describe,
    each: int,
    again: Array | None = None,
) -> tuple[Array, Array]:
    drawn, place = np.unique(image[samples], return_inverse=True)
    pixels, y, x = source[drawn], y[samples], x[samples]
    if again is not None:
        y, x = _moved(np.isnan(pixels[..., 0]), window, place, y, x, again[samples])
    _, found = _from_array(np.arange(len(samples)), pixels, place, y, x, window, describe, each)
    return _rows(samples, each), found


def _rows(samples: Array, each: int) -> Array:
    """Where the vectors of some windows belong."""
    return samples if each == 1 else (samples[:, None] * each + np.arange(each)).ravel()


def _with_data(
    images: Array | ImageSource, window: tuple[int, int], image: Array, rng: np.random.Generator, engine: Engine
) -> tuple[Array, Array | None]:
    """The image of each sample, all with windows that can be cut; and numbers in 0..1 to draw a place by, None if all can."""
    n, H, W, c = images.shape
    at_once = max(1, _DECODED_BYTES_PER_SHARD // (H * W * c * images.dtype.itemsize))
    counts = np.concatenate(list(engine.map(_count_windows, spans(n, at_once), images, window)))
    height, width = window
    each = (H - height + 1) * (W - width + 1)
    if (counts == each).all():
        return image, None
    usable = np.flatnonzero(counts)
    if not len(usable):
        raise ParameterError(
            f"none of the {n * each:,} patches of {height}×{width} pixels in {n:,} images is without missing pixels "
            f"({{nodata}}), so nothing can be learned; give a smaller {{Patches.size}}, or images with more data",
            **{"nodata": NAME, "Patches.size": NAME},
        )
    if len(usable) < n:
        warn_user(
            f"{n - len(usable):,} of {n:,} images have no patch of {height}×{width} pixels without missing pixels; nothing is "
            f"learned from them, and their features are 0."
        )
    nothing = counts[image] == 0
    image = image.copy()
    image[nothing] = usable[rng.integers(len(usable), size=int(nothing.sum()))]
    return image, rng.random(len(image))


def _count_windows(rows: slice, images: Array | ImageSource, window: tuple[int, int]) -> Array:
    """(rows,) windows of each image that touch no pixel without data."""
    counts: Array = whole_windows(np.isnan(images[rows][..., 0]), window).sum(axis=(1, 2))
    return counts


def _moved(missing: Array, window: tuple[int, int], image: Array, y: Array, x: Array, again: Array) -> tuple[Array, Array]:
    """Places where windows can be cut: those given where that is so, else one that a number in 0..1 draws."""
    whole = whole_windows(missing, window)
    y, x = y.copy(), x.copy()
    for sample in np.flatnonzero(~whole[image, y, x]):
        places = np.flatnonzero(whole[image[sample]])
        y[sample], x[sample] = divmod(places[int(again[sample] * len(places))], whole.shape[2])
    return y, x
