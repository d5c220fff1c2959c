"""Which regions of images excite each code most, and which class of images does.

An image counts once for a code, with the patch that excites it most, so that the regions shown come from different images. A
class excites a code as much as its images do on average, over all their patches.

F : (patches, K) activations of one image    best : (n, K) the largest of each image
"""

from dataclasses import dataclass

import numpy as np

from poolwise.engine import Engine
from poolwise.method.layer import Layer
from poolwise.method.nodata import filled, nan_pixels
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_POSITIONS_PER_BLOCK = 2048
_BYTES_PER_BLOCK = 64 << 20


def positions_per_block(n_codes: int) -> int:
    """Local vectors to encode at once."""
    return max(16, min(_POSITIONS_PER_BLOCK, _BYTES_PER_BLOCK // (4 * n_codes)))


@dataclass(frozen=True)
class Excitation:
    """best, y, x : (n, K) the largest activation of each image's patches, and where that patch is    mean : (n, K) over all"""

    best: Array
    y: Array
    x: Array
    mean: Array

    def top(self, count: int) -> Array:
        """(count, K) the images that excite each code most, the most first; -1 where no further image excites it at all."""
        order = np.argsort(-self.best, axis=0, kind="stable")[:count]
        return np.where(np.take_along_axis(self.best, order, axis=0) > 0, order, -1)

    def by_class(self, number: Array, n_classes: int) -> Array:
        """(n_classes, K) mean activation over the images of each class, as a multiple of the mean over classes; 0 if none.

        number : (n,) the class of each image
        """
        total, images = np.zeros((n_classes, self.mean.shape[1])), np.bincount(number, minlength=n_classes)
        np.add.at(total, number, self.mean)
        mean = total / np.maximum(images, 1)[:, None]
        overall = mean[images > 0].mean(axis=0)
        return np.divide(mean, overall, out=np.zeros_like(mean), where=overall > 0)


def excite(layer: Layer, images: Array, engine: Engine) -> Excitation:
    """Every position of images (n, H, W, c) with every code. A code with several outputs is seen through its first."""
    _, w = layer.descriptor.positions(images.shape[1:3])
    best, place, mean = (np.stack(column) for column in zip(*engine.map(_excite_one, images, layer), strict=True))
    (ph, pw), (far, right) = layer.descriptor.window(1, 1), layer.descriptor.window(2, 2)
    return Excitation(best, place // w * (far - ph), place % w * (right - pw), mean)


def _excite_one(image: Array, layer: Layer) -> tuple[Array, Array, Array]:
    """Of one image: the largest activation of each code, the position that has it, and the mean over all."""
    K, d, (h, w) = len(layer.codes), len(layer.whitening.W), layer.descriptor.positions(image.shape[:2])
    pixels, missing = np.asarray(image, np.float32), nan_pixels(np.asarray(image, np.float32)[None])
    has_data = None if missing is None else layer.descriptor.with_data(missing)[0]
    if missing is not None:
        pixels = filled(pixels, missing[0])
    n_here = h * w if has_data is None else max(1, int(np.count_nonzero(has_data)))
    best, place, total = np.full(K, -np.inf, np.float32), np.zeros(K, np.int64), np.zeros(K)
    for rows in spans(h, max(1, positions_per_block(K) // w)):
        F = layer.activations(layer.descriptor.band(pixels, rows).reshape(-1, d))[:, :K]
        if has_data is not None:
            F[~has_data[rows].ravel()] = 0
        here = F.argmax(axis=0)
        value = F[here, np.arange(K)]
        place = np.where(value > best, here + rows.start * w, place)
        best = np.maximum(best, value)
        total += F.sum(axis=0, dtype=np.float64)
    return best, place, total / (n_here)


def cut_regions(images: Array, where: Excitation, top: Array, patch_size: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Regions twice a patch's height and width around the patches of `top`, moved inside the image where they would leave it.

    top : (count, K) of `Excitation.top`    returns : (count, K, height, width, c), and y, x of the patch in its region;
    regions of -1 are 0
    """
    _, H, W, c = images.shape
    ph, pw = patch_size
    height, width = min(H, 2 * ph), min(W, 2 * pw)
    code = np.broadcast_to(np.arange(top.shape[1]), top.shape)
    y, x = where.y[top, code], where.x[top, code]
    up, left = np.clip(y - ph // 2, 0, H - height), np.clip(x - pw // 2, 0, W - width)
    regions = np.zeros((*top.shape, height, width, c), images.dtype)
    for at in np.argwhere(top >= 0):
        i, j = at
        regions[i, j] = images[top[i, j], up[i, j] : up[i, j] + height, left[i, j] : left[i, j] + width]
    return regions, y - up, x - left
