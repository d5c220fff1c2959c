import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method.descriptors import DESCRIPTORS, Patches, patches, sampling
from poolwise.method.descriptors.patches import draw_tiles, normalize_contrast, position_grid, sample_patches, view_patches
from poolwise.support.parameters import ParameterError
from poolwise.support.types import ImageSource


def naive_patches(image, ph, pw, stride):
    H, W, _ = image.shape
    return np.array(
        [image[y : y + ph, x : x + pw].ravel() for y in range(0, H - ph + 1, stride) for x in range(0, W - pw + 1, stride)]
    )


SHAPES = [((9, 11, 3), (4, 5), 1), ((9, 11, 1), (4, 5), 2), ((6, 6, 13), (6, 6), 3)]


@pytest.mark.parametrize(("shape", "patch", "stride"), SHAPES)
def test_view_gives_every_patch_in_row_column_channel_order(rng, shape, patch, stride):
    image = rng.normal(size=shape)
    view = view_patches(image, patch, stride)
    assert view.shape[:2] == position_grid(shape[:2], patch, stride)
    np.testing.assert_array_equal(view.reshape(-1, patch[0] * patch[1] * shape[2]), naive_patches(image, *patch, stride))


@pytest.mark.parametrize("contrast", ["std", "variance", None])
@pytest.mark.parametrize(("shape", "patch", "stride"), SHAPES)
def test_a_descriptor_gives_every_patch_with_its_contrast_normalised(rng, shape, patch, stride, contrast):
    images = rng.uniform(0, 255, size=(3, *shape))
    cut = Patches(patch, stride, contrast, 7.0)
    P = cut(images)
    (h, w), d = cut.positions(shape[:2]), cut.dimension(shape[2])
    assert P.shape == (3, h, w, d)
    for image, found in zip(images, P, strict=True):
        expected = normalize_contrast(naive_patches(image, *patch, stride), contrast, 7.0)
        np.testing.assert_allclose(found.reshape(-1, d), expected, rtol=1e-12)


def test_positions_see_a_window():
    cut = Patches((4, 6), stride=3)
    assert cut.window(1, 1) == (4, 6)
    assert cut.window(5, 2) == (16, 9)
    assert cut.positions(cut.window(5, 2)) == (5, 2)


def test_samples_are_patches_of_the_images_and_reach_every_position(rng, engine):
    images = np.arange(2 * 4 * 5).reshape(2, 4, 5, 1)  # every pixel differs, so a patch shows where it is from
    patches = sample_patches(images, 2000, (2, 3), rng=rng, engine=engine).array
    possible = np.concatenate([naive_patches(image, 2, 3, 1) for image in images])
    assert patches.dtype == np.float32
    assert {tuple(p) for p in patches} == {tuple(p) for p in possible}


def test_sampling_is_uniform_over_images_and_positions(rng, engine):
    images = np.arange(4 * 3 * 3).reshape(4, 3, 3, 1)
    first = sample_patches(images, 16_000, (2, 2), rng=rng, engine=engine).array[:, 0]
    _, counts = np.unique(first, return_counts=True)
    assert len(counts) == 16
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_sampling_a_memory_map_gives_the_same(tmp_path, photos, engine):
    np.save(tmp_path / "images.npy", photos)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    a, b = (sample_patches(x, 500, (6, 6), rng=np.random.default_rng(3), engine=engine).array for x in (photos, mapped))
    np.testing.assert_array_equal(a, b)


class Source(ImageSource):
    """Images that are decoded when they are asked for; remembers which were."""

    def __init__(self, images):
        self.images, self.shape, self.dtype, self.read = images, images.shape, images.dtype, []

    def __getitem__(self, rows):
        self.read.extend(np.arange(len(self))[rows].tolist())
        return self.images[rows]


@pytest.mark.parametrize("bytes_per_shard", [1, 10_000, 4 << 20])
def test_sampling_a_source_gives_the_same_and_decodes_each_image_once(photos, engine, monkeypatch, bytes_per_shard):
    monkeypatch.setattr(sampling, "_DECODED_BYTES_PER_SHARD", bytes_per_shard)
    source = Source(photos)
    a, b = (sample_patches(x, 300, (6, 6), rng=np.random.default_rng(3), engine=engine).array for x in (photos, source))
    np.testing.assert_array_equal(a, b)
    assert len(source.read) == len(set(source.read)) > 100


