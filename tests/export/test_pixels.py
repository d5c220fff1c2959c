"""The page cuts and scales pictures as the library reads files; and it knows a file by its content."""

import io

import numpy as np
import pytest
from PIL import Image

from poolwise.images.decoding import Decoder

RESIZE = """
const result = given.map(({ rgba, height, width, shape, crop }) => Array.from(
  resize((y, count) => rgba.slice(4 * width * y, 4 * width * (y + count)), height, width, shape, crop)));
"""
HEADER = """
const result = given.map((bytes) => {
  try {
    return readHeader(Uint8Array.from(bytes));
  } catch (error) {
    return error instanceof Refusal ? error.message : { mistake: String(error) };
  }
});
"""
SIZES = [
    (32, 32, (32, 32, 3)),
    (300, 211, (32, 32, 3)),
    (20, 50, (32, 24, 3)),
    (20, 50, (32, 24, 1)),
    (32, 64, (32, 32, 3)),
    (33, 32, (32, 32, 1)),
    (401, 32, (32, 32, 3)),
    (7, 9, (32, 32, 3)),
    (1, 1, (8, 8, 3)),
    (97, 1, (8, 8, 3)),
    (90, 60, (32, 32, 3)),
    (300, 40, (32, 32, 3)),
    (64, 64, (31, 17, 3)),
]


@pytest.mark.parametrize("crop", [True, False])
def test_resized_as_the_library_reads_files(node, rng, tmp_path, crop):
    given, want = [], []
    for H, W, shape in SIZES:
        pixels = rng.integers(0, 256, (H, W, 3), dtype=np.uint8)
        pixels[:, : W // 2] = np.where(pixels[:, : W // 2] > 128, 255, 0)  # edges, which clip
        Image.fromarray(pixels).save(tmp_path / "a.png")
        read = Decoder(resize=shape[:2], crop=crop, grey=shape[2] == 1)(str(tmp_path / "a.png"))
        want.append((across_then_down(pixels, shape, crop), read))
        rgba = np.dstack([pixels, np.full((H, W), 255, np.uint8)]).ravel().tolist()
        given.append({"rgba": rgba, "height": H, "width": W, "shape": shape, "crop": crop})
    for found, (exact, read) in zip(node(["pixels.js"], RESIZE, given), want, strict=True):
        np.testing.assert_array_equal(np.reshape(found, exact.shape), exact)
        assert np.abs(np.reshape(found, read.shape) - read.astype(int)).max() <= 1  # Pillow 13 scales tall ones down first


def across_then_down(pixels, shape, crop):
    """By two calls of Pillow, each in one direction."""
    (H, W, _), (h, w, c) = pixels.shape, shape
    wide, high = (min(W, w / h * H), min(H, h / w * W)) if crop else (W, H)
    left, top = (W - wide) / 2, (H - high) / 2
    image = Image.fromarray(pixels).convert("L" if c == 1 else "RGB")
    image = image.resize((w, H), Image.Resampling.BILINEAR, box=(left, 0, left + wide, H))
    return np.array(image.resize((w, h), Image.Resampling.BILINEAR, box=(0, top, w, top + high))).reshape(shape)


def encoded(kind, size, **more):
    file = io.BytesIO()
    Image.effect_noise(size, 50).convert("P" if kind == "GIF" else "RGB").save(file, kind, **more)
    return list(file.getvalue())


def test_a_file_is_known_by_its_content(node):
    size = (37, 19)
    files = [encoded(kind, size) for kind in ("PNG", "JPEG", "BMP", "GIF", "WEBP")]
    files += [encoded("WEBP", size, lossless=True), encoded("JPEG", size, exif=Image.Exif(), progressive=True)]
    files += [encoded("JPEG", size, icc_profile=b"x" * 70_000)]  # its size comes late
    found = node(["pixels.js"], HEADER, files)
    assert [one["kind"] for one in found] == ["PNG", "JPEG", "BMP", "GIF", "WebP", "WebP", "JPEG", "JPEG"]
    assert {(one["width"], one["height"]) for one in found} == {size}


def test_anything_else_is_refused_in_words(node):
    cases = {
        b"": "empty",
        b"just text\n" * 40: "whatever its name",
        b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>': "SVG",
        bytes(encoded("TIFF", (4, 4))): "TIFF",
        b"\x00\x00\x00\x18ftypheic" + bytes(20): "HEIC",
        b"\xff\xd8\xff": "damaged",
        b"\xff\xd8" + b"\xff\xe0\x00\x10" + bytes(30): "damaged",
        b"\x89PNG\r\n\x1a\n": "whatever its name",
        b"%PDF-1.7 " + bytes(range(256)): "whatever its name",
    }
    for found, words in zip(node(["pixels.js"], HEADER, [list(file) for file in cases]), cases.values(), strict=True):
        assert isinstance(found, str), found
        assert words in found
