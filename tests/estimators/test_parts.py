"""Parts as parameters: a word or an object, `encoder__alpha`, and what scikit-learn does with them."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import poolwise
from poolwise import (
    ZCA,
    BothOrders,
    KMeans,
    LinearSVM,
    Nearest,
    Patches,
    Pool,
    PooledFeatures,
    RandomCodes,
    SecondOrder,
    Standardize,
    Threshold,
    Triangle,
)
from poolwise.method.descriptors import Hog, Sift
from poolwise.method.dictionaries import Axes, ConvolutionalKMeans, OnlineDictionary
from poolwise.method.encoders import LLC, OMP, Lasso, Linear
from poolwise.method.pooling import MaxProducts
from poolwise.method.recipe import FAMILIES

from settings import QUICK, paper_features

OBJECTS = {
    ("descriptor", "patches"): Patches(size=6, stride=1, contrast="std", offset=10.0),
    ("descriptor", "sift"): Sift(bins=4, stride=2, flatness=1.0, root=True, colour=False),
    ("descriptor", "hog"): Hog(cell=4, block=2, orientations=9, stride=2),
    ("whitening", "std"): ZCA("std", offset=0.1, rank=None),
    ("whitening", "variance"): ZCA("variance", offset=0.1),
    ("dictionary", "kmeans"): KMeans("kmeans", init="patches", max_iter=100, tol=1e-4),
    ("dictionary", "centroids"): KMeans("centroids"),
    ("dictionary", "spherical"): KMeans("spherical"),
    ("dictionary", "omp1"): KMeans("omp1"),
    ("dictionary", "patches"): RandomCodes("patches"),
    ("dictionary", "gaussian"): RandomCodes("gaussian"),
    ("dictionary", "online"): OnlineDictionary(sparsity=1.0, batch=256, max_iter=300),
    ("dictionary", "convolutional"): ConvolutionalKMeans(shifts=3, max_iter=50, tol=1e-4),
    ("dictionary", "axes"): Axes(),
    ("encoder", "auto"): Threshold(alpha="auto", two_sided="auto"),
    ("encoder", "threshold"): Threshold(alpha=0.25, two_sided=False),
    ("encoder", "triangle"): Triangle(),
    ("encoder", "nearest"): Nearest(),
    ("encoder", "llc"): LLC(),
    ("encoder", "omp"): OMP(nonzeros=4, two_sided=True),
    ("encoder", "lasso"): Lasso(penalty=1.0, positive=False, two_sided=True),
    ("encoder", "linear"): Linear(two_sided=False),
    ("pooling", "auto"): Pool("auto", grid="auto"),
    ("pooling", "average"): Pool("average", grid=2),
    ("pooling", "max"): Pool("max", grid=2),
    ("pooling", "sum"): Pool("sum", grid=2),
    ("pooling", "rms"): Pool("rms", grid=2),
    ("pooling", "both"): Pool("both", grid=2),
    ("pooling", "second_order"): SecondOrder(grid=2, normalize="root", offset=0.1),
    ("pooling", "both_orders"): BothOrders(grid=2, pairs=64, first="average", normalize="root", offset=0.1),
    ("pooling", "max_products"): MaxProducts(grid=2),
    ("scale", "shared"): Standardize("shared", offset=0.01),
    ("scale", "cell"): Standardize("cell", offset=0.01),
}
NESTED = {
    "descriptor__size": 6,
    "descriptor__stride": 1,
    "descriptor__contrast": "std",
    "descriptor__offset": 10.0,
    "whitening__form": "std",
    "whitening__offset": 0.1,
    "whitening__rank": None,
    "dictionary__method": "kmeans",
    "dictionary__init": "patches",
    "dictionary__max_iter": 100,
    "dictionary__tol": 1e-4,
    "encoder__alpha": "auto",
    "encoder__two_sided": "auto",
    "pooling__how": "auto",
    "pooling__grid": "auto",
    "pooling__root": False,
    "scale__form": "shared",
    "scale__offset": 0.01,
}
CHANGED = [
    Patches((5, 8), stride=2, contrast=None, offset=0.5),
    ZCA("variance", offset=0.2),
    KMeans("omp1", init="noise", max_iter=5, tol=0.0),
    RandomCodes("gaussian"),
    ZCA(rank=20),
    ZCA(rank="auto"),
    Threshold(alpha=0.1, two_sided=False),
    Threshold(alpha=(0.1, 1.0)),
    Triangle(),
    Nearest(),
    Pool("max", grid=[1, (2, 3)]),
    SecondOrder([1, 2], normalize=None, offset=0.0),
    Standardize("cell", offset=0.0),
]


def test_the_table_above_has_every_word():
    assert {(place, word) for place, family in FAMILIES.items() for word in family.by_word} == OBJECTS.keys()


@pytest.mark.parametrize(("place", "word"), OBJECTS)
def test_a_word_and_its_object_give_the_same_model(photos, place, word):
    by_word, by_object = (
        PooledFeatures(**{**QUICK, "n_candidates": 20, "selection": "greedy", place: part})
        for part in (word, OBJECTS[place, word])
    )
    photos = photos[::4]
    assert by_word.recipe == by_object.recipe
    assert by_word.fit_transform(photos).tobytes() == by_object.fit_transform(photos).tobytes()
    assert by_word.codes_.tobytes() == by_object.codes_.tobytes()
    assert by_word.covariance_.tobytes() == by_object.covariance_.tobytes()
    assert by_word.get_params(deep=False)[place] == word  # fit does not write into parameters
    assert by_object.get_params(deep=False)[place] is OBJECTS[place, word]


def test_another_value_of_a_part_gives_another_model(photos):
    photos = photos[::4]
    model = paper_features(**QUICK).fit(photos)
    for place, part in {
        "descriptor": Patches(5),
        "whitening": ZCA(offset=0.5),
        "dictionary": KMeans(init="noise", max_iter=5),
        "encoder": Threshold(alpha=0.1, two_sided=False),
        "pooling": Pool("average", grid=1),
        "scale": Standardize(offset=1.0),
        "symmetry": "mirror",
    }.items():
        other = paper_features(**{**QUICK, place: part}).fit(photos)
        assert other.transform(photos).tobytes() != model.transform(photos).tobytes()


def test_deep_parameters_are_there_for_words_and_for_objects():
    by_words = PooledFeatures().get_params(deep=True)
    assert {name: value for name, value in by_words.items() if "__" in name} == NESTED
    assert by_words["encoder"] == "auto"
    deep = PooledFeatures(encoder=Threshold(alpha=0.1), pooling="max", whitening="variance").get_params()
    changes = {"encoder__alpha": 0.1, "encoder__two_sided": False, "pooling__how": "max", "pooling__grid": 2}
    changes |= {"whitening__form": "variance"}
    assert {name: value for name, value in deep.items() if "__" in name} == {**NESTED, **changes}


def test_shallow_parameters_are_those_of_the_constructor():
    names = set(inspect.signature(PooledFeatures).parameters)
    assert PooledFeatures().get_params(deep=False).keys() == names
    assert len(names) == 20


def test_what_takes_no_place_has_no_parameters():
    deep = PooledFeatures(whitening=None, scale=None, encoder="triangle", dictionary="gaussian").get_params()
    nested = {name for name in deep if "__" in name}
    places = ("whitening__", "scale__", "encoder__", "dictionary__")
    assert nested == {name for name in NESTED if not name.startswith(places)} | {"dictionary__kind"}


@pytest.mark.parametrize("wrong", ["soft", 5, None, Threshold, {"alpha": 1}], ids=str)
def test_what_is_not_a_part_waits_for_fit_to_be_refused(photos, wrong):
    model = PooledFeatures(encoder=wrong)
    assert not any(name.startswith("encoder__") for name in model.get_params())
    assert clone(model).get_params(deep=False)["encoder"] == wrong
    assert "encoder=" in repr(model)
    with pytest.raises(ValueError, match="encoder must be one of"):
        model.fit(photos)
    assert model.set_params(encoder="threshold", encoder__alpha=0.5).encoder == Threshold(0.5)


def test_every_deep_parameter_can_be_set_to_what_it_is():
    model = PooledFeatures(8, encoder=Threshold(alpha=0.1), pooling="max")
    before = model.get_params()
    assert model.set_params(**before).get_params() == {**before, "descriptor": Patches(), "pooling": Pool("max")} | {
        name: model.get_params()[name] for name in ("whitening", "dictionary", "scale")
    }
    assert model.recipe == PooledFeatures(8, encoder=Threshold(alpha=0.1), pooling="max").recipe


@pytest.mark.parametrize(
    ("place", "changes", "expected"),
    [
        ("encoder", {"encoder__alpha": 0.1}, Threshold(alpha=0.1, two_sided="auto")),
        ("encoder", {"encoder__alpha": 0.1, "encoder__two_sided": False}, Threshold(alpha=0.1, two_sided=False)),
        ("encoder", {"encoder": "threshold", "encoder__alpha": 0.1}, Threshold(alpha=0.1)),
        ("encoder", {"encoder__alpha": 0.1, "encoder": Threshold(two_sided=False)}, Threshold(alpha=0.1, two_sided=False)),
        ("pooling", {"pooling": "max", "pooling__grid": [1, 2]}, Pool("max", grid=[1, 2])),
        ("pooling", {"pooling__how": "max"}, Pool("max", grid="auto")),
        ("dictionary", {"dictionary__method": "omp1", "dictionary__max_iter": 5}, KMeans("omp1", max_iter=5)),
        ("dictionary", {"dictionary": "patches", "dictionary__kind": "gaussian"}, RandomCodes("gaussian")),
        ("whitening", {"whitening__offset": 0.5}, ZCA(offset=0.5)),
        ("whitening", {"whitening__rank": "auto"}, ZCA(rank="auto")),
        ("encoder", {"encoder__alpha": (0.1, 1.0)}, Threshold(alpha=(0.1, 1.0), two_sided="auto")),
        ("pooling", {"pooling": "second_order", "pooling__normalize": "log"}, SecondOrder(normalize="log")),
        ("scale", {"scale__form": "cell", "scale__offset": 0.0}, Standardize("cell", offset=0.0)),
        ("descriptor", {"descriptor__size": (4, 5), "descriptor__contrast": None}, Patches((4, 5), contrast=None)),
    ],
    ids=str,
)
def test_set_params_puts_another_part_in_the_place(place, changes, expected):
    model = PooledFeatures()
    assert model.set_params(**changes) is model
    assert getattr(model, place) == expected
    others = {name: value for name, value in model.get_params(deep=False).items() if name != place}
    assert others == {name: value for name, value in PooledFeatures().get_params(deep=False).items() if name != place}


def test_set_params_leaves_the_old_object_and_its_other_owners_alone():
    part = Threshold(alpha=0.5)
    one, two = PooledFeatures(encoder=part), PooledFeatures(encoder=part)
    one.set_params(encoder__alpha=0.1)
    assert one.encoder == Threshold(alpha=0.1)
    assert part == Threshold(alpha=0.5)
    assert two.encoder is part


@pytest.mark.parametrize("part", CHANGED, ids=repr)
def test_parts_cannot_change_and_compare_by_value(part):
    for name in [field.name for field in dataclasses.fields(part)] or ["anything"]:
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(part, name, 1)
    assert part == part.but()
    assert part != type(part).__name__
    assert pickle.loads(pickle.dumps(part)) == part  # noqa: S301  (joblib workers do this)
    assert clone(part) is part
    assert part.get_params() == {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}


@pytest.mark.parametrize("part", CHANGED, ids=repr)
def test_what_a_part_prints_makes_it_again(part):
    assert eval(repr(part), vars(poolwise) | {name: getattr(poolwise, name) for name in poolwise.__all__}) == part  # noqa: S307


def test_the_model_prints_what_was_changed():
    assert repr(PooledFeatures()) == "PooledFeatures()"
    assert repr(PooledFeatures(encoder=Threshold(alpha=0.1))) == "PooledFeatures(encoder=Threshold(alpha=0.1))"
    assert (
        repr(PooledFeatures(50, pooling=Pool("max", grid=4))) == "PooledFeatures(n_codes=50, pooling=Pool(how='max', grid=4))"
    )
    assert repr(PooledFeatures().set_params(encoder__two_sided=False)) == "PooledFeatures(encoder=Threshold(alpha='auto'))"
    assert repr(PooledFeatures(encoder="triangle", whitening=None)) == "PooledFeatures(encoder='triangle', whitening=None)"
    with sklearn.config_context(print_changed_only=False):
        assert "encoder=Threshold(alpha=0.1)" in repr(PooledFeatures(encoder=Threshold(alpha=0.1)))
    assert "Threshold(alpha=0.1)" in PooledFeatures(encoder=Threshold(alpha=0.1))._repr_html_()


@pytest.mark.parametrize(
    ("given", "changes", "message"),
    [
        ({}, {"encoder__alfa": 1}, r"'encoder__alfa' for encoder='auto', .*are: encoder__alpha, encoder__two_sided\.$"),
        ({"encoder": Threshold(0.1)}, {"encoder__grid": 1}, r"for encoder=Threshold\(alpha=0.1\), .*encoder__alpha"),
        ({"encoder": "triangle"}, {"encoder__alpha": 1}, "for encoder='triangle', whose parameters are: none"),
        ({}, {"encoder": "nearest", "encoder__two_sided": True}, "for encoder='nearest', whose parameters are: none"),
        ({"whitening": None}, {"whitening__offset": 1}, "for whitening=None, whose parameters are: none"),
        ({"dictionary": "gaussian"}, {"dictionary__max_iter": 5}, "whose parameters are: dictionary__kind"),
        ({}, {"pooling__how__x": 5}, "'pooling__how__x' for pooling='auto', .*: pooling__how, pooling__grid"),
        ({}, {"pooling__": 5}, "'pooling__' for pooling='auto', .*: pooling__how, pooling__grid"),
        ({}, {"descriptor__patch_size": 5}, "descriptor__size, descriptor__stride, descriptor__contrast, descriptor__offset"),
        ({}, {"dictionary__kind": "gaussian"}, "dictionary__method, dictionary__init, dictionary__max_iter, dictionary__tol"),
        ({}, {"scale__epsilon": 5}, "scale__form, scale__offset"),
        ({}, {"pooling__normalize": "root"}, "'pooling__normalize' for pooling='auto', .*: pooling__how, pooling__grid"),
        ({"pooling": "second_order"}, {"pooling__how": "max"}, "pooling__grid, pooling__normalize, pooling__offset"),
        ({}, {"alpha": 1}, "Invalid parameter 'alpha' for estimator PooledFeatures"),
        ({}, {"decoder__alpha": 1}, "Invalid parameter 'decoder' for estimator PooledFeatures"),
    ],
    ids=str,
)
def test_wrong_names_are_refused_with_the_names_that_exist(given, changes, message):
    model = PooledFeatures(**given)
    with pytest.raises(ValueError, match=message):
        model.set_params(**changes)
    with pytest.raises(ValueError, match=message):
        make_pipeline(PooledFeatures(**given)).set_params(**{f"pooledfeatures__{name}": v for name, v in changes.items()})
    if "encoder" not in changes:
        assert model.get_params() == PooledFeatures(**given).get_params()


@pytest.mark.parametrize("name", ["encoder__alpha", "alpha", "patch_size", "transform", "grid"])
def test_the_constructor_takes_no_nested_or_former_names(name):
    with pytest.raises(TypeError, match=name):
        PooledFeatures(**{name: 1})


def test_a_wrong_value_is_refused_by_fit_with_its_name(photos):
    model = PooledFeatures(**QUICK).set_params(encoder__alpha=-1)
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 0; got -1"):
        model.fit(photos)


def test_clones_have_the_parts_and_go_their_own_way(photos):
    model = paper_features(**QUICK, encoder=Threshold(alpha=0.1), pooling=Pool("max", grid=[1, 2])).fit(photos)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "layer_")
    assert twin.fit(photos).transform(photos).tobytes() == model.transform(photos).tobytes()
    twin.set_params(encoder__alpha=0.9, pooling__grid=1)
    assert (model.encoder, model.pooling) == (Threshold(alpha=0.1), Pool("max", grid=[1, 2]))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_grid_search_reaches_into_parts(photos, n_jobs):
    photos = photos[::2]
    labels = np.arange(len(photos)) // 5
    pipeline = make_pipeline(paper_features(**QUICK), LinearSVM())
    grid = {"pooledfeatures__encoder__alpha": [0.1, 20.0], "pooledfeatures__pooling__grid": [1, 2, [1, (1, 2)]]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=n_jobs).fit(photos, labels)
    scores = dict(zip(map(str, search.cv_results_["params"]), search.cv_results_["mean_test_score"], strict=True))
    assert len(scores) == 6
    for params in search.cv_results_["params"]:
        alpha, cells = params.values()
        parts = {"encoder": Threshold(alpha, two_sided=False), "pooling": Pool("average", grid=cells)}
        alone = make_pipeline(paper_features(**QUICK, **parts), LinearSVM())
        assert scores[str(params)] == pytest.approx(cross_val_score(alone, photos, labels, cv=2).mean(), abs=1e-12)
    best = search.best_estimator_[0].layer_
    assert search.best_params_["pooledfeatures__encoder__alpha"] == best.encoder.alpha == 0.1
    assert Pool(grid=search.best_params_["pooledfeatures__pooling__grid"]).grids == best.pooling.grids
    assert pipeline[0].get_params() == paper_features(**QUICK).get_params()


def test_a_grid_search_over_whole_parts(photos):
    labels = np.arange(len(photos)) // 10
    encoders = ["triangle", Threshold(alpha=20.0), Nearest()]
    pipeline = make_pipeline(paper_features(**QUICK), LinearSVM())
    search = GridSearchCV(pipeline, {"pooledfeatures__encoder": encoders}, cv=2).fit(photos, labels)
    assert list(search.cv_results_["param_pooledfeatures__encoder"]) == encoders
    assert search.best_params_["pooledfeatures__encoder"] != Threshold(alpha=20.0)  # which never responds


def test_numbers_of_numpy_are_numbers(photos):
    parts = {"encoder": Threshold(np.float32(0.25), np.True_), "descriptor": Patches(np.int64(6), offset=np.float64(10))}
    plain = {"encoder": Threshold(0.25, True), "descriptor": Patches(6, offset=10.0)}
    a, b = (paper_features(**QUICK, **some).fit_transform(photos) for some in (parts, plain))
    assert a.tobytes() == b.tobytes()


def test_the_recipe_has_objects_in_every_place():
    recipe = PooledFeatures(np.int64(5), encoder="triangle", whitening=None).recipe
    assert (recipe.encoder, recipe.whitening, recipe.pooling, recipe.dictionary) == (
        Triangle(),
        None,
        Pool("auto", grid="auto"),
        KMeans(),
    )
    assert type(recipe.n_codes) is int
    with pytest.raises(ValueError, match="n_codes must be"):
        PooledFeatures(0).recipe  # noqa: B018
