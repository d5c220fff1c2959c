import numpy as np
import pytest

from poolwise.patches import normalize_contrast, position_grid, sample_patches, view_patches


def naive_patches(image, ph, pw, stride):
    H, W, _ = image.shape
    return np.array(
        [image[y : y + ph, x : x + pw].ravel() for y in range(0, H - ph + 1, stride) for x in range(0, W - pw + 1, stride)]
    )


@pytest.mark.parametrize(
    ("shape", "patch", "stride"), [((9, 11, 3), (4, 5), 1), ((9, 11, 1), (4, 5), 2), ((6, 6, 13), (6, 6), 3)]
)
def test_view_gives_every_patch_in_row_column_channel_order(rng, shape, patch, stride):
    image = rng.normal(size=shape)
    view = view_patches(image, patch, stride)
    assert view.shape[:2] == position_grid(shape[:2], patch, stride)
    np.testing.assert_array_equal(view.reshape(-1, patch[0] * patch[1] * shape[2]), naive_patches(image, *patch, stride))


def test_samples_are_patches_of_the_images_and_reach_every_position(rng):
    images = np.arange(2 * 4 * 5).reshape(2, 4, 5, 1)  # every pixel differs, so a patch tells where it is from
    patches = sample_patches(images, 2000, (2, 3), rng)
    possible = np.concatenate([naive_patches(image, 2, 3, 1) for image in images])
    assert patches.dtype == np.float32
    assert {tuple(p) for p in patches} == {tuple(p) for p in possible}


def test_sampling_is_uniform_over_images_and_positions(rng):
    images = np.arange(4 * 3 * 3).reshape(4, 3, 3, 1)
    first = sample_patches(images, 16_000, (2, 2), rng)[:, 0]
    _, counts = np.unique(first, return_counts=True)
    assert len(counts) == 16
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_sampling_a_memory_map_gives_the_same(rng, tmp_path, photos):
    np.save(tmp_path / "images.npy", photos)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    a, b = (sample_patches(x, 500, (6, 6), np.random.default_rng(3)) for x in (photos, mapped))
    np.testing.assert_array_equal(a, b)


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


def test_an_image_smaller_than_the_patch_is_named():
    with pytest.raises(ValueError, match="images of 3×32 pixels are smaller than the patch of 6×6"):
        position_grid((3, 32), (6, 6), 1)
