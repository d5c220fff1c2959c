"""What learning gives, against `Layer.features` of the layer it learned."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries import KMeans
from poolwise.method.encoders import Encoder, Triangle
from poolwise.method.fitting import learn
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Standardize
from poolwise.support.progress import Stages

from settings import PLAIN as PAPERS

PLAIN = Recipe(n_codes=10, n_patches=3000, dictionary=KMeans(max_iter=5), **PAPERS)
CHOSEN = replace(PLAIN, n_codes=6, n_candidates=24)


def run(recipe, images, *, seed=0, keep_features=True, threads=2, stages=None):
    recipe = recipe.checked().fitted_to(images.shape[1:])
    with Threads(threads) as engine:
        return learn(recipe, images, seed=seed, keep_features=keep_features, engine=engine, stages=stages or Stages())


@pytest.fixture(scope="module")
def images(photos):
    return photos[::4, 4:28, 4:28]


@pytest.mark.parametrize("recipe", [PLAIN, CHOSEN], ids=["plain", "chosen"])
@pytest.mark.parametrize("scale", ["shared", "cell", None])
def test_features_are_those_of_the_layer_learned(images, encoder, recipe, scale):
    learned = run(replace(recipe, encoder=encoder, scale=scale), images)
    assert learned.features.dtype == np.float32
    np.testing.assert_allclose(learned.features, learned.layer.features(images), atol=2e-3)
    if scale != "cell":
        return
    without = run(replace(recipe, encoder=encoder, scale=scale), images, keep_features=False)
    assert without.features is None
    np.testing.assert_array_equal(without.layer.codes, learned.layer.codes)
    np.testing.assert_array_equal(without.layer.scale.mean, learned.layer.scale.mean)


@pytest.mark.parametrize("recipe", [PLAIN, replace(CHOSEN, projection=None)], ids=["plain", "chosen"])
def test_standardised_features_have_mean_0_and_variance_1_in_all_cells_together_or_in_each(images, encoder, recipe):
    recipe = replace(recipe, encoder=encoder)
    shared = run(replace(recipe, scale=Standardize("shared", offset=0.0)), images).features
    shared = shared.reshape(len(images) * 4, -1)
    cell = run(replace(recipe, scale=Standardize("cell", offset=0.0)), images).features
    for X, ddof in ((shared, 0), (cell, 1)):
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-4)
        variance = X.var(axis=0, ddof=ddof)
        np.testing.assert_allclose(variance[variance > 0.5], 1, atol=1e-3)
        assert (variance > 0.5).mean() > 0.8  # the others never respond


@pytest.mark.parametrize("scale", ["shared", "cell", None])
def test_the_covariance_is_that_of_the_standardised_outputs_of_all_candidates(images, encoder, scale):
    candidates = run(replace(CHOSEN, encoder=encoder, scale=scale), images).candidates
    x = candidates.layer.features(images).reshape(-1, candidates.layer.n_outputs)
    assert candidates.layer.projection is None
    assert candidates.statistics.n == len(x)
    C = candidates.statistics.covariance
    np.testing.assert_allclose(C, np.cov(x.T, ddof=0), atol=1e-4 * max(1, np.abs(C).max()))


def test_without_candidates_nothing_is_selected(images):
    learned = run(PLAIN, images)
    assert learned.candidates is None
    assert learned.selection is None
    assert learned.layer.projection is None
    assert learned.layer.codes.shape == (10, 108)


def test_choosing_again_gives_the_layer_that_was_learned(images, engine):
    learned = run(CHOSEN, images)
    layer, selection = learned.candidates.choose(6, "affinity", "nystrom", engine=engine, stages=Stages())
    np.testing.assert_array_equal(selection.selected, learned.selection.selected)
    for a, b in [
        (layer.codes, learned.layer.codes),
        (layer.scale.mean, learned.layer.scale.mean),
        (layer.projection.T, learned.layer.projection.T),
    ]:
        np.testing.assert_array_equal(a, b)


def test_the_scale_of_a_coupled_encoder_is_learned_anew_for_the_codes_kept(images):
    learned = run(replace(CHOSEN, encoder=Triangle(), projection=None), images)
    of_all = learned.candidates.layer.scale.keep(learned.selection.selected)
    assert np.abs(learned.layer.scale.mean - of_all.mean).max() > 1e-3
    everything = run(replace(CHOSEN, encoder=Triangle(), projection="pca"), images)
    np.testing.assert_array_equal(everything.layer.scale.mean, everything.candidates.layer.scale.mean)


def test_super_patches_are_the_samples_where_they_are_asked_for(images):
    learned = run(replace(CHOSEN, n_super_patches=500), images)
    assert learned.candidates.statistics.n == 500
    np.testing.assert_allclose(learned.features, learned.layer.features(images), atol=2e-3)


@pytest.mark.parametrize("recipe", [PLAIN, CHOSEN, replace(CHOSEN, n_super_patches=300)])
def test_the_same_bits_on_any_number_of_threads(images, recipe):
    runs = [run(recipe, images, threads=threads) for threads in (1, 2, 4)]
    assert len({learned.layer.codes.tobytes() for learned in runs}) == 1
    assert len({learned.features.tobytes() for learned in runs}) == 1
    assert run(recipe, images, seed=1).features.tobytes() != runs[0].features.tobytes()


@pytest.mark.parametrize(
    ("recipe", "names"),
    [
        (PLAIN, ["patches", "whitening", "dictionary", "pooling"]),
        (CHOSEN, ["patches", "whitening", "dictionary", "covariance", "selection", "projection", "transform"]),
        (
            replace(CHOSEN, scale="cell", encoder=Triangle()),
            ["patches", "whitening", "dictionary", "pooling", "covariance", "selection", "projection", "transform"],
        ),
    ],
    ids=["plain", "chosen", "chosen, coupled"],
)
def test_stages_are_timed_in_their_order(images, recipe, names):
    stages = Stages()
    run(recipe, images, stages=stages)
    assert list(stages.seconds) == names


@dataclass(frozen=True, repr=False)
class Signed(Encoder):
    """Responses without a rectifier: an encoder that has no fused form."""

    words = ("signed",)
    coupled = False
    signed = True

    def __call__(self, P, D):
        return P @ D.T


@pytest.mark.parametrize(("scale", "n_super_patches"), [("shared", None), ("shared", 300), ("cell", None)])
def test_a_layer_without_a_fused_form_is_learned_by_the_plain_pass(images, scale, n_super_patches):
    recipe = replace(CHOSEN, scale=scale, n_super_patches=n_super_patches).checked()
    learned = run_unchecked(replace(recipe, encoder=Signed()), images)
    np.testing.assert_allclose(learned.features, learned.layer.features(images), atol=2e-3)
    assert learned.layer.codes.shape == (6, 108)


def run_unchecked(recipe, images):
    """`checked` knows the encoders of the registry alone."""
    with Threads(2) as engine:
        return learn(recipe.fitted_to(images.shape[1:]), images, seed=0, keep_features=True, engine=engine, stages=Stages())


def test_activations_too_large_for_the_covariance_are_refused(images):
    huge = replace(CHOSEN, descriptor=Patches(contrast=None), whitening=None, dictionary="patches", scale=None)
    with pytest.raises(ValueError, match="too large for a float32 covariance; rescale the images"):
        run(huge, images.astype(np.float32) * 1e20)
