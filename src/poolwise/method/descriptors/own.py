"""A descriptor of the user's own: any function from images to local vectors.

    function(images)   (n, H, W, c) to (n, h, w, d), each image by itself

Positions are taken as spread evenly over the image: position (i, j) of h × w stands for the pixels of cell (i, j).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from poolwise.method.descriptors.base import Descriptor
from poolwise.method.descriptors.sampling import by_image
from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, Anything, ParameterError, parameter

if TYPE_CHECKING:
    from poolwise.engine import Engine, Held
    from poolwise.support.types import Array, ImageSource

_IMAGES_PER_SHARD = 16


@dataclass(frozen=True, repr=False)
class Own(Descriptor):
    """Local vectors by a function of your own; `descriptor=function` is short for it.

    Whitening, dictionary, encoder, selection and pooling work on its vectors as on any other. A model file holds the
    function's name and not the function: give it again with `load(path, descriptor=function)`.

    Parameters
    ----------
    function : callable
        Images (n, H, W, c) to finite numbers (n, h, w, d), each image by itself.
    image_size, grid, numbers : learned in `fit`
        (H, W), (h, w) and d.

    Examples
    --------
    >>> half = lambda images: images[:, ::2, ::2].astype(np.float32)
    >>> Own(half).fitted_to((32, 32, 3)).positions((32, 32))
    (16, 16)
    """

    words = ()

    function: Any = parameter(None, Anything(), "Images to local vectors.")
    image_size: tuple[int, int] | None = parameter(None, Anything(), "Height and width of images.")
    grid: tuple[int, int] | None = parameter(None, Anything(), "Rows and columns of positions.")
    numbers: int | None = parameter(None, Anything(), "Numbers of a local vector.")

    @property
    def word(self) -> str:
        return "own"

    @property
    def name(self) -> str:
        """Of the function."""
        if isinstance(self.function, str):
            return self.function
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def plain_params(self) -> dict[str, Any]:
        return {**self.get_params(), "function": self.name}

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        H, W, _ = image_shape
        _, h, w, d = self(np.zeros((1, *image_shape), np.float32)).shape
        return self.but(image_size=(H, W), grid=(h, w), numbers=d)

    def positions(self, image_size: tuple[int, int]) -> tuple[int, int]:
        if self.grid is None or tuple(image_size) != self.image_size:
            raise ParameterError(
                f"the descriptor {self.name!r} was asked for positions in images of {image_size[0]}×{image_size[1]} pixels; it "
                f"describes whole images of one size, so super-patches cannot be cut from them"
            )
        return self.grid

    def dimension(self, channels: int) -> int:
        if self.numbers is None:
            raise ParameterError(f"the descriptor {self.name!r} was not fitted to images")
        return self.numbers

    def window(self, rows: int, columns: int) -> tuple[int, int]:
        (H, W), (h, w) = self.image_size or (1, 1), self.grid or (1, 1)
        return rows * max(1, H // h), columns * max(1, W // w)

    def check_nodata(self) -> None:
        raise ParameterError(
            f"which pixels the descriptor {self.name!r} looks at for a position is not known, so {{nodata}} cannot leave out "
            f"those without data; fill them in, or give another descriptor",
            nodata=NAME,
        )

    def sample(self, images: Array | ImageSource, n: int, *, rng: np.random.Generator, engine: Engine) -> Held:
        h, w = self.positions(images.shape[1:3])
        image, place = rng.integers(len(images), size=n), rng.integers(h * w, size=n)
        return engine.hold(_vectors_of, by_image(image, _IMAGES_PER_SHARD), images, image, place, self, n=n)

    def __call__(self, images: Array) -> Array:
        if not callable(self.function):
            raise ParameterError(
                f"the model's descriptor is a function that a file cannot hold, {self.name!r}; give it again: "
                f"load(path, descriptor=...)"
            )
        found = np.asarray(self.function(images))
        if found.ndim != 4 or len(found) != len(images) or 0 in found.shape or found.dtype.kind not in "fiu":
            raise ParameterError(
                f"the descriptor {self.name!r} gave {found.dtype} of shape {found.shape} for images of shape {images.shape}; "
                f"numbers of shape ({len(images)}, h, w, d) are expected"
            )
        if not np.isfinite(found).all():
            raise ParameterError(f"the descriptor {self.name!r} gave values that are not finite")
        if self.grid is not None and found.shape[1:] != (*self.grid, self.numbers):
            raise ParameterError(
                f"the descriptor {self.name!r} gave vectors of shape {found.shape[1:]}, and in fit {(*self.grid, self.numbers)}"
            )
        return found

    def band(self, image: Array, rows: slice) -> Array:
        return self(image[None])[0, rows]

    def draw(self, codes: Array, channels: int) -> Array | None:
        return None


def _vectors_of(samples: Array, images: Array | ImageSource, image: Array, place: Array, own: Own) -> tuple[Array, Array]:
    """The local vectors of some samples; each image is described once, an image at a time."""
    drawn, which = np.unique(image[samples], return_inverse=True)
    found = np.empty((len(samples), own.numbers or 0), np.float32)
    for number, row in enumerate(drawn):
        vectors = own(np.asarray(images[row : row + 1], np.float32)).reshape(-1, found.shape[1])
        here = which == number
        found[here] = vectors[place[samples[here]]]
    return samples, found
