"""One image file to pixels. The file may be anything, by accident or on purpose.

- The format is recognised by the content, never by the name, and must be one of FORMATS; only regular files are opened.
- The size is read from the header, and the file is refused before decoding if it has more than `max_pixels`.
- A file that ends too early or does not decode is refused, never filled up; whatever the decoder raises becomes `ImageError`.
  What no decoder can see stays: damage within the compressed data of a JPEG or the plain data of a BMP, PPM or TIFF, which
  have no checksum.
- Of a file with many frames or pages the first counts; the others are not looked at.

Colours become RGB, or one channel of ITU-R 601 luma if `grey`. What is transparent is laid over white. An EXIF orientation is
applied. Colour profiles are ignored. Greys of 16 bits become float32 in 0..255, value / 257; Pillow gives 16-bit colours as
8 bits. Pixels of 32 bits are refused, since nothing gives their range.
"""

from dataclasses import dataclass
from io import BufferedReader

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from poolwise.images.errors import ImageError, reason_of
from poolwise.support.files import NotRegularError, open_regular
from poolwise.support.types import Array

FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP", "TIFF")
EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm", ".webp", ".tif", ".tiff")
MAX_PIXELS = 64_000_000

_FILTER = Image.Resampling.BILINEAR
_TURN = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class Decoder:
    """What is made of every file.

    Parameters
    ----------
    resize : (H, W) or None
        By Pillow's bilinear filter, whose triangle widens with the reduction: no aliasing, and no ringing at edges, which
        whitening would amplify.
    crop : bool
        Cut the largest centred part with the proportions of `resize` first; without `resize`, the largest centred square.
    grey : bool
        One channel instead of three.
    max_pixels : int
        Pillow has a limit of its own at 179 million.
    """

    resize: tuple[int, int] | None = None
    crop: bool = False
    grey: bool = False
    max_pixels: int = MAX_PIXELS

    def __call__(self, path: str) -> Array:
        """(H, W, c) uint8, or float32 in 0..255 for 16-bit greys; ImageError for whatever goes wrong."""
        try:
            with open_regular(path) as file, BufferedReader(file) as buffer, Image.open(buffer, formats=FORMATS) as image:
                self._check_size(path, image.size)
                image.load()
                return self._pixels(path, image)
        except ImageError:
            raise
        except NotRegularError as error:
            raise ImageError(path, "it is a folder, pipe or device, not a file; remove it") from error
        except UnidentifiedImageError as error:
            reason = (
                "its content is not a PNG, JPEG, BMP, PPM, PGM, WebP or TIFF image, whatever its name; convert or remove it"
            )
            raise ImageError(path, reason) from error
        except Exception as error:  # Pillow's plugins raise nearly anything: struct.error, KeyError, zlib.error, ...
            raise ImageError(path, f"it cannot be decoded as an image ({reason_of(error)})") from error

    def _check_size(self, path: str, size: tuple[int, int]) -> None:
        W, H = size
        if W < 1 or H < 1:
            raise ImageError(path, f"an image of {H}×{W} pixels is empty")
        if W * H > self.max_pixels:
            raise ImageError(
                path, f"{H}×{W} pixels exceed {{max_pixels}}; raise that if you trust the file", max_pixels=self.max_pixels
            )

    def _pixels(self, path: str, image: Image.Image) -> Array:
        pixels = np.array(self._shape(_upright(_colours(path, image, self.grey), image)))
        if pixels.ndim == 3:
            return pixels
        return np.repeat(pixels[:, :, None], 1 if self.grey else 3, axis=2)

    def _shape(self, image: Image.Image) -> Image.Image:
        W, H = image.size
        if self.resize is None:
            side = min(H, W)
            left, top = (W - side) // 2, (H - side) // 2
            return image.crop((left, top, left + side, top + side)) if self.crop else image
        height, width = self.resize
        if self.crop:
            return ImageOps.fit(image, (width, height), _FILTER)
        return image.resize((width, height), _FILTER)


def _colours(path: str, image: Image.Image, grey: bool) -> Image.Image:
    """L, RGB, or F for 16-bit greys."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        return Image.fromarray(np.asarray(image).astype(np.float32) / np.float32(257))
    if image.mode in ("I", "F"):
        raise ImageError(path, "it has pixels of 32 bits, whose range is unknown; save it with 8 or 16 bits")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    if image.mode in ("1", "L"):
        return image.convert("L")  # its three channels are made at the end
    return image.convert("RGB").convert("L" if grey else "RGB")


def _upright(image: Image.Image, original: Image.Image) -> Image.Image:
    """Turned as the original's EXIF data require; where these cannot be read, left as it is."""
    try:
        turn = _TURN.get(original.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:
        return image
    return image if turn is None else image.transpose(turn)
