"""A setting in Python and as options."""

import shlex

import pytest

from poolwise.cli.commands.fit import command as fit
from poolwise.cli.parameters import given, set_given
from poolwise.estimators import PooledFeatures
from poolwise.tuning.settings import FIRST_OFFSET, Setting, fits

SETTINGS = [
    Setting(20),
    Setting(20, (1, 2, 4), "max", (0.25, 1.0), True, 4, 0.03, "dihedral", "supervised"),
    Setting(10, (1,), "root", (0.1,), scale_offset=1e-5, symmetry="mirror"),
    Setting(10, (2,), "power", two_sided=True, scale_offset=1e-3, directions=30),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.words)
@pytest.mark.parametrize("words", ["options", "short_options"])
def test_options_of_fit_give_the_same_recipe(setting, words):
    with fit.make_context("fit", ["images", "-o", "x.safetensors", *shlex.split(getattr(setting, words))]) as context:
        features = PooledFeatures()
        set_given(features, given(context, context.params))
    assert features.recipe == setting.features().recipe


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.words)
def test_words_spell_the_setting(setting):
    assert Setting.of_words(setting.words) == setting
    assert Setting.of_words(Setting(5, scale_offset=0.5).words).scale_offset == FIRST_OFFSET, "words leave it out"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.words)
def test_features_are_counted_as_a_layer_counts_them(setting):
    from poolwise.tuning.cost import blank_layer

    assert blank_layer(setting, (16, 16, 3)).n_features == setting.n_features


def test_short_options_leave_out_the_defaults():
    papers = "--candidates none --pool average --grid 2 --alpha 0.25 --one-sided --symmetry mirror"
    assert Setting(200, symmetry="mirror").short_options == papers
    usual = Setting(200, alpha=(0.25, 1.0), two_sided=True, selection="supervised")
    assert usual.short_options == "--candidates 800 --selection supervised --pool average --grid 2 --symmetry none"


@pytest.mark.parametrize(
    ("setting", "shape", "expected"),
    [
        (Setting(8, patch_size=6), (6, 6, 3), False),  # one position, four cells
        (Setting(8, grid=(1,), patch_size=6), (6, 6, 3), True),
        (Setting(8, grid=(1,), patch_size=7), (6, 9, 3), False),
        (Setting(8, symmetry="dihedral"), (16, 18, 3), False),
        (Setting(8, symmetry="mirror"), (16, 18, 3), True),
        (Setting(8, grid=(1, 2, 4), patch_size=6), (8, 8, 1), False),
    ],
)
def test_what_does_not_fit_the_images_is_known_before(setting, shape, expected):
    assert fits(setting, shape) is expected
    if expected:
        setting.recipe().fitted_to(shape)
    else:
        with pytest.raises(ValueError):
            setting.recipe().fitted_to(shape)
