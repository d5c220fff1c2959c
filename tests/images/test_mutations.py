"""Damaged files: each decodes or is an ImageError that names it; nothing else ever comes out.

POOLWISE_MUTATIONS is how many; `-s` shows how long the slowest took.
"""

import io
import os
import time
import warnings

import numpy as np
import pytest
from PIL import Image

from poolwise.images import ImageError
from poolwise.images.decoding import Decoder

MUTATIONS = int(os.environ.get("POOLWISE_MUTATIONS", "300"))


def encode(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def valid_files(rng):
    """Small files of every format, in several modes and compressions."""
    pixels = Image.fromarray(rng.integers(0, 256, size=(16, 12, 3), dtype=np.uint8))
    greys = Image.fromarray(rng.integers(0, 65536, size=(9, 7), dtype=np.uint16))
    exif = Image.Exif()
    exif[0x0112] = 6
    two = {"save_all": True, "append_images": [pixels.rotate(180)]}
    return [
        *(encode(pixels.convert(mode), format="PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA")),
        encode(greys, format="PNG"),
        encode(pixels, format="PNG", exif=exif, **two),
        *(encode(pixels.convert(mode), format="JPEG") for mode in ("L", "RGB", "CMYK")),
        encode(pixels, format="JPEG", exif=exif, progressive=True),
        *(encode(pixels.convert(mode), format="BMP") for mode in ("1", "L", "P", "RGB")),
        *(encode(pixels.convert(mode), format="PPM") for mode in ("1", "L", "RGB")),
        encode(greys.convert("I"), format="PPM"),
        b"P3 2 2 255 " + b"1 2 3 " * 4,
        *(encode(pixels.convert(mode), format="WEBP", lossless=mode == "RGBA") for mode in ("RGB", "RGBA")),
        encode(pixels, format="WEBP", exif=exif, **two),
        *(encode(pixels, format="TIFF", compression=c) for c in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg")),
        encode(pixels.convert("1"), format="TIFF", compression="group4"),
        *(encode(pixels.convert(mode), format="TIFF", exif=exif) for mode in ("P", "LA", "CMYK")),
        encode(greys, format="TIFF", **two),
    ]


def mutate(content, others, rng):
    """One of: bits turned over, bytes of a kind, an end cut off, a piece doubled or moved, another file's beginning."""
    data = bytearray(content)
    near = max(1, len(data) // int(rng.choice([1, 4, 16])))  # headers are where the decisions are
    kind = rng.integers(6)
    if kind == 0:
        for at in rng.integers(near, size=rng.integers(1, 8)):
            data[at] ^= 1 << rng.integers(8)
    elif kind == 1:
        at, value = rng.integers(near), int(rng.choice([0x00, 0x7F, 0x80, 0xFF]))
        data[at : at + 4] = bytes([value]) * len(data[at : at + 4])
    elif kind == 2:
        del data[rng.integers(len(data)) :]
    elif kind == 3:
        a, b = sorted(rng.integers(len(data), size=2))
        data[a:a] = data[a:b]
    elif kind == 4:
        a, b = sorted(rng.integers(len(data), size=2))
        del data[a:b]
    else:
        other, at = others[rng.integers(len(others))], rng.integers(1, 64)
        data[:at] = other[:at]
    return bytes(data)


def decode(decoder, path):
    """Pixels, or what the ImageError says; any other exception comes through."""
    try:
        return decoder(str(path)), None
    except ImageError as error:
        return None, str(error)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::PIL.Image.DecompressionBombWarning")
def test_damaged_files_decode_or_are_refused_by_name(tmp_path):
    rng = np.random.default_rng(0)
    files = valid_files(rng)
    decoders = [Decoder(max_pixels=10**6), Decoder(max_pixels=10**6, resize=(8, 8), crop=True, grey=True)]
    slowest, refused = 0.0, 0
    for number in range(MUTATIONS):
        path = tmp_path / f"{number}.png"
        path.write_bytes(mutate(files[number % len(files)], files, rng))
        start = time.perf_counter()
        pixels, message = decode(decoders[number % 2], path)
        slowest = max(slowest, time.perf_counter() - start)
        if pixels is None:
            refused += 1
            assert message.startswith(f"{path}: ")
            assert "\n" not in message
        else:
            assert pixels.ndim == 3
            assert pixels.dtype.kind in "uif"
            assert np.isfinite(pixels).all()
        path.unlink()
    print(f"{MUTATIONS} damaged files: {refused} refused, the slowest took {slowest:.3f} s")
    assert MUTATIONS < 100 or 0.2 < refused / MUTATIONS < 0.95


def test_the_valid_files_decode(tmp_path):
    for content in valid_files(np.random.default_rng(0)):
        (tmp_path / "a.png").write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert Decoder()(str(tmp_path / "a.png")).size > 0
