"""SIFT against OpenCV's at given keypoints, HOG against scikit-image's, both against their formulas, and in a model."""

import numpy as np
import pytest
from skimage.feature import hog as their_hog

from poolwise import Hog, Sift, load, save
from poolwise.engine.threads import Threads
from poolwise.method.descriptors.sift import reach
from poolwise.method.extraction import PlainPass, prepare

from settings import paper_features

cv2 = pytest.importorskip("cv2", reason="opencv-python-headless, the peer of SIFT, is not installed")
THEIR_BLUR = np.sqrt(1.6**2 - 0.5**2)  # of the image that OpenCV describes keypoints of octave 0 in


def described(descriptor, image):
    return descriptor.band(image.astype(np.float32), slice(0, descriptor.positions(image.shape[:2])[0]))


@pytest.fixture
def picture(photos):
    return np.concatenate([np.concatenate(list(photos[i : i + 3]), axis=1) for i in (0, 3, 6)])  # (96, 96, 3)


@pytest.mark.parametrize("bins", [3, 4, 6])
def test_sift_is_that_of_opencv(picture, bins):
    grey = np.round(picture.mean(axis=2)).astype(np.uint8)
    ours = Sift(bins=bins, stride=5, flatness=0, root=False)
    blurred = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), THEIR_BLUR)
    found = described(ours, blurred[:, :, None])
    h, w = found.shape[:2]
    first = reach(bins) + 1
    keys = [cv2.KeyPoint(first + 5.0 * c, first + 5.0 * r, bins * 2 / 3, 0, 1, 0) for r in range(h) for c in range(w)]
    _, theirs = cv2.SIFT_create().compute(grey, keys)
    theirs = theirs.reshape(h, w, 128) / np.linalg.norm(theirs, axis=1).reshape(h, w, 1)
    cosine = (found / np.sqrt(128) * theirs).sum(axis=2)
    assert cosine.min() > 0.995  # theirs are rounded to bytes, and their arctangent to 0.3 degrees
    np.testing.assert_allclose(found / np.sqrt(128), theirs, atol=0.03)


@pytest.mark.parametrize(("cell", "block", "orientations"), [(8, 2, 9), (4, 3, 6), (6, 1, 12)])
def test_hog_is_that_of_scikit_image(picture, cell, block, orientations):
    image = picture.astype(float)
    theirs = their_hog(
        image, orientations, (cell, cell), (block, block), block_norm="L2-Hys", feature_vector=False, channel_axis=-1
    )
    ours = Hog(cell=cell, block=block, orientations=orientations, stride=1)
    d = block * block * orientations
    found = described(ours, image)[cell - 1 :: cell, cell - 1 :: cell] / np.sqrt(d)  # blocks that begin with the second cell
    theirs = theirs.reshape(*theirs.shape[:2], d)[1:-1, 1:-1]  # at the edges they have no gradient
    np.testing.assert_allclose(found[: len(theirs), : theirs.shape[1]], theirs, atol=2e-4)


DESCRIPTORS = [
    Sift(stride=3),
    Sift(bins=(2, 3), stride=1, root=False),
    Sift(bins=2, colour=True, flatness=20.0),
    Hog(),
    Hog(cell=3, block=3, orientations=5, stride=4),
]


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=repr)
def test_loops_are_the_formulas(photos, descriptor):
    expected = descriptor(photos[:4].astype(np.float64))
    h, w = descriptor.positions((32, 32))
    assert expected.shape == (4, h, w, descriptor.dimension(3))
    for image, one in zip(photos[:4], expected, strict=True):
        np.testing.assert_allclose(described(descriptor, image), one, atol=2e-3)
        np.testing.assert_array_equal(descriptor.band(image.astype(np.float32), slice(1, 3)), described(descriptor, image)[1:3])


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=repr)
def test_a_window_is_all_that_a_vector_depends_on(photos, descriptor):
    height, width = descriptor.window(1, 1)
    step = descriptor.window(2, 1)[0] - height
    image = photos[1].astype(np.float32)
    h, w = descriptor.positions((32, 32))
    alone = described(descriptor, image[(h - 1) * step :, (w - 1) * step :][:height, :width])
    np.testing.assert_allclose(alone[0, 0], described(descriptor, image)[-1, -1], atol=1e-5)


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=repr)
def test_samples_are_vectors_of_windows(photos, descriptor):
    with Threads(1) as engine:
        few = descriptor.sample(photos[:2], 500, rng=np.random.default_rng(0), engine=engine).take(np.arange(500))
    rng = np.random.default_rng(0)
    (height, width), n = descriptor.window(1, 1), 500
    which, y, x = rng.integers(2, size=n), rng.integers(33 - height, size=n), rng.integers(33 - width, size=n)
    for i in (0, 17, 499):
        window = photos[which[i], y[i] : y[i] + height, x[i] : x[i] + width]
        np.testing.assert_allclose(few[i], described(descriptor, window)[0, 0], atol=1e-5)


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=repr)
@pytest.mark.parametrize("level", [0, 128, 255, 40_000])
def test_what_is_flat_is_nothing(descriptor, level):
    flat = np.full((1, 32, 32, 3), level, np.float64)
    assert not descriptor(flat).any()
    assert not described(descriptor, flat[0]).any()


