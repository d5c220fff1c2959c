"""What `PooledFeatures` refuses or warns of, and what it says."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from poolwise import (
    ZCA,
    KMeans,
    LinearSVM,
    Nearest,
    Patches,
    Pool,
    PooledFeatures,
    RandomCodes,
    Standardize,
    Threshold,
    Triangle,
)

from settings import QUICK, paper_features


def test_only_constant_images_cannot_give_codes():
    with pytest.raises(ValueError, match="8 codes were asked for, but there are only 1 different patches"):
        paper_features(**QUICK).fit(np.full((5, 32, 32, 3), 9, np.uint8))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_in_fit_and_transform(photos, model, bad):
    images = photos.astype(np.float64)
    images[3, 2, 1, 0] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        paper_features(**QUICK).fit(images)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.transform(images)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((5, 4, 32, 3)), "images of 4×32 pixels are smaller than the patch of 6×6"),
        (np.zeros((5, 3, 32, 32)), "channels last"),
        (np.zeros((32, 32, 3)), r"a single one is images\[None\]"),
        (np.zeros((0, 32, 32, 3)), "0 sample"),
        (np.zeros((5, 0, 32, 3)), "have no pixels"),
        (np.zeros((5, 32, 32, 0)), "have no pixels"),
        (np.zeros(32), r"expected images of shape .*got shape \(32,\) of float64"),
        (
            np.zeros((2, 3, 32, 32, 3)),
            r"expected images of shape \(n, height, width, channels\).*got shape \(2, 3, 32, 32, 3\)",
        ),
        (np.full((5, 32, 32, 3), 1e300), "too large for float32"),
        (np.full((5, 32, 32, 3), "a"), "not compatible with arrays of bytes/strings"),
        (np.zeros((5, 32, 32, 3), complex), "(?i)complex"),
        (np.full((5, 32, 32, 3), 1e300).astype(">f8"), "too large for float32"),
        (np.full((5, 32, 32, 3), 3e38, np.float32), "too large for float32"),
        (np.zeros((5, 32, 32, 3), "datetime64[s]"), "pixels must be whole or real numbers"),
        (np.zeros((5, 1, 32, 32)), "images of 1×32 pixels are smaller than the patch"),
        (["a.png", "b.png"], "a.png: .*No such file"),
        (None, "expected images of shape"),
        ([np.zeros((32, 32, 3)), np.zeros((16, 16, 3))], "different shapes.*Resize"),
    ],
)
def test_wrong_images_get_an_error_that_says_what_was_given(images, message):
    with pytest.raises(ValueError, match=message):
        paper_features(**QUICK).fit(images)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_codes": 0}, "n_codes must be a whole number of at least 1; got 0"),
        ({"n_codes": 2.5}, "n_codes must be a whole number"),
        ({"n_codes": True}, "n_codes must be a whole number"),
        ({"descriptor": Patches(0)}, "size must be a whole number of at least 1; got 0"),
        ({"descriptor": Patches((3, 3, 3))}, r"size must be a whole number or \(height, width\)"),
        ({"descriptor": Patches(stride=0)}, "stride must be"),
        ({"n_patches": 5}, "n_patches=5 patches cannot give n_codes=8"),
        ({"dictionary": KMeans(max_iter=0)}, "max_iter must be"),
        ({"dictionary": KMeans(tol=-1)}, "tol must be a finite number of at least 0; got -1"),
        ({"encoder": Threshold(alpha=float("nan"), two_sided=False)}, "alpha must be"),
        ({"dictionary": "k-means"}, "dictionary must be one of 'kmeans', 'centroids'"),
        ({"dictionary": KMeans(init="random")}, "init must be one of"),
        ({"descriptor": Patches(contrast="sd")}, "contrast must be one of 'std', 'variance', None"),
        ({"whitening": True}, "whitening must be one of"),
        ({"encoder": "soft"}, "encoder must be one of"),
        (
            {"pooling": "mean"},
            "pooling must be one of 'auto', 'average', 'max', 'sum', 'rms', 'both', 'second_order', 'both_orders', 'max_prod",
        ),
        ({"pooling": Pool("mean", grid=2)}, "how must be one of 'auto', 'average', 'max'"),
        ({"scale": "code"}, "scale must be one of"),
        ({"pooling": Pool("average", grid=30)}, "a grid of 30 cells does not fit on a row or column of 27 patch positions"),
        ({"pooling": Pool("average", grid=[2, 2])}, "pyramid"),
        ({"encoder": Threshold(0.25, two_sided="no")}, "two_sided must be True or False; got 'no'"),
        ({"encoder": Threshold(alpha=10**400, two_sided=False)}, "alpha must be"),
        ({"descriptor": Patches(stride=10**30)}, "stride must be at most"),
        ({"pooling": Pool("average", grid={2: 2})}, "grid must be"),
        ({"pooling": Pool("average", grid=[])}, "grid must be at least one grid"),
        ({"pooling": Pool("average", grid=True)}, "grid must be"),
        ({"pooling": Pool("average", grid=(0, 2))}, "grid must be"),
        (
            {"encoder": Pool()},
            r"encoder must be one of 'auto', 'threshold', 'triangle', .*, or an object: Threshold\(\.\.\.\), .*; got Pool\(\)",
        ),
        ({"encoder": Threshold}, "encoder must be one of"),
        ({"encoder": None}, "encoder must be one of"),
        ({"encoder": {"alpha": 0.1}}, "encoder must be one of"),
        ({"descriptor": None}, "descriptor must be one of 'patches', 'sift', 'hog', or an object: Patches"),
        ({"descriptor": 6}, "descriptor must be one of"),
        ({"descriptor": Patches(offset=np.inf)}, "offset must be a finite number"),
        ({"descriptor": Patches(size="6")}, "size must be"),
        ({"dictionary": None}, "dictionary must be one of"),
        ({"dictionary": KMeans("patches")}, "method must be one of"),
        ({"dictionary": RandomCodes("kmeans")}, "kind must be one of 'patches', 'gaussian'"),
        ({"whitening": ZCA("zca")}, "form must be one of 'std', 'variance'"),
        ({"whitening": ZCA(offset=-0.1)}, "offset must be a finite number of at least 0; got -0.1"),
        ({"whitening": Standardize()}, "whitening must be one of 'std', 'variance', None, or an object: ZCA"),
        ({"scale": Standardize("code")}, "form must be one of 'shared', 'cell'"),
        ({"scale": Standardize(offset=None)}, "offset must be a finite number"),
        ({"random_state": np.random.default_rng(0)}, "random_state must be an int in 0"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": "2"}, "n_jobs='2'"),
        ({"image_shape": (16, 16, 3)}, "do not agree with image_shape"),
        ({"image_shape": "32x32"}, "image_shape must be"),
    ],
)
def test_wrong_parameters_get_an_error_that_names_them(photos, settings, message):
    with pytest.raises(ValueError, match=message):
        paper_features(**{**QUICK, **settings}).fit(photos)


@pytest.mark.parametrize("make", [Triangle, Nearest])
def test_a_part_has_only_the_parameters_that_mean_something_to_it(make):
    with pytest.raises(TypeError, match="two_sided"):
        make(two_sided=True)


def test_rows_must_fit_image_shape(photos):
    with pytest.raises(ValueError, match="rows of 3072 numbers are not flattened images"):
        paper_features(**QUICK, image_shape=(32, 32)).fit(photos.reshape(len(photos), -1))


def test_other_images_than_those_of_fit_are_refused(photos, model):
    with pytest.raises(
        ValueError,
        match="32×32 pixels with 1 channel were given, but this model was fitted on images of 32×32 pixels with 3 channels",
    ):
        model.transform(photos[..., :1])
    with pytest.raises(ValueError, match="features"):
        model.transform(photos[:, :16].reshape(len(photos), -1))


def test_a_single_image_gets_a_hint(photos, model):
    with pytest.raises(ValueError, match=r"a single image is images\[None\]"):
        model.transform(photos[0])
    grey = paper_features(**QUICK).fit(photos[..., 0])
    with pytest.raises(ValueError, match=r"a single image is images\[None\]"):
        grey.transform(photos[0, ..., 0])


def test_unfitted_models_say_so(photos):
    for call in (lambda m: m.transform(photos), lambda m: m.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(PooledFeatures())


@pytest.mark.parametrize("scale", [lambda x: x / 255, lambda x: x / 127.5 - 1, lambda x: x > 128])
def test_pixels_on_another_scale_get_a_warning(photos, scale):
    with pytest.warns(UserWarning, match="flattens nearly all contrast") as caught:
        paper_features(**QUICK).fit(scale(photos))
    assert caught[0].filename == __file__


def test_pixels_on_another_scale_than_in_fit_get_a_warning(photos, model):
    for other in (photos / 255, photos.astype(np.uint16) * 257):
        with pytest.warns(UserWarning, match="scaled differently") as caught:
            model.transform(other)
        assert caught[0].filename == __file__


def test_rows_that_look_like_images_get_a_warning(photos):
    with pytest.warns(UserWarning, match=r"image_shape=\(32, 32, 3\)") as caught:
        paper_features(**QUICK).fit(photos.reshape(len(photos), -1))
    assert caught[0].filename == __file__


def test_warnings_of_learning_point_at_the_users_line(photos, model):
    with pytest.warns(UserWarning, match="candidates respond") as caught:
        paper_features(**QUICK, n_candidates=10, encoder=Threshold(alpha=50.0, two_sided=False)).fit_transform(photos)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="stopped after 1 rounds") as caught:
        LinearSVM(max_iter=1).fit(model.transform(photos), np.arange(len(photos)) // 10)
    assert caught[0].filename == __file__


def test_scales_that_fit_get_no_warning(photos):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paper_features(**QUICK).fit(photos.astype(float))
        paper_features(**QUICK, descriptor=Patches(offset=10 / 255)).fit(photos / 255)