@pytest.mark.parametrize("source", [False, True])
def test_the_same_samples_on_any_number_of_threads(photos, monkeypatch, source):
    monkeypatch.setattr(sampling, "_SAMPLES_PER_SHARD", 100)
    monkeypatch.setattr(patches, "_PATCHES_PER_BLOCK", 70)
    monkeypatch.setattr(sampling, "_DECODED_BYTES_PER_SHARD", 20_000)
    runs = set()
    for threads in (1, 2, 4):
        with Threads(threads) as engine:
            held = Patches().sample(Source(photos) if source else photos, 1000, rng=np.random.default_rng(0), engine=engine)
            runs.add(held.array.tobytes())
    assert len(runs) == 1


@pytest.mark.parametrize("contrast", ["std", "variance", None])
def test_a_descriptor_samples_what_it_computes(photos, engine, contrast):
    cut = Patches(4, contrast=contrast, offset=3.0)
    P = cut.sample(photos, 700, rng=np.random.default_rng(0), engine=engine).array
    raw = sample_patches(photos, 700, (4, 4), rng=np.random.default_rng(0), engine=engine).array
    assert P.shape == (700, cut.dimension(3))
    assert P.dtype == np.float32
    np.testing.assert_array_equal(P, normalize_contrast(raw, contrast, 3.0))


def test_contrast_of_jia2012_and_coates2011_differ_as_published(rng):
    P = rng.uniform(0, 255, size=(50, 108))
    centred = P - P.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(normalize_contrast(P, "std", 10), centred / (P.std(axis=1, keepdims=True) + 10))
    np.testing.assert_allclose(
        normalize_contrast(P, "variance", 10), centred / np.sqrt(P.var(axis=1, ddof=1, keepdims=True) + 10)
    )
    assert normalize_contrast(P, None, 10) is P


@pytest.mark.parametrize("kind", ["std", "variance"])
def test_constant_patches_become_zero_even_without_an_offset(kind):
    for value in (7.0, 0.3, 1e7):
        np.testing.assert_array_equal(normalize_contrast(np.full((3, 108), value), kind, 0.0), np.zeros((3, 108)))


@pytest.mark.parametrize("word", ["typo", "Std", ""])
def test_an_unknown_contrast_is_refused(rng, word):
    image = rng.uniform(0, 255, size=(1, 9, 9, 3))
    for work in (
        lambda: normalize_contrast(np.ones((2, 4)), word, 10.0),
        lambda: Patches(contrast=word)(image),
        lambda: DESCRIPTORS.check("descriptor", Patches(contrast=word)),
    ):
        with pytest.raises(ParameterError, match="contrast must be one of 'std', 'variance', None; got"):
            work()


def test_an_image_smaller_than_the_patch_is_named():
    with pytest.raises(ValueError, match="images of 3×32 pixels are smaller than the patch of 6×6"):
        position_grid((3, 32), (6, 6), 1)


def test_patches_are_clipped_to_rows_of_numbers_and_refused_elsewhere():
    assert Patches(6).fitted_to((1, 4, 3), clip=True) == Patches((1, 4))
    assert Patches(6, stride=2).fitted_to((1, 40, 3), clip=True) == Patches((1, 6), stride=2)
    assert Patches(6).fitted_to((6, 6, 1)) == Patches((6, 6))
    with pytest.raises(ParameterError, match="images of 1×4 pixels are smaller than the patch of 6×6"):
        Patches(6).fitted_to((1, 4, 3))


def test_a_patch_of_a_single_number_has_no_contrast():
    with pytest.raises(ParameterError, match=r"has no contrast; images are 4×4 .* Give larger images, a larger size"):
        Patches(1).fitted_to((4, 4, 1))
    assert Patches(1, contrast=None).fitted_to((4, 4, 1)).positions((4, 4)) == (4, 4)
    assert Patches(1).fitted_to((4, 4, 3)).dimension(3) == 3


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_tiles_are_a_plain_loop(rng, channels):
    D, shape = rng.normal(size=(7, 6 * channels)), (2, 3, channels)
    tiles = draw_tiles(D, shape)
    for code, tile in zip(D, tiles, strict=True):
        pixels = code.reshape(shape) if channels == 3 else np.stack([code.reshape(shape).mean(axis=2)] * 3, axis=2)
        np.testing.assert_array_equal(tile, np.round(127.5 + 127.5 * pixels / np.abs(pixels).max()))
    np.testing.assert_array_equal(Patches((2, 3)).draw(D, channels), tiles)


def test_codes_that_are_not_patches_are_not_drawn(rng):
    for D in (rng.normal(size=(7, 5)), np.empty((0, 6))):
        with pytest.raises(ValueError, match="are not patches of"):
            draw_tiles(D, (2, 3, 1))
