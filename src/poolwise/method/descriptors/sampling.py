"""Windows at random places of random images, and what a descriptor makes of them.

images : (n, H, W, c)    windows : (m, height, width, c)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from poolwise.support.blocks import spans
from poolwise.support.lazy import np

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
    cut: Callable[..., tuple[Array, Array]]
    if isinstance(images, np.ndarray):
        order = np.argsort(image, kind="stable")  # read the images from first to last: they may be on disk
        at_once = max(1, min(_SAMPLES_PER_SHARD, _BYTES_PER_SHARD // (4 * height * width * c)))
        shards, cut = [order[rows] for rows in spans(n, at_once)], _from_array
    else:
        at_once = max(1, _DECODED_BYTES_PER_SHARD // (H * W * c * images.dtype.itemsize))
        shards, cut = by_image(image, at_once), _from_source
    return engine.hold(cut, shards, images, image, y, x, window, describe, each, n=n * each)


def by_image(image: Array, at_once: int) -> list[Array]:
    """Samples in shards of so many images each, from the first image to the last; image : (n,) the image of each sample

    >>> [shard.tolist() for shard in by_image(np.array([2, 0, 1, 0]), 2)]
    [[1, 3, 2], [0]]
    """
    order = np.argsort(image, kind="stable")
    starts = np.flatnonzero(np.diff(image[order], prepend=-1))  # where the samples of the next image begin
    return np.split(order, starts[at_once::at_once])


def _from_array(
    samples: Array, pixels: Array, image: Array, y: Array, x: Array, window: tuple[int, int], describe: Describe, each: int
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
) -> tuple[Array, Array]:
    drawn, place = np.unique(image[samples], return_inverse=True)
    _, found = _from_array(np.arange(len(samples)), source[drawn], place, y[samples], x[samples], window, describe, each)
    return _rows(samples, each), found


def _rows(samples: Array, each: int) -> Array:
    """Where the vectors of some windows belong."""
    return samples if each == 1 else (samples[:, None] * each + np.arange(each)).ravel()
