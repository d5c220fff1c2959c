"""Every parameter of learning is described once; the estimator, the checks and the options follow from that."""

import inspect
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from poolwise import PooledFeatures
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries import KMeans, RandomCodes
from poolwise.method.encoders import Nearest, Threshold, Triangle
from poolwise.method.pooling import Pool
from poolwise.method.presets import PRESETS
from poolwise.method.recipe import FAMILIES, PARAMETERS, Recipe
from poolwise.method.scale import Standardize
from poolwise.method.whitening import ZCA
from poolwise.support.parameters import Family, Flag, ParameterError

OF_THE_ESTIMATOR = {"image_shape": None, "random_state": None, "n_jobs": None, "verbose": 0}


def test_the_estimator_has_the_parameters_of_the_recipe_with_the_same_defaults():
    signature = inspect.signature(PooledFeatures).parameters
    expected = {name: one.default for name, one in PARAMETERS.items()} | OF_THE_ESTIMATOR
    assert {name: one.default for name, one in signature.items()} == expected
    assert list(signature) == list(expected)
    positional = [name for name, one in signature.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == ["n_codes", "n_candidates"]


def test_the_estimator_documents_every_parameter_and_its_default():
    documented = inspect.getdoc(PooledFeatures).partition("Attributes\n")[0]
    for name, one in PARAMETERS.items():
        (line,) = [line for line in documented.splitlines() if line.startswith(f"{name} : ")]
        if isinstance(one.default, str):
            assert line.endswith(f'default="{one.default}"')
        else:
            assert line.replace("_", "").endswith(f"default={one.default}")


def test_the_recipe_of_an_estimator_is_that_of_its_parameters():
    assert PooledFeatures().recipe == Recipe().checked()
    model = PooledFeatures(7, 20, encoder="triangle", pooling=Pool("max", grid=4), scale=None, n_patches=50)
    expected = Recipe(7, 20, encoder=Triangle(), pooling=Pool("max", grid=4), scale=None, n_patches=50).checked()
    assert model.recipe == expected


def test_words_become_parts_and_parts_stay():
    recipe = Recipe().checked()
    assert recipe.descriptor == Patches(size=6, stride=1, contrast="std", offset=10.0)
    assert recipe.whitening == ZCA("std", offset=0.1)
    assert recipe.dictionary == KMeans("kmeans", init="patches", max_iter=100, tol=1e-4)
    assert recipe.encoder == Threshold(alpha=(0.25, 1.0), two_sided=True)
    assert recipe.pooling == Pool("auto", grid="auto")
    assert recipe.scale == Standardize("shared", offset=0.01)
    assert (recipe.n_candidates, recipe.selection, recipe.projection) == ("auto", "auto", "nystrom")
    assert recipe.checked() == recipe
    other = Recipe(whitening=None, dictionary="gaussian", encoder=Nearest(), pooling="rms", scale="cell").checked()
    assert (other.whitening, other.dictionary) == (None, RandomCodes("gaussian"))
    assert (other.encoder, other.pooling, other.scale) == (Nearest(), Pool("rms"), Standardize("cell"))


def test_numbers_become_plain_ones():
    recipe = Recipe(np.int64(7), np.int32(20), n_patches=np.uint16(50), n_super_patches=np.int8(9)).checked()
    values = recipe.n_codes, recipe.n_candidates, recipe.n_patches, recipe.n_super_patches
    assert values == (7, 20, 50, 9)
    assert {type(value) for value in values} == {int}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_recipes(name):
    recipe = Recipe(**PRESETS[name]).checked()
    for place, part in PRESETS[name].items():
        assert getattr(recipe, place) == part
    assert PooledFeatures.preset(name).recipe == recipe


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"n_codes": 0}, "n_codes must be a whole number of at least 1; got 0"),
        ({"n_codes": 2.0}, "n_codes must be a whole number of at least 1; got 2.0"),
        ({"n_codes": None}, "n_codes must be a whole number of at least 1; got None"),
        ({"n_candidates": True}, "n_candidates must be a whole number of at least 1, or 'auto'; got True"),
        ({"n_patches": 2**31}, "n_patches must be at most 2147483647; got 2147483648"),
        ({"n_super_patches": 1}, "n_super_patches must be a whole number of at least 2; got 1"),
        ({"descriptor": "surf"}, "descriptor must be one of 'patches', 'sift', 'hog', or an object: Patches(...), Sift(...), "),
        ({"descriptor": None}, "descriptor must be one of 'patches', 'sift', 'hog', or an object: Patches(...), Sift(...), "),
        ({"descriptor": Threshold()}, "descriptor must be one of 'patches', 'sift', 'hog', or an object: Patches(...), "),
        ({"descriptor": Patches(0)}, "size must be a whole number of at least 1; got 0"),
        ({"descriptor": Patches(stride=0)}, "stride must be a whole number of at least 1; got 0"),
        ({"descriptor": Patches(offset=-1)}, "offset must be a finite number of at least 0; got -1"),
        ({"whitening": "pca"}, "whitening must be one of 'std', 'variance', None, or an object: ZCA(...); got 'pca'"),
        ({"whitening": ZCA(offset=np.nan)}, "offset must be a finite number of at least 0; got nan"),
        ({"dictionary": KMeans(max_iter=0)}, "max_iter must be a whole number of at least 1; got 0"),
        ({"dictionary": KMeans(tol=np.inf)}, "tol must be a finite number of at least 0; got inf"),
        (
            {"encoder": "vq"},
            "encoder must be one of 'auto', 'threshold', 'triangle', 'nearest', 'llc', 'omp', 'lasso', 'linear', or an obj",
        ),
        ({"encoder": Threshold(alpha="0.1", two_sided=False)}, "alpha must be a finite number of at least 0; got '0.1'"),
        ({"encoder": Threshold(0.25, two_sided=1)}, "two_sided must be True or False; got 1"),
        ({"pooling": Pool(grid=0)}, "grid must be a whole number, (rows, columns), or a list of these, or 'auto'; got 0"),
        ({"scale": "std"}, "scale must be one of 'shared', 'cell', None, or an object: Standardize(...); got 'std'"),
        (
            {"selection": None},
            "selection must be one of 'auto', 'affinity', 'kmedoids', 'greedy', 'cholesky', 'random', 'authors', "
            "'supervised'; got None",
        ),
        ({"projection": "Nystrom"}, "projection must be one of 'nystrom', 'pca', None; got 'Nystrom'"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(wrong, text):
    with pytest.raises(ParameterError) as caught:
        Recipe(**wrong).checked()
    assert str(caught.value).startswith(text)


def test_fewer_candidates_than_codes_are_refused():
    text = "n_codes=5 codes cannot be selected from n_candidates=3; give at most as many codes as candidates"
    with pytest.raises(ParameterError, match=text):
        Recipe(5, 3).checked()
    with pytest.raises(ParameterError, match=text):
        Recipe(5, 3).check_choice()
    assert Recipe(5, 5).checked().n_candidates == 5


def test_fewer_patches_than_codes_are_refused():
    with pytest.raises(ParameterError, match="n_patches=4 patches cannot give n_codes=5 different codes"):
        Recipe(5, n_patches=4).checked()
    with pytest.raises(ParameterError, match="n_patches=5 patches cannot give n_candidates=6 different codes"):
        Recipe(5, 6, n_patches=5).checked()
    assert Recipe(5, n_patches=5).checked().n_patches == 5


@pytest.mark.parametrize("scale", ["cell", Standardize("cell", offset=0.0)])
def test_a_super_patch_belongs_to_no_cell(scale):
    with pytest.raises(ParameterError, match=r"scale='cell' standardises each cell .* give n_super_patches=None, or one scale"):
        Recipe(5, 9, scale=scale, n_super_patches=100).checked()
    for allowed in (
        Recipe(5, None, scale=scale, n_super_patches=100),  # nothing is selected: there are no samples
        Recipe(5, 9, scale="shared", n_super_patches=100),
        Recipe(5, 9, scale=None, n_super_patches=100),
        Recipe(5, 9, scale=scale),
    ):
        allowed.checked()


def test_a_refusal_can_be_spelled_as_options():
    with pytest.raises(ParameterError) as caught:
        Recipe(5, 3).checked()
    spelled = caught.value.spelled(lambda name, value: f"{PARAMETERS[name].option} {value}")
    assert spelled == "--codes 5 codes cannot be selected from --candidates 3; give at most as many codes as candidates"


def test_fitted_to_images_size_and_grid_are_plain():
    recipe = Recipe(descriptor=Patches(5, stride=2), pooling=Pool("max", grid=[1, 3])).checked()
    fitted = recipe.fitted_to((20, 31, 3))
    assert fitted.descriptor == Patches((5, 5), stride=2)
    assert fitted.pooling == Pool("max", grid=[(1, 1), (3, 3)])
    assert replace(fitted, descriptor=recipe.descriptor, pooling=recipe.pooling) == recipe  # nothing else changes
    assert fitted.fitted_to((20, 31, 3)) == fitted


def test_what_does_not_fit_the_images_is_refused():
    with pytest.raises(ParameterError, match="images of 5×40 pixels are smaller than the patch of 6×6"):
        Recipe().checked().fitted_to((5, 40, 3))
    with pytest.raises(ParameterError, match="a grid of 2 cells does not fit on a row or column of 1 patch position:"):
        Recipe(pooling=Pool("average", grid=2)).checked().fitted_to((6, 40, 3))
    with pytest.raises(ParameterError, match="a patch of a single number has no contrast"):
        Recipe(descriptor=Patches(1)).checked().fitted_to((9, 9, 1))


def test_rows_of_numbers_clip_patch_and_grid():
    recipe = Recipe(pooling=Pool("average", grid=[1, 2, (3, 5)])).checked()
    fitted = recipe.fitted_to((1, 8, 1), clip=True)
    assert fitted.descriptor.patch_size == (1, 6)
    assert fitted.pooling.grids == ((1, 1), (1, 2), (1, 3))  # three positions
    narrow = recipe.fitted_to((1, 4, 1), clip=True)
    assert narrow.descriptor.patch_size == (1, 4)
    assert narrow.pooling.grids == ((1, 1),)


def test_every_option_means_one_thing():
    words = {one.option for name, one in PARAMETERS.items() if name in FAMILIES}
    assert len(words) == len(FAMILIES)
    options = [one.option for one in PARAMETERS.values()]
    for family in FAMILIES.values():
        options += [one.option for one in family.described()]
    flags = [one.kind.off for family in FAMILIES.values() for one in family.described() if isinstance(one.kind, Flag)]
    assert len(options + flags) == len(set(options + flags))
    assert all(option.startswith("--") for option in options + flags)


def test_the_field_that_holds_a_parts_word_has_the_option_of_its_place():
    for name, family in FAMILIES.items():
        for part in family.parts:
            if part.word_field is not None:
                assert part.described()[part.word_field].option == PARAMETERS[name].option


def test_every_parameter_has_a_line_of_help():
    described = [*PARAMETERS.values(), *(one for family in FAMILIES.values() for one in family.described())]
    for one in described:
        assert one.help.endswith(".")
        assert "\n" not in one.help
        assert len(one.help) < 90


def test_defaults_are_allowed():
    for one in PARAMETERS.values():
        one.kind.check(one.key, one.default)
    for family in FAMILIES.values():
        assert isinstance(family, Family)
        for word, part in family.by_word.items():
            assert family.check(family.name, word) == part.of_word(word).checked()
            assert part.of_word(word).word == word


def test_describing_parameters_needs_neither_numpy_nor_scikit_learn():
    code = "import sys, poolwise.method.recipe; print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
