"""One file to pixels: colours, sizes, turns, and files that mean harm. The oracle is Pillow, asked directly."""

import os
import pickle
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps, PngImagePlugin

from poolwise.images import ImageError
from poolwise.images.decoding import Decoder

SUFFIXES = {"PNG": "png", "BMP": "bmp", "PPM": "ppm", "WEBP": "webp", "TIFF": "tif", "JPEG": "jpg"}


@pytest.fixture
def colours(rng):
    return rng.integers(0, 256, size=(12, 10, 3), dtype=np.uint8)


@pytest.fixture
def save(tmp_path):
    def save(image, name="a.png", **options):
        image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
        image.save(tmp_path / name, **options)
        return str(tmp_path / name)

    return save


def write(path, content):
    path.write_bytes(content)
    return str(path)


def png(*chunks):
    """A PNG file of these (type, data) chunks, their checksums right."""
    parts = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("format", SUFFIXES)
def test_every_format_decodes_as_pillow_does(save, colours, format):
    path = save(colours, f"a.{SUFFIXES[format]}", format=format)
    with Image.open(path) as image:
        assert image.format == format
        np.testing.assert_array_equal(Decoder()(path), np.asarray(image.convert("RGB")))


@pytest.mark.parametrize("format", ["PNG", "BMP", "PPM", "TIFF"])
def test_formats_without_loss_give_back_what_was_written(save, colours, format):
    np.testing.assert_array_equal(Decoder()(save(colours, "a.x", format=format)), colours)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_opaque_modes_become_rgb_and_greys_stay_grey_unless_asked(save, colours, mode):
    image = Image.fromarray(colours).convert(mode)
    np.testing.assert_array_equal(Decoder(grey=False)(save(image)), np.asarray(image.convert("RGB")))
    expected = np.asarray(image.convert("L"))[:, :, None] if mode in "1L" else np.asarray(image.convert("RGB"))
    np.testing.assert_array_equal(Decoder()(save(image)), expected)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_grey_is_one_channel_of_luma(save, colours, mode):
    image = Image.fromarray(colours).convert(mode)
    expected = image if mode == "L" else image.convert("L") if mode == "1" else image.convert("RGB").convert("L")
    pixels = Decoder(grey=True)(save(image))
    np.testing.assert_array_equal(pixels, np.asarray(expected)[:, :, None])


def test_grey_of_colours_is_itu_r_601(save, colours):
    luma = colours @ np.array([0.299, 0.587, 0.114])
    assert np.abs(Decoder(grey=True)(save(colours))[:, :, 0] - luma).max() <= 1


@pytest.mark.parametrize("format", ["JPEG", "TIFF"])
def test_cmyk_becomes_rgb(save, colours, format):
    path = save(Image.fromarray(colours).convert("CMYK"), "a.x", format=format)
    with Image.open(path) as image:
        assert image.mode == "CMYK"
        np.testing.assert_array_equal(Decoder()(path), np.asarray(image.convert("RGB")))


def test_transparent_pixels_are_laid_over_white(save, colours):
    alpha = np.full((12, 10, 1), 255, np.uint8)
    alpha[:6] = 0
    alpha[6] = 128
    pixels = Decoder()(save(np.concatenate([colours, alpha], axis=2)))
    assert (pixels[:6] == 255).all()
    assert np.abs(pixels[6] - (colours[6] * (128 / 255) + 255 * (127 / 255))).max() <= 1
    np.testing.assert_array_equal(pixels[7:], colours[7:])


def test_grey_with_alpha_is_laid_over_white(save):
    image = np.zeros((4, 4, 2), np.uint8)
    image[2:, :, 1] = 255
    pixels = Decoder(grey=True)(save(Image.fromarray(image, "LA")))
    np.testing.assert_array_equal(pixels[:, 0, 0], [255, 255, 0, 0])


def test_greys_with_alpha_stay_grey_unless_asked(save, colours):
    layer = np.dstack([colours[:, :, 0], np.full((12, 10), 255, np.uint8)])
    np.testing.assert_array_equal(Decoder()(save(Image.fromarray(layer, "LA"))), colours[:, :, :1])
    np.testing.assert_array_equal(Decoder(grey=False)(save(Image.fromarray(layer, "LA"))), np.repeat(colours[:, :, :1], 3, 2))


