"""Which regions of images excite each code most, and which class of images does.

An image counts once for a code, with the patch that excites it most, so that the regions shown come from different images. A
class excites a code as much as its images do on average, over all their patches.

F : (patches, K) activations of one image    best : (n, K) the largest of each image
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolwise.arrays import Array
from poolwise.encoding import Encoder, encode
from poolwise.engine import Threads, spans
from poolwise.patches import Contrast, normalize_contrast, view_patches
from poolwise.whitening import Whitening

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures

_POSITIONS = 2048
_BYTES = 64 << 20


@dataclass(frozen=True)
class Sight:
    """What stands between an image and activations: patches, contrast, whitening, encoder.

    patch_size : (ph, pw)    encoding : encoder, alpha, two_sided
    """

    patch_size: tuple[int, int]
    stride: int
    contrast: Contrast
    contrast_offset: float
    whitening: Whitening
    encoding: tuple[Encoder, float, bool]

    @classmethod
    def of(cls, model: "PooledFeatures") -> "Sight":
        """As the model was fitted, whatever `set_params` changed since."""
        stride, contrast, offset, _ = model._pooling
        white = Whitening(model.whitening_mean_, model.whitening_matrix_)
        return cls(model.patch_size_, stride, contrast, offset, white, model._encoding)

    def activations(self, patches: Array, codes: Array) -> Array:
        """(n, d) raw patches to (n, K or 2K)."""
        normal = normalize_contrast(np.asarray(patches, np.float32), self.contrast, self.contrast_offset)
        return encode(self.whitening(normal), codes, *self.encoding)

    def block(self, codes: Array) -> int:
        """Patches to encode at once."""
        return max(16, min(_POSITIONS, _BYTES // (4 * len(codes))))


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


def excite(sight: Sight, images: Array, codes: Array, engine: Threads) -> Excitation:
    """Look at every patch of images (n, H, W, c) with codes (K, d). A code with two sides is looked at from its first."""
    K = len(codes)

    def look(image: Array) -> tuple[Array, Array, Array]:
        windows = view_patches(image, sight.patch_size, sight.stride)
        h, w = windows.shape[:2]
        best, place, total = np.full(K, -np.inf, np.float32), np.zeros(K, np.int64), np.zeros(K)
        for part in spans(h * w, sight.block(codes)):
            y, x = np.divmod(np.arange(part.start, part.stop), w)
            F = sight.activations(windows[y, x].reshape(len(y), -1), codes)[:, :K]
            here = F.argmax(axis=0)
            value = F[here, np.arange(K)]
            place = np.where(value > best, here + part.start, place)
            best = np.maximum(best, value)
            total += F.sum(axis=0, dtype=np.float64)
        return best, place, total / (h * w)

    found = list(engine.map(look, images))
    best, place, mean = (np.stack(column) for column in zip(*found, strict=True))
    w = (images.shape[2] - sight.patch_size[1]) // sight.stride + 1
    return Excitation(best, place // w * sight.stride, place % w * sight.stride, mean)


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
