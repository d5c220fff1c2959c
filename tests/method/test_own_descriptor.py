"""A function of the user's own in the place of a descriptor: every later part works on its vectors, and files name it."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise import Own, Patches, load, save
from poolwise.engine.threads import Threads
from poolwise.method.extraction import features_of, prepare
from poolwise.modelfile import ModelFileError

from settings import paper_features


def small_patches(images):
    """What `Patches(5, stride=3)` gives."""
    return Patches(5, stride=3)(np.asarray(images))


QUICK = {"n_patches": 3000, "random_state": 0, "dictionary__max_iter": 3}


def test_a_function_that_does_what_patches_do_gives_what_they_give(photos):
    layer = paper_features(6, descriptor=Patches(5, stride=3)).set_params(**QUICK).fit(photos).layer_
    same = replace(layer, descriptor=Own(small_patches).fitted_to((32, 32, 3)))
    X = features_of(prepare(layer), photos[:5])
    np.testing.assert_allclose(features_of(prepare(same), photos[:5]), X, atol=1e-3)


def test_samples_are_vectors_of_the_images(photos):
    own = Own(small_patches).fitted_to((32, 32, 3))
    assert (own.positions((32, 32)), own.dimension(3)) == ((10, 10), 75)
    with Threads(2) as engine:
        found = own.sample(photos[:3], 300, rng=np.random.default_rng(1), engine=engine).take(np.arange(300))
    rng = np.random.default_rng(1)
    image, place = rng.integers(3, size=300), rng.integers(100, size=300)
    every = small_patches(photos[:3].astype(np.float32)).reshape(3, 100, 75)
    np.testing.assert_array_equal(found, every[image, place])


def test_a_model_learns_and_a_file_names_the_function(photos, tmp_path):
    model = paper_features(6, 12, descriptor=small_patches).set_params(**QUICK).fit(photos)
    X = model.transform(photos[:5])
    np.testing.assert_allclose(X, model.layer_.features(photos[:5]), atol=5e-3)
    assert model.layer_.pictures.shape == (6, 3, 3, 3)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors", descriptor=small_patches)
    assert again.transform(photos[:5]).tobytes() == X.tobytes()
    assert again.candidates_.layer.descriptor == again.layer_.descriptor
    without = load(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match=r"'small_patches'; give it again: load\(path, descriptor=...\)"):
        without.transform(photos[:5])


def test_a_function_for_a_model_that_has_none(photos, tmp_path):
    save(paper_features(4).set_params(**QUICK).fit(photos[:20]), tmp_path / "m.safetensors")
    with pytest.raises(ModelFileError, match="not a function of yours"):
        load(tmp_path / "m.safetensors", descriptor=small_patches)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda images: images.mean(axis=(1, 2)), r"shape \(1, 3\) .* \(1, h, w, d\) are expected"),
        (lambda images: images[:1, :0], "are expected"),
        (lambda images: np.full((len(images), 2, 2, 3), np.nan), "not finite"),
        (lambda images: np.full((len(images), 2, 2, 3), "a"), "are expected"),
    ],
)
def test_what_is_no_local_vectors_is_refused(photos, function, says):
    with pytest.raises(ValueError, match=says):
        paper_features(4, descriptor=function, n_patches=500).fit(photos[:9])


def test_a_class_is_no_function(photos):
    with pytest.raises(ValueError, match="descriptor must be one of 'patches', 'sift', 'hog'"):
        paper_features(4, descriptor=Patches, n_patches=500).fit(photos[:9])


def test_super_patches_cannot_be_cut(photos):
    with pytest.raises(ValueError, match="super-patches cannot be cut"):
        paper_features(4, 8, descriptor=small_patches, n_patches=500, n_super_patches=50).fit(photos[:9])
