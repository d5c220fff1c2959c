"""One image file to pixels. The file may be anything, by accident or on purpose.

- The format is recognised by the content, never by the name, and must be one of FORMATS; only regular files are opened.
- The size is read from the header, and the file is refused before decoding if it has more than `max_pixels`.
- A file that ends too early or does not decode is refused, never filled up; whatever the decoder raises becomes `ImageError`.
  What no decoder can see stays: damage within the compressed data of a JPEG or the plain data of a BMP, PPM or TIFF, which
  have no checksum.
- Of an animation the first frame counts; of a TIFF with several pages, what `page` or `stack` says (`poolwise.images.tiff`).

Greys have one channel and colours three, unless `grey` says otherwise; TIFF may have any number of bands, which are left alone.
What is transparent is laid over white. An EXIF orientation is applied. Colour profiles are ignored. TIFF keeps its numbers as
they are, of 16 bits or more. Greys of 16 bits in PNG and PGM become float32 in 0..255, value / 257; Pillow gives their
colours as 8 bits. What is left out or changed is noted, and `open_images` warns of it.
"""

from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any, cast

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from poolwise.images.errors import ImageError, reason_of
from poolwise.images.fetching import open_file
from poolwise.images.said import decoding
from poolwise.images.tiff import MAGIC, Stack, read_tiff
from poolwise.support.files import NotRegularError
from poolwise.support.missing import Nodata, can_be_missing, missing_pixels
from poolwise.support.types import Array

FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP", "TIFF")
EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".pbm", ".pnm", ".webp", ".tif", ".tiff")
MAX_PIXELS = 64_000_000

