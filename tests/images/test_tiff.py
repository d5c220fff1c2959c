"""TIFF of every kind that microscopes and satellites write; the oracle is the array that was written."""

import os
import time
import tracemalloc

import numpy as np
import pytest
import tifffile
from PIL import Image
from tifffile import _imagecodecs

from poolwise import open_images
from poolwise.images import ImageError
from poolwise.images.decoding import Decoder

H, W = 20, 30


@pytest.fixture
def numbers(rng):
    def make(*shape, dtype=np.uint16, top=4000):
        return rng.integers(0, top, size=shape).astype(dtype)

    return make


@pytest.fixture
def save(tmp_path):
    def write(array, **options):
        tifffile.imwrite(tmp_path / "a.tif", array, **options)
        return str(tmp_path / "a.tif")

    return write


# name, shape that is written, how, and the axes of bands that are moved to the end
KINDS = {
    "ImageJ, 5 channels": ((5, H, W), {"imagej": True, "metadata": {"axes": "CYX"}}, 0),
    "OME, 5 channels": ((5, H, W), {"ome": True, "metadata": {"axes": "CYX"}}, 0),
    "13 bands, chunky": ((H, W, 13), {"photometric": "minisblack", "planarconfig": "contig"}, 2),
    "13 bands, planar": ((13, H, W), {"photometric": "minisblack", "planarconfig": "separate"}, 0),
    "13 bands, deflate": ((13, H, W), {"photometric": "minisblack", "planarconfig": "separate", "compression": "zlib"}, 0),
    "4 bands, near infrared": ((H, W, 4), {"photometric": "rgb", "extrasamples": ["unspecified"]}, 2),
    "4 bands, planar": ((4, H, W), {"photometric": "rgb", "planarconfig": "separate", "extrasamples": ["unspecified"]}, 0),
    "RGB, 16 bits": ((H, W, 3), {"photometric": "rgb"}, 2),
    "RGB, 16 bits, tiles": ((H, W, 3), {"photometric": "rgb", "tile": (16, 16)}, 2),
    "RGB, 16 bits, LZW": ((H, W, 3), {"photometric": "rgb", "compression": "lzw", "predictor": True}, 2),
    "RGB, 16 bits, ZSTD": ((H, W, 3), {"photometric": "rgb", "compression": "zstd"}, 2),
    "grey, 16 bits": ((H, W), {}, None),
    "grey, big-endian": ((H, W), {"byteorder": ">"}, None),
    "grey, BigTIFF": ((H, W), {"bigtiff": True}, None),
    "grey, strips": ((H, W), {"rowsperstrip": 3}, None),
}  # fmt: skip


def as_image(array, bands):
    return array[:, :, None] if bands is None else np.moveaxis(array, bands, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_every_band_and_every_bit_is_read(save, numbers, kind):
    shape, options, bands = KINDS[kind]
    array = numbers(*shape)
    found = Decoder().decode(save(array, **options))
    assert found.pixels.dtype == np.uint16
    assert found.pixels.dtype.isnative
    np.testing.assert_array_equal(found.pixels, as_image(array, bands))
    assert found.notes == ()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint32, np.int32, np.float32, np.float64, np.float16])
