"""What every descriptor offers.

images : (n, H, W, c)    local vectors : (n, h, w, d), one at each of h · w positions
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Self

from poolwise.support.lazy import np
from poolwise.support.parameters import NAME, ParameterError, Part

if TYPE_CHECKING:
    from poolwise.engine import Engine, Held
    from poolwise.support.types import Array, ImageSource


class Descriptor(Part):
    """Images to local vectors.

    pixel_offset : what it adds to the contrast of patches, in units of pixels; 0 if it has no such scale
    """

    @property
    def pixel_offset(self) -> float:
        return 0.0

    @abstractmethod
    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        """This descriptor as it works on images of that shape; `clip`: made smaller where it would not fit."""

    @abstractmethod
    def positions(self, image_size: tuple[int, int]) -> tuple[int, int]:
        """(h, w), rows and columns of positions in an image of (H, W) pixels."""

    @abstractmethod
    def dimension(self, channels: int) -> int:
        """d, the length of a local vector."""

    @abstractmethod
    def window(self, rows: int, columns: int) -> tuple[int, int]:
        """Height and width in pixels of what that many positions see."""

    def with_data(self, missing: Array) -> Array:
        """(n, H, W) pixels without data to (n, h, w): the positions whose windows touch none of them."""
        from poolwise.support.missing import whole_windows

        (height, width), (far, right) = self.window(1, 1), self.window(2, 2)
        return whole_windows(missing, (height, width), (far - height, right - width))

    def check_nodata(self) -> None:
        """A ParameterError where it is not known which pixels a position sees, so that none can be left out."""

    @abstractmethod
    def sample(self, images: Array | ImageSource, n: int, *, rng: np.random.Generator, engine: Engine) -> Held:
        """(n, d) float32 local vectors: the image uniform with replacement, the position uniform over every valid one."""

    def sample_groups(
        self, images: Array | ImageSource, n: int, shifts: int, *, rng: np.random.Generator, engine: Engine
    ) -> Held:
        """(n · shifts², d) float32 local vectors of n random windows with shifts × shifts neighbouring positions each."""
        from poolwise.method.descriptors.sampling import sample_windows

        dense = self.but(stride=1) if "stride" in self.described() else self
        window = dense.window(shifts, shifts)
        if window[0] > images.shape[1] or window[1] > images.shape[2]:
            raise ParameterError(
                f"images of {images.shape[1]}×{images.shape[2]} pixels are smaller than {shifts}×{shifts} neighbouring "
                f"positions; give fewer {{ConvolutionalKMeans.shifts}}",
                **{"ConvolutionalKMeans.shifts": NAME},
            )
        return sample_windows(images, n, window, dense.vectors, each=shifts**2, rng=rng, engine=engine)

    def vectors(self, windows: Array) -> Array:
        """(m, height, width, c) windows to (m · positions, d) local vectors, row by row."""
        found = self(windows)
        return found.reshape(-1, found.shape[3])

    @abstractmethod
    def __call__(self, images: Array) -> Array:
        """(n, h, w, d) all local vectors: the formula."""

    def band(self, image: Array, rows: slice) -> Array:
        """(rows, w, d) local vectors of some rows of positions of one image, (H, W, c)."""
        height, step = self.window(rows.stop - rows.start, 1)[0], self.window(2, 1)[0] - self.window(1, 1)[0]
        return self(image[None, rows.start * step : rows.start * step + height])[0]

    @abstractmethod
    def draw(self, codes: Array, channels: int) -> Array | None:
        """Codes as pictures, (K, height, width, 3) uint8; None where a code is not a picture."""


class WindowDescriptor(Descriptor):
    """Vectors of square windows at every `stride` pixels, computed by `band`; its codes are no pictures.

    side : pixels of a window, with all that its vector depends on
    """

    stride: int

    @property
    @abstractmethod
    def side(self) -> int: ...

    def grid(self, image_size: tuple[int, int]) -> tuple[int, int]:
        """(h, w) positions of images that are large enough."""
        H, W = image_size
        return (H - self.side) // self.stride + 1, (W - self.side) // self.stride + 1

    def window(self, rows: int, columns: int) -> tuple[int, int]:
        return (rows - 1) * self.stride + self.side, (columns - 1) * self.stride + self.side

    def sample(self, images: Array | ImageSource, n: int, *, rng: np.random.Generator, engine: Engine) -> Held:
        from poolwise.method.descriptors.sampling import sample_windows

        self.positions(images.shape[1:3])
        return sample_windows(images, n, self.window(1, 1), self.vectors, rng=rng, engine=engine)

    def vectors(self, windows: Array) -> Array:
        h = self.positions(windows.shape[1:3])[0]
        found = np.stack([self.band(window, slice(0, h)) for window in windows])
        return found.reshape(-1, found.shape[3])

    def draw(self, codes: Array, channels: int) -> Array | None:
        return None
