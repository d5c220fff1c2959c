"""Many small pictures in one, as text that a page can hold."""

import base64
import io
import math

import numpy as np
from PIL import Image

from poolwise.support.tiles import arrange
from poolwise.support.types import Array

_SHARP_BYTES = 400_000  # bytes of pixels up to which photographs stay as they are; more of them become a JPEG
_FINE_BYTES = (
    1_000_000  # bytes of pixels up to which codes keep their 256 shades; more of them have 32, which the eye cannot distinguish
)
# Blue for -1, white for 0, orange for 1: Okabe and Ito's, darkened; distinct to all eyes, and in grey from the middle.
_NEGATIVE, _POSITIVE = np.array([0, 84, 147]), np.array([190, 72, 0])


def data_uri(kind: str, content: bytes) -> str:
    """
    >>> data_uri("image/png", b"abc")
    'data:image/png;base64,YWJj'
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def sprite(tiles: Array) -> tuple[str, int]:
    """Codes (n, h, w, 3) uint8 in one PNG, a pixel each per pixel, as square as possible: its address, and tiles per row."""
    columns = math.ceil(math.sqrt(len(tiles)))
    pixels = arrange(tiles, columns)
    if pixels.size > _FINE_BYTES:
        pixels = (pixels >> 3 << 3) | (pixels >> 5)
    return png(Image.fromarray(pixels)), columns


def photo_sprite(tiles: Array) -> tuple[str, int]:
    """The same of photographs: a PNG, or a JPEG if they are many."""
    columns = math.ceil(math.sqrt(len(tiles)))
    picture = Image.fromarray(arrange(tiles, columns))
    if tiles.size <= _SHARP_BYTES:
        return png(picture), columns
    file = io.BytesIO()
    picture.save(file, format="JPEG", quality=76, subsampling=0, optimize=True)
    return data_uri("image/jpeg", file.getvalue()), columns


def png(picture: Image.Image) -> str:
    """A picture's address."""
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=picture.width * picture.height < _FINE_BYTES // 8)
    return data_uri("image/png", file.getvalue())


def correlation_picture(R: Array) -> Image.Image:
    """Correlations (size, size) in -1..1 as colours: blue, white at 0, orange.

    >>> correlation_picture(np.array([[1.0, 0.0]])).convert("RGB").getpixel((1, 0))
    (255, 255, 255)
    """
    shade = np.linspace(-1, 1, 255)[:, None]
    palette = np.where(shade < 0, 255 + shade * (255 - _NEGATIVE), 255 - shade * (255 - _POSITIVE))
    picture = Image.fromarray(np.round(127 + 127 * np.clip(R, -1, 1)).astype(np.uint8), mode="P")
    picture.putpalette(np.round(palette).astype(np.uint8).tobytes())
    return picture