def test_numbers_stay_what_they_are_and_real_ones_are_float32(save, numbers, dtype):
    array = (
        numbers(H, W, dtype=np.int32).astype(dtype) if np.dtype(dtype).itemsize > 1 else numbers(H, W, dtype=np.int8, top=100)
    )
    array[0, 0] = -5 if np.dtype(dtype).kind != "u" else 5
    pixels = Decoder()(save(array))
    assert pixels.dtype == (np.float32 if np.dtype(dtype).kind == "f" else dtype)
    np.testing.assert_array_equal(pixels[:, :, 0], array.astype(pixels.dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_where_the_least_number_is_white_light_is_large(save, numbers, dtype):
    array = numbers(H, W, dtype=dtype, top=250)
    np.testing.assert_array_equal(Decoder()(save(array, photometric="miniswhite"))[:, :, 0], np.iinfo(dtype).max - array)


def test_two_bands_of_8_bits_and_five_are_all_there(save, numbers):
    for bands in (2, 5):
        array = numbers(H, W, bands, dtype=np.uint8, top=255)
        np.testing.assert_array_equal(Decoder()(save(array, photometric="minisblack", planarconfig="contig")), array)


def test_an_alpha_channel_of_16_bits_is_kept_and_noted(save, numbers):
    array = numbers(H, W, 4)
    found = Decoder().decode(save(array, photometric="rgb", extrasamples=["unassalpha"]))
    np.testing.assert_array_equal(found.pixels, array)
    assert found.notes == ("its alpha channel is kept as the last band",)


STACKS = {
    "a z-stack (7; axes ZYX)": ((7, H, W), {"imagej": True, "metadata": {"axes": "ZYX"}}),
    "a time series (7; axes TYX)": ((7, H, W), {"imagej": True, "metadata": {"axes": "TYX"}}),
    "several pages (7; axes QYX)": ((7, H, W), {}),
    "a time series (7; axes TCYX)": ((7, 2, H, W), {"ome": True, "metadata": {"axes": "TCYX"}}),
}


@pytest.mark.parametrize("words", STACKS)
def test_of_a_stack_somebody_must_say_what_to_take(save, numbers, words):
    shape, options = STACKS[words]
    array = numbers(*shape)
    path = save(array, **options)
    with pytest.raises(ImageError) as refused:
        Decoder()(path)
    assert f"a.tif: it is {words}, and nothing says which to take" in str(refused.value)
    assert str(refused.value).endswith("by stack='max', or each as a band by stack='channels'")
    assert all(remedy in str(refused.value) for remedy in ("page=0", "stack='max'", "stack='channels'"))
    np.testing.assert_array_equal(Decoder(page=3)(path), as_image(array[3], 0 if array.ndim == 4 else None))
    np.testing.assert_array_equal(Decoder(stack="max")(path), as_image(array.max(axis=0), 0 if array.ndim == 4 else None))
    np.testing.assert_array_equal(Decoder(stack="channels")(path), np.moveaxis(array.reshape(-1, H, W), 0, 2))
    with pytest.raises(ImageError, match="it has 7 pages, 0 to 6; got page=7"):
        Decoder(page=7)(path)


def test_what_is_no_tiff_has_one_page(tmp_path):
    Image.new("L", (4, 5)).save(tmp_path / "a.png")
    assert Decoder(page=0)(str(tmp_path / "a.png")).shape == (5, 4, 1)
    with pytest.raises(ImageError, match="it has one page, 0; got page=1"):
        Decoder(page=1)(str(tmp_path / "a.png"))
    with pytest.raises(ImageError, match="it has one page, 0; got page=1"):
        open_images([(np.zeros((5, 4), np.uint8), 0)] * 2, page=1)


def test_pages_of_other_sizes_are_noted(tmp_path, numbers):
    array = numbers(H, W)
    with tifffile.TiffWriter(tmp_path / "a.tif") as tiff:
        tiff.write(array)
        tiff.write(numbers(5, 6))
    found = Decoder().decode(str(tmp_path / "a.tif"))
    np.testing.assert_array_equal(found.pixels[:, :, 0], array)
    assert found.notes == ("1 more image of other sizes in the file are not read",)
    with pytest.warns(UserWarning, match=r"a\.tif: 1 more image of other sizes"):
        open_images(tmp_path)


@pytest.mark.parametrize("turn", range(1, 9))
def test_orientations_are_those_of_exif(save, numbers, turn):
    array = numbers(H, W, 3)
    first = {1: (0, 0), 2: (0, -1), 3: (-1, -1), 4: (-1, 0), 5: (0, 0), 6: (-1, 0), 7: (-1, -1), 8: (0, -1)}[turn]
    second = {1: (0, 1), 2: (0, -2), 3: (-1, -2), 4: (-1, 1), 5: (1, 0), 6: (-2, 0), 7: (-2, -1), 8: (1, -1)}[turn]
    pixels = Decoder()(save(array, photometric="rgb", extratags=[(274, 3, 1, turn, True)]))
    assert pixels.shape == ((W, H, 3) if turn > 4 else (H, W, 3))
    assert pixels[0, 0].tolist() == array[first].tolist()
    assert pixels[0, 1].tolist() == array[second].tolist()


def test_bands_are_resized_one_by_one_and_rounded(save, numbers):
    array = numbers(H, W, 5)
    path = save(array, photometric="minisblack", planarconfig="contig")
    pixels = Decoder(resize=(10, 15))(path)
    single = Decoder(resize=(10, 15), channels=(3,))(path)
    assert pixels.shape == (10, 15, 5)
    assert pixels.dtype == np.uint16
    np.testing.assert_array_equal(pixels[:, :, 3:4], single)
    assert abs(pixels.mean() - array.mean()) < 0.02 * array.mean()
    np.testing.assert_array_equal(Decoder(crop=True)(path), array[:, 5:25])


def test_numbers_that_are_none_are_refused(save):
    array = np.ones((H, W), np.float32)
    array[3, 4] = np.nan
    with pytest.raises(ImageError, match=r"a\.tif: it has pixels that are NaN or infinite"):
        Decoder()(save(array))


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("kind", ["ImageJ, 5 channels", "13 bands, chunky", "13 bands, planar", "RGB, 16 bits", "grey, strips"])
def test_a_file_that_ends_too_early_is_never_filled_up(save, numbers, kind, compression):
    shape, options, _ = KINDS[kind]
    if compression is not None and "imagej" in options:
        pytest.skip("ImageJ writes no compressed hyperstacks")
    path = save(numbers(*shape), **options, compression=compression)
    size = os.path.getsize(path)
    for share in (0.3, 0.6, 0.95):
        with open(path, "r+b") as file:
            content = file.read()
            file.truncate(int(share * size))
        with pytest.raises(ImageError, match=r"a\.tif: "):
            Decoder()(path)
        with open(path, "wb") as file:
            file.write(content)


def test_a_size_that_is_claimed_is_refused_before_it_is_decoded(save):
    path = save(np.zeros((4, 4, 13), np.uint16), photometric="minisblack", planarconfig="contig")
    with tifffile.TiffFile(path, mode="r+") as tiff:
        tiff.pages.first.tags["ImageWidth"].overwrite(60_000)
        tiff.pages.first.tags["ImageLength"].overwrite(60_000)
    tracemalloc.start()
    with pytest.raises(ImageError, match=r"60000×60000 pixels with 13 bands or pages exceed max_pixels=64000000"):
        Decoder()(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    with pytest.raises(ImageError, match=r"4×4 pixels with 13 bands or pages exceed max_pixels=16"):
        Decoder(max_pixels=16)(save(np.zeros((4, 4, 13), np.uint16), photometric="minisblack", planarconfig="contig"))


def test_a_compression_that_needs_imagecodecs_says_so(save, numbers, monkeypatch):
    path = save(numbers(H, W, 3), photometric="rgb", compression="lzw")
    monkeypatch.setattr(tifffile.tifffile, "imagecodecs", _imagecodecs)  # what tifffile has without it
    monkeypatch.delitem(tifffile.TIFF.DECOMPRESSORS._codecs, 5, raising=False)
    with pytest.raises(
        ImageError, match=r"a\.tif: its compression, LZW, needs the package imagecodecs: pip install 'poolwise\[tiff\]'"
    ):
        Decoder()(path)


def mutated(content, rng):
    data = bytearray(content)
    near = max(1, len(data) // int(rng.choice([1, 4, 16])))
    for at in rng.integers(near, size=rng.integers(1, 6)):
        data[at] = int(rng.choice([0, 1, 127, 128, 255, data[at] ^ (1 << int(rng.integers(8)))]))
    return bytes(data[: int(rng.integers(1, len(data)))] if rng.random() < 0.15 else data)


def _decode(decoder, path):
    """Pixels, or what the ImageError says; any other exception comes through."""
    try:
        return decoder(path), None
    except ImageError as error:
        return None, str(error)


MUTATIONS = int(os.environ.get("POOLWISE_TIFF_MUTATIONS", "150"))


def test_damaged_files_are_decoded_or_refused_by_name_at_once(save, numbers, tmp_path):
    """2,000 of them by POOLWISE_TIFF_MUTATIONS=2000."""
    rng = np.random.default_rng(0)
    whole = []
    for shape, options, _ in KINDS.values():
        with open(save(numbers(*shape), **options), "rb") as file:
            whole.append(file.read())
    refused, slowest, largest, decoder = 0, 0.0, 0, Decoder(max_pixels=100_000, stack="channels")
    path = tmp_path / "m.tif"
    for number in range(MUTATIONS):
        content = mutated(whole[number % len(whole)], rng)
        path.write_bytes(content)
        tracemalloc.start()
        begun = time.perf_counter()
        pixels, message = _decode(decoder, str(path))
        if pixels is None:
            refused += 1
            assert message.startswith(f"{path}: ")
            assert "\n" not in message
        else:
            assert pixels.ndim == 3
            assert pixels.dtype.kind in "uif"
        slowest = max(slowest, time.perf_counter() - begun)
        largest = max(largest, tracemalloc.get_traced_memory()[1] - 10 * len(content))
        tracemalloc.stop()
    print(f"{MUTATIONS} damaged files: {refused} refused, slowest {slowest:.2f} s, {largest / 1e6:.1f} MB over 10 × the file")
    assert 0.1 < refused / MUTATIONS < 0.95
    assert largest < 8 * 8 * 100_000  # four bands of eight bytes of every pixel allowed, twice


def test_a_folder_of_tiles_is_fitted_as_it_is(tmp_path, numbers):
    for label in ("field", "wood"):
        (tmp_path / label).mkdir()
        for i in range(3):
            tifffile.imwrite(tmp_path / label / f"{i}.tif", numbers(H, W, 13), photometric="minisblack", planarconfig="contig")
    images = open_images(tmp_path)
    assert (images.shape, images.dtype) == ((6, H, W, 13), np.uint16)
    assert open_images(tmp_path, channels=(3, 2, 1)).shape == (6, H, W, 3)
    tifffile.imwrite(tmp_path / "wood" / "3.tif", numbers(H, W, 4), photometric="rgb")
    with pytest.raises(ImageError, match=r"it has 4 bands, but the first image, .*0\.tif, has 13"):
        open_images(tmp_path)[:]
    tifffile.imwrite(
        tmp_path / "wood" / "3.tif", numbers(H, W, 13).astype(np.int16), photometric="minisblack", planarconfig="contig"
    )
    with pytest.raises(ImageError, match=r"its pixels are int16, those of the first image, .*0\.tif, uint16; save all alike"):
        open_images(tmp_path)[:]