def test_vectors_have_the_scale_of_patches(photos):
    for descriptor in (Sift(flatness=0), Hog()):
        square = (descriptor(photos[:4].astype(float)) ** 2).mean(axis=3)
        np.testing.assert_allclose(square[square > 0], 1, atol=1e-3)  # what is flat is 0
        assert (square > 0).mean() > 0.9


def test_contrast_leaves_out_faint_windows(photos):
    lengths = np.linalg.norm(Sift(bins=2, flatness=30)(photos[:8].astype(float)), axis=3)
    assert 0 < (lengths == 0).mean() < 1
    assert set(np.round(lengths[lengths > 0], 3)) == {round(np.sqrt(128), 3)}


@pytest.mark.parametrize("descriptor", [Sift(bins=2, stride=2), Hog()], ids=repr)
def test_a_model_learns_and_survives_a_file(photos, tmp_path, descriptor):
    settings = {"n_patches": 3000, "random_state": 0, "dictionary__max_iter": 3}
    model = paper_features(8, 16, descriptor=descriptor).set_params(**settings).fit(photos)
    assert isinstance(prepare(model.layer_), PlainPass)
    X = model.transform(photos[:5])
    np.testing.assert_allclose(X, model.layer_.features(photos[:5]), atol=5e-3)
    assert X.tobytes() == model.set_params(n_jobs=2).transform(photos[:5]).tobytes()
    assert model.layer_.pictures.shape == (8, *descriptor.window(1, 1), 3)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.transform(photos[:5]).tobytes() == X.tobytes()
    np.testing.assert_array_equal(again.layer_.pictures, model.layer_.pictures)
    np.testing.assert_array_equal(again.candidates_.layer.pictures, model.candidates_.layer.pictures)
    assert again.reselect(n_codes=4).layer_.pictures.shape[0] == 4


def test_pictures_are_windows_that_excite_the_code(photos):
    """Of a code that is the vector of one window exactly, among few images: a window of the same vector."""
    settings = {"dictionary": "patches", "whitening": None, "n_patches": 2000, "random_state": 0}
    layer = paper_features(6, descriptor=Hog(stride=1), **settings).fit(photos[:3]).layer_
    for code, picture in zip(layer.codes, layer.pictures, strict=True):
        vector = described(Hog(), picture)[0, 0]  # a stretch of contrast changes a normalised vector hardly at all
        assert vector @ code > 0.9 * np.linalg.norm(vector)


@pytest.mark.parametrize(
    ("descriptor", "remedy"),
    [
        (Sift(bins=20), r"bins of at most 6, or larger images"),
        (Sift(bins=(4, 9)), r"bins of at most 6, or larger images"),
        (Hog(cell=20), r"cell of at most 15"),
        (Hog(block=40), r"a smaller block"),
    ],
)
def test_what_does_not_fit_the_image_is_refused_with_the_remedy(photos, descriptor, remedy):
    with pytest.raises(ValueError, match=remedy):
        paper_features(4, descriptor=descriptor, n_patches=500).fit(photos[:9])


@pytest.mark.parametrize(
    "bad", [Sift(0), Sift((4, 4)), Sift(stride=0), Sift(flatness=-1), Sift(root=1), Hog(cell=0), Hog(orientations=1)]
)
def test_values_without_a_meaning(photos, bad):
    with pytest.raises(ValueError, match="must be"):
        paper_features(4, descriptor=bad, n_patches=500).fit(photos[:9])