_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R 601
_TOO_DEEP = -1
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
    grey : bool or None
        One channel for all, or three for greys too; None: as the file has it.
    channels : tuple of int or None
        Bands to take, in this order; None: all.
    page : int or None
        Of a TIFF with several pages, planes or times.
    stack : {"max", "channels", None}
        Of such a TIFF take the largest number of all pages, or each page as a band.
    nodata : "nan", number or None
        What pixels without data hold; a resized pixel that one of them contributes to holds it too. None: NaN is refused.
    max_pixels : int
        Pillow has a limit of its own at 179 million.
    """

    resize: tuple[int, int] | None = None
    crop: bool = False
    grey: bool | None = None
    max_pixels: int = MAX_PIXELS
    channels: tuple[int, ...] | None = None
    page: int | None = None
    stack: Stack = None
    nodata: Nodata = None

    def __call__(self, path: str) -> Array:
        """(H, W, c); ImageError for whatever goes wrong."""
        return self.decode(path).pixels

    def decode(self, path: str) -> "Decoded":
        """The same, with what was left out or changed."""
        try:
            with decoding(path), open_file(path) as file, BufferedReader(cast(Any, file)) as buffer:
                if buffer.peek(4)[:4] in MAGIC:
                    found = read_tiff(path, buffer, page=self.page, stack=self.stack, max_pixels=self.max_pixels)
                    if found.pixels is not None:
                        return Decoded(self._finish(path, _turned(found.pixels, found.turn)), found.notes)
                    buffer.seek(0)
                    return self._by_pillow(path, buffer, found.notes)
                return self._by_pillow(path, buffer)
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

    def _by_pillow(self, path: str, file: Any, notes: tuple[str, ...] = ()) -> "Decoded":
        deep = _has_deep_colours(file)
        with Image.open(file, formats=FORMATS) as image:
            if deep:
                notes += ("its colours of 16 bits are read with 8 bits; save it as TIFF to keep them",)
            return self.of_picture(path, image, notes)

    def of_picture(self, path: str, image: Image.Image, notes: tuple[str, ...] = ()) -> "Decoded":
        """The same of a picture of Pillow."""
        self._check_page(path)
        self._check_size(path, image.size)
        clear = _transparent_colour(image)
        image.load()
        frames = 1 if image.format == "TIFF" else int(getattr(image, "n_frames", 1))
        if frames > 1:
            notes += (f"it is an animation of {frames} frames, of which the first is read",)
        if clear == _TOO_DEEP:
            notes += ("its transparent colour has 16 bits and is left as it is; save it with an alpha channel",)
        elif image.has_transparency_data:
            notes += ("what is transparent in it is laid over white",)
        return Decoded(self._finish(path, np.array(_upright(_colours(path, image, self.grey, clear), image))), notes)

    def of_array(self, path: str, pixels: Array) -> "Decoded":
        """The same of pixels (H, W) or (H, W, c)."""
        self._check_page(path)
        self._check_size(path, (pixels.shape[1], pixels.shape[0]))
        return Decoded(self._finish(path, pixels))

    def _check_page(self, path: str) -> None:
        """What is not a TIFF has one page; `read_tiff` checks those."""
        if self.page:
            raise ImageError(path, "it has one page, 0; got {page}", page=self.page)

    def _check_size(self, path: str, size: tuple[int, int]) -> None:
        W, H = size
        if W < 1 or H < 1:
            raise ImageError(path, f"an image of {H}×{W} pixels is empty")
        if W * H > self.max_pixels:
            raise ImageError(
                path, f"{H}×{W} pixels exceed {{max_pixels}}; raise that if you trust the file", max_pixels=self.max_pixels
            )

    def _finish(self, path: str, pixels: Array) -> Array:
        """(H, W, c): cropped and resized, with the bands asked for."""
        pixels, missing = self.take_channels(path, pixels if pixels.ndim == 3 else pixels[:, :, None]), None
        if self.nodata is not None and can_be_missing(pixels.dtype, self.nodata):
            missing = missing_pixels(pixels, self.nodata)
            pixels = np.where(missing[:, :, None], pixels.dtype.type(0), pixels)
            missing = self._shape(missing[:, :, None].astype(np.float32))[:, :, 0] > 0
        pixels = self._in_bands(path, self._shape(pixels))
        if missing is None or not missing.any():
            return pixels
        pixels = pixels.copy()
        pixels[missing] = np.nan if isinstance(self.nodata, str) else self.nodata
        return pixels

    def _in_bands(self, path: str, pixels: Array) -> Array:
        if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
            raise ImageError(
                path,
                "it has pixels that are NaN or infinite; leave them out with {nodata}, or give them a number",
                nodata="nan",
            )
        bands = pixels.shape[2]
        if self.grey and bands == 3:
            return np.ascontiguousarray(_as_type(pixels @ _LUMA, pixels.dtype)[:, :, None])
        return np.repeat(pixels, 3, axis=2) if self.grey is False and bands == 1 else np.ascontiguousarray(pixels)

    def take_channels(self, path: str, pixels: Array) -> Array:
        """The bands asked for, of (H, W, c)."""
        if self.channels is None:
            return pixels
        if max(self.channels) >= pixels.shape[2]:
            raise ImageError(
                path,
                f"it has {pixels.shape[2]} bands, 0 to {pixels.shape[2] - 1}; got {{channels}}",
                channels=self.channels,
            )
        return pixels[:, :, list(self.channels)]

    def _shape(self, pixels: Array) -> Array:
        H, W, _ = pixels.shape
        if self.resize is None:
            side = min(H, W)
            left, top = (W - side) // 2, (H - side) // 2
            return pixels[top : top + side, left : left + side] if self.crop else pixels
        height, width = self.resize
        if pixels.dtype == np.uint8 and pixels.shape[2] in (1, 3):
            return np.array(self._resized(Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels))).reshape(
                height, width, -1
            )
        bands = [
            np.asarray(self._resized(Image.fromarray(pixels[:, :, band].astype(np.float32)))) for band in range(pixels.shape[2])
        ]
        return _as_type(np.stack(bands, axis=2), pixels.dtype)

    def _resized(self, image: Image.Image) -> Image.Image:
        height, width = self.resize or image.size[::-1]
        return ImageOps.fit(image, (width, height), _FILTER) if self.crop else image.resize((width, height), _FILTER)


@dataclass(frozen=True)
class Decoded:
    """pixels : (H, W, c)    notes : what was left out or changed, each a sentence about the file"""

    pixels: Array
    notes: tuple[str, ...] = field(default=())


def _as_type(values: Array, dtype: np.dtype[Any]) -> Array:
    """Real numbers as pixels of this type, rounded where these are whole."""
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


def _turned(pixels: Array, turn: int) -> Array:
    """As EXIF numbers orientations."""
    if turn > 4:
        pixels = pixels.swapaxes(0, 1)
    return pixels[:: -1 if turn in (3, 4, 7, 8) else 1, :: -1 if turn in (2, 3, 6, 7) else 1]


def _has_deep_colours(file: Any) -> bool:
    """Whether it is a PNG with 16 bits and colours or an alpha channel, by its header."""
    header = file.peek(26)[:26]
    return header[:8] == b"\x89PNG\r\n\x1a\n" and header[24:25] == b"\x10" and header[25:26] in (b"\x02", b"\x04", b"\x06")


def _transparent_colour(image: Image.Image) -> int | None:
    """The grey that a PNG declares transparent, as a number of its pixels; _TOO_DEEP: colours of 16 bits, read with 8 bits.

    To be asked before the pixels are loaded: Pillow scales greys of 2 and 4 bits to 0..255, but not this number.
    """
    colour, tile = image.info.get("transparency"), getattr(image, "tile", None)
    stored = str(tile[0][3]) if tile else ""
    if image.mode == "RGB" and isinstance(colour, tuple):
        return _TOO_DEEP if "16" in stored or max(colour) > 255 else None
    if image.mode in ("P", "RGB") or not isinstance(colour, int):
        return None
    return colour * {"L;2": 85, "L;4": 17}.get(stored, 1)


def _colours(path: str, image: Image.Image, grey: bool | None, clear: int | None) -> Image.Image:
    """L, RGB, or F for 16-bit greys; the transparent grey, or what an alpha channel lets through, is white."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        values = np.asarray(image)
        return Image.fromarray(np.where(values == clear, np.float32(255), values.astype(np.float32) / np.float32(257)))
    if image.mode in ("I", "F"):
        raise ImageError(path, "it has pixels of 32 bits, whose range is unknown; save it with 8 or 16 bits")
    if image.mode in ("1", "L"):  # three channels, if asked for, are made at the end
        values = np.asarray(image.convert("L"))
        return Image.fromarray(np.where(values == clear, np.uint8(255), values))
    is_grey = grey or image.mode in ("LA", "La")
    if image.has_transparency_data and clear != _TOO_DEEP:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB").convert("L" if is_grey else "RGB")


def _upright(image: Image.Image, original: Image.Image) -> Image.Image:
    """Turned as the original's EXIF data require; where these cannot be read, left as it is."""
    try:
        turn = _TURN.get(original.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:
        return image
    return image if turn is None else image.transpose(turn)