def transparent_png(path, values, bits, colour):
    """Greys (H, W), or colours (H, W, 3) of 16 bits, one of which is transparent; W fills whole bytes."""
    if bits < 8:
        H = len(values)
        places = np.arange(8 // bits)[::-1] * bits
        rows = (values.reshape(H, -1, 8 // bits) << places).sum(axis=2).astype(np.uint8)
    else:
        rows = values.astype(f">u{bits // 8}")
    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], bits, 2 if values.ndim == 3 else 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    clear = np.asarray(colour, ">u2").tobytes()
    return write(path, png((b"IHDR", header), (b"tRNS", clear), (b"IDAT", data), (b"IEND", b"")))


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_a_transparent_grey_is_laid_over_white_at_every_depth(tmp_path, rng, bits):
    values = rng.integers(0, 2**bits, size=(6, 8))
    colour = int(values[0, 0])
    values[1, :2] = 0, 1  # black is among the others
    found = Decoder().decode(transparent_png(tmp_path / "a.png", values, bits, colour))
    expected = np.where(values == colour, 255, values * 255 / (2**bits - 1)).astype(np.float32)
    np.testing.assert_allclose(found.pixels[:, :, 0], expected, rtol=1e-6)
    assert found.pixels.shape == (6, 8, 1)
    assert found.notes == ("what is transparent in it is laid over white",)


def test_one_bit_of_16_apart_is_not_transparent(tmp_path):
    values = np.array([[4096, 4097], [4095, 65535]])
    pixels = Decoder()(transparent_png(tmp_path / "a.png", values, 16, 4096))
    np.testing.assert_array_equal(pixels[:, :, 0], np.float32([[65535, 4097], [4095, 65535]]) / np.float32(257))


def test_a_transparent_colour_of_16_bits_is_left_and_noted(tmp_path, rng):
    values = rng.integers(0, 65536, size=(4, 4, 3))
    values[0, 0] = 9, 9, 9
    values[0, 1] = 9 * 256 + 9
    for colour in ((9, 9, 9), tuple(values[2, 2])):
        found = Decoder().decode(transparent_png(tmp_path / "a.png", values, 16, colour))
        np.testing.assert_array_equal(found.pixels, values >> 8)
        assert found.notes[1:] == ("its transparent colour has 16 bits and is left as it is; save it with an alpha channel",)


def test_a_transparent_colour_of_a_palette_is_laid_over_white(save):
    image = Image.fromarray(np.array([[0, 1], [1, 0]], np.uint8), "P")
    image.putpalette([10, 20, 30, 40, 50, 60])
    pixels = Decoder()(save(image, transparency=1))
    assert pixels.tolist() == [[[10, 20, 30], [255, 255, 255]], [[255, 255, 255], [10, 20, 30]]]


@pytest.mark.parametrize("name", ["a.png", "a.pgm"])
def test_greys_of_16_bits_keep_their_precision(save, rng, name):
    values = rng.integers(0, 65536, size=(6, 5), dtype=np.uint16)
    values[0, :2] = 0, 65535
    path = save(values.astype(np.int32) if name == "a.pgm" else values, name)  # Pillow 10 writes no uint16 as PGM
    pixels = Decoder(grey=True)(path)
    assert pixels.dtype == np.float32
    np.testing.assert_array_equal(pixels[:, :, 0], values.astype(np.float32) / np.float32(257))
    np.testing.assert_array_equal(Decoder()(path), pixels)
    np.testing.assert_array_equal(Decoder(grey=False)(path), np.repeat(pixels, 3, axis=2))


def test_what_is_left_out_of_a_file_is_noted(save, colours):
    frames = [Image.fromarray(colours), Image.fromarray(255 - colours)]
    animated = Decoder().decode(save(frames[0], save_all=True, append_images=frames[1:]))
    assert animated.notes == ("it is an animation of 2 frames, of which the first is read",)
    layer = frames[0].convert("RGBA")
    layer.putpixel((0, 0), (1, 2, 3, 0))
    assert Decoder().decode(save(layer)).notes == ("what is transparent in it is laid over white",)
    deep = cv2.imencode(".png", colours.astype(np.uint16) * 257)[1].tobytes()
    assert Decoder().decode(write(Path(save(layer)), deep)).notes == (
        "its colours of 16 bits are read with 8 bits; save it as TIFF to keep them",
    )
    assert Decoder().decode(save(colours)).notes == ()


def test_bands_are_taken_in_the_order_asked_for(save, colours):
    np.testing.assert_array_equal(Decoder(channels=(2, 0))(save(colours)), colours[:, :, [2, 0]])
    with pytest.raises(ImageError, match=r"a\.png: it has 3 bands, 0 to 2; got channels=\(0, 3\)"):
        Decoder(channels=(0, 3))(save(colours))


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif", "a.webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(save, colours, name, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save(colours, name, exif=exif)
    with Image.open(path) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    assert expected.shape[:2] == ((10, 12) if orientation > 4 else (12, 10))
    np.testing.assert_array_equal(Decoder()(path), expected)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_exif_data_do_not_spoil_the_picture(save, colours):
    path = save(colours, exif=b"Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff")
    np.testing.assert_array_equal(Decoder()(path), colours)


@pytest.mark.parametrize("name", ["a.png", "a.webp"])
def test_of_many_frames_the_first_counts(save, name):
    frames = [Image.new("RGB", (8, 6), (value, 0, 0)) for value in (40, 200, 90)]
    path = save(frames[0], name, save_all=True, append_images=frames[1:], **({"lossless": True} if name == "a.webp" else {}))
    np.testing.assert_array_equal(Decoder()(path), np.asarray(frames[0]))


def test_resizing_is_pillows_bilinear(save, colours):
    expected = Image.fromarray(colours).resize((4, 5), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(Decoder(resize=(5, 4))(save(colours)), np.asarray(expected))


def test_resizing_averages_what_it_drops(save):
    stripes = np.tile(np.array([[0], [255]], np.uint8), (32, 64))
    assert np.abs(Decoder(resize=(8, 8), grey=True)(save(stripes)).astype(int) - 127).max() <= 20


def test_cropping_keeps_the_centred_part_with_the_proportions_of_the_target(save, rng):
    wide = rng.integers(0, 256, size=(8, 20, 3), dtype=np.uint8)
    np.testing.assert_array_equal(Decoder(resize=(8, 8), crop=True)(save(wide)), wide[:, 6:14])
    np.testing.assert_array_equal(Decoder(resize=(8, 16), crop=True)(save(wide)), wide[:, 2:18])


def test_cropping_without_a_target_gives_the_centred_square(save, rng):
    tall = rng.integers(0, 256, size=(21, 8, 3), dtype=np.uint8)
    np.testing.assert_array_equal(Decoder(crop=True)(save(tall)), tall[6:14])


def test_a_resized_grey_of_16_bits_is_not_rounded(save, rng):
    values = rng.integers(0, 65536, size=(8, 8), dtype=np.uint16)
    expected = Image.fromarray(values.astype(np.float32) / np.float32(257)).resize((4, 4), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(Decoder(resize=(4, 4), grey=True)(save(values))[:, :, 0], np.asarray(expected))


def test_the_content_decides_the_format_not_the_name(save, colours, tmp_path):
    path = save(colours, "a.jpg", format="PNG")
    np.testing.assert_array_equal(Decoder()(path), colours)
    others = {"gif": b"GIF89a" + bytes(100), "pickle": pickle.dumps([1, 2]), "empty": b"", "text": b"hello"}
    for name, content in others.items():
        with pytest.raises(ImageError, match=rf"{name}\.png: its content is not a PNG, JPEG"):
            Decoder()(write(tmp_path / f"{name}.png", content))


def test_a_real_gif_is_refused(save, colours):
    with pytest.raises(ImageError, match=r"a\.png: its content is not a PNG"):
        Decoder()(save(Image.fromarray(colours).convert("P"), "a.png", format="GIF"))


def test_max_pixels_is_checked_before_decoding(tmp_path):
    header = struct.pack(">IIBBBBB", 9000, 8000, 8, 0, 0, 0, 0)
    path = write(tmp_path / "big.png", png((b"IHDR", header), (b"IDAT", b"never decoded"), (b"IEND", b"")))
    with pytest.raises(ImageError, match=r"big\.png: 8000×9000 pixels exceed max_pixels=64,?000,?000"):
        Decoder()(path)


def test_max_pixels_itself_is_allowed(save, colours):
    path = save(colours)
    assert Decoder(max_pixels=120)(path).shape == (12, 10, 3)
    with pytest.raises(ImageError, match="12×10 pixels exceed max_pixels=119"):
        Decoder(max_pixels=119)(path)


def test_pillows_own_alarm_at_bombs_is_ours(tmp_path):
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    path = write(tmp_path / "bomb.png", png((b"IHDR", header), (b"IDAT", b""), (b"IEND", b"")))
    with pytest.raises(ImageError, match=r"bomb\.png: .*decompression bomb"):
        Decoder(max_pixels=10**12)(path)


def test_a_bomb_in_a_text_chunk_is_refused(save, colours):
    info = PngImagePlugin.PngInfo()
    info.add_text("comment", "x" * (PngImagePlugin.MAX_TEXT_CHUNK + 1), zip=True)
    with pytest.raises(
        ImageError, match=r"a\.png: it cannot be decoded as an image \(ValueError: (?i:decompressed data too large)"
    ):
        Decoder()(save(colours, pnginfo=info))


def test_a_webp_with_a_giant_canvas_is_refused(tmp_path):
    canvas = b"VP8X" + struct.pack("<I", 10) + b"\x00\x00\x00\x00" + (16382).to_bytes(3, "little") * 2
    path = write(tmp_path / "a.webp", b"RIFF" + struct.pack("<I", 4 + len(canvas)) + b"WEBP" + canvas)
    with pytest.raises(ImageError, match=r"a\.webp: "):
        Decoder()(path)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_a_tiff_with_absurd_tags_is_refused(tmp_path):
    entry = struct.pack("<HHII", 256, 4, 2**31, 2**31 - 8)
    path = write(tmp_path / "a.tif", b"II\x2a\x00" + struct.pack("<IH", 8, 60000) + entry * 50)
    with pytest.raises(ImageError, match=r"a\.tif: "):
        Decoder()(path)


@pytest.mark.parametrize("format", SUFFIXES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_files_are_refused_never_filled_up(save, rng, format, share):
    path = Path(save(rng.integers(0, 256, size=(64, 64, 3), dtype=np.uint8), "a.x", format=format))
    content = path.read_bytes()
    with pytest.raises(ImageError, match=r"a\.x: "):
        Decoder()(write(path, content[: int(share * len(content))]))


def test_what_is_no_regular_file_is_refused_without_hanging(tmp_path):
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    for name in ("folder.png", "pipe.png", "zero.png"):
        with pytest.raises(ImageError, match=rf"{name}: it is a folder, pipe or device"):
            Decoder()(str(tmp_path / name))


def test_files_that_are_gone_or_go_in_circles_are_named(tmp_path):
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    for name, reason in {"gone.png": "No such file", "loop.png": "symbolic links"}.items():
        with pytest.raises(ImageError, match=rf"{name}: .*{reason}"):
            Decoder()(str(tmp_path / name))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_unreadable_files_are_named(save, colours):
    path = save(colours)
    os.chmod(path, 0)
    with pytest.raises(ImageError, match=r"a\.png: .*Permission denied"):
        Decoder()(path)


def test_a_permission_error_is_reported_in_one_line(monkeypatch, save, colours):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    path = save(colours)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ImageError, match=r"a\.png: it cannot be decoded as an image \(Permission denied\)"):
        Decoder()(path)


@pytest.mark.parametrize("name", ["a\nb.png", os.fsdecode(b"\xff\xfe.png")])
def test_names_that_cannot_be_printed_are_escaped(tmp_path, name):
    path = write(tmp_path / name, b"nothing")
    with pytest.raises(ImageError) as caught:
        Decoder()(path)
    assert str(caught.value).encode("ascii")
    assert "\n" not in str(caught.value)
    assert caught.value.path == path


def test_a_name_that_is_no_text_is_read_like_any_other(tmp_path, colours):
    path = os.fsencode(tmp_path) + b"/\xff.png"
    Image.fromarray(colours).save(tmp_path / "a.png")
    os.rename(tmp_path / "a.png", path)
    np.testing.assert_array_equal(Decoder()(os.fsdecode(path)), colours)


def test_an_error_survives_the_way_between_processes():
    error = pickle.loads(pickle.dumps(ImageError("a.png", "too short")))  # noqa: S301
    assert (error.path, error.reason, str(error)) == ("a.png", "too short", "a.png: too short")
