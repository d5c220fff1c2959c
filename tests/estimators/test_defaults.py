"""What `PooledFeatures()` decides in `fit`, with and without labels."""

import numpy as np
import pytest

from poolwise import BothOrders, KMeans, Patches, Pool, PooledFeatures, Threshold, load, save
from poolwise.method.recipe import Recipe
from poolwise.modelfile import describe

from forge import same, state

SMALL = {"n_codes": 6, "descriptor": Patches(4), "dictionary": KMeans(max_iter=5), "n_patches": 1500, "random_state": 0}


@pytest.fixture(scope="module")
def images(photos):
    return photos[:, 8:24, 8:24]


@pytest.fixture(scope="module")
def labels(images):
    return np.arange(len(images)) // 40


@pytest.fixture(scope="module")
def model(images, labels):
    return PooledFeatures(**SMALL).fit(images, labels)


@pytest.mark.parametrize(
    ("given", "with_labels", "expected"),
    [
        ({"n_codes": 200}, True, (800, "supervised")),
        ({"n_codes": 200}, False, (800, "affinity")),
        ({"n_codes": 500}, True, (1600, "supervised")),
        ({"n_codes": 1599}, False, (1600, "affinity")),
        ({"n_codes": 1600}, True, (None, "supervised")),
        ({"n_codes": 20, "n_patches": 50}, True, (50, "supervised")),
        ({"n_codes": 50, "n_patches": 50}, True, (None, "supervised")),
        ({"n_codes": 20, "n_candidates": None}, True, (None, "supervised")),
        ({"n_codes": 20, "n_candidates": 30}, False, (30, "affinity")),
        ({"n_codes": 20, "selection": "greedy"}, True, (80, "greedy")),
        ({"n_codes": 20, "n_super_patches": 100}, True, (80, "affinity")),  # which belong to no image, and have no label
    ],
    ids=str,
)
def test_what_is_decided_before_images_are_looked_at(given, with_labels, expected):
    recipe = Recipe(**given).checked().decided(with_labels)
    assert (recipe.n_candidates, recipe.selection) == expected
    assert recipe.pooling == Pool("auto", grid="auto")
    assert recipe.decided(with_labels) == recipe


def test_without_labels(images):
    model = PooledFeatures(**SMALL).fit(images)
    assert model.n_candidates_ == 24
    assert (model.chosen_by_, model.saw_labels_) == ("affinity", False)
    assert model.layer_.pooling == Pool("average", grid=[(2, 2)])
    assert model.layer_.encoder == Threshold((0.25, 1.0), two_sided=True)
    assert model.transform(images).shape == (len(images), 4 * 4 * 6)
    explicit = PooledFeatures(**SMALL, n_candidates=24, selection="affinity", pooling=Pool("average", grid=2))
    assert explicit.fit_transform(images).tobytes() == model.transform(images).tobytes()


def test_with_labels(model, images, labels):
    assert model.n_candidates_ == 24
    assert (model.chosen_by_, model.saw_labels_) == ("supervised", True)
    assert not model.layer_.pooling.is_open
    assert "pooling by labels" in model.timings_
    assert model.get_params() == PooledFeatures(**SMALL).get_params()  # fit does not write into parameters
    explicit = PooledFeatures(**SMALL, n_candidates=24, selection="supervised", pooling=model.layer_.pooling)
    assert explicit.fit(images, labels).transform(images).tobytes() == model.transform(images).tobytes()
    assert PooledFeatures(**SMALL).fit_transform(images, labels).tobytes() == model.transform(images).tobytes()


def test_labels_that_say_nothing_change_nothing(images):
    without = PooledFeatures(**SMALL).fit(images)
    for y in (np.zeros(len(images), int), np.arange(len(images))):
        found = PooledFeatures(**SMALL).fit(images, y)
        assert not found.saw_labels_
        assert found.transform(images).tobytes() == without.transform(images).tobytes()


def test_labels_of_a_pooling_alone_are_seen(images, labels):
    model = PooledFeatures(**SMALL, n_candidates=None).fit(images, labels)
    assert (model.n_candidates_, model.saw_labels_) == (None, True)
    given = {"n_candidates": None, "pooling": Pool("max", grid=2), "symmetry": None}
    assert not PooledFeatures(**SMALL, **given).fit(images, labels).saw_labels_


def test_missing_labels_are_refused_and_leave_the_model_as_it_was(model, images, labels):
    before = state(model)
    with pytest.raises(ValueError, match="missing"):
        model.fit(images, np.where(labels == 1, np.nan, labels))
    assert same(state(model), before)


def test_few_different_patches_give_plain_k_means():
    images = np.zeros((12, 9, 9, 1), np.uint8)
    images[:, ::3, ::3] = 200  # nine different patches of 3×3
    images[::2] = 255 - images[::2]
    settings = {**SMALL, "descriptor": Patches(3)}
    model = PooledFeatures(**settings).fit(images)
    assert (model.n_candidates_, len(model.codes_)) == (None, 6)
    plain = PooledFeatures(**settings, n_candidates=None).fit_transform(images)
    assert model.transform(images).tobytes() == plain.tobytes()
    with pytest.raises(ValueError, match="24 codes were asked for, but there are only"):
        PooledFeatures(**settings, n_candidates=24).fit(images)
    with pytest.raises(ValueError, match="60 codes were asked for, but there are only"):
        PooledFeatures(**{**settings, "n_codes": 60}).fit(images)


@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("slim", [False, True])
def test_a_file_holds_what_was_decided_and_what_was_asked_for(images, labels, tmp_path, with_labels, slim):
    path = tmp_path / "m.safetensors"
    model = PooledFeatures(**SMALL).fit(images, labels if with_labels else None)
    save(model, path, slim=slim)
    again, found = load(path), describe(path)
    assert again.get_params() == model.get_params()
    assert (again.n_candidates, again.selection, again.pooling, again.encoder) == ("auto", "auto", "auto", "auto")
    assert again.layer_.pooling == found.layer.pooling == model.layer_.pooling
    assert again.transform(images).tobytes() == model.transform(images).tobytes()
    assert found.chosen_by == again.chosen_by_ == ("auto" if slim else model.chosen_by_)
    assert slim or again.saw_labels_ == model.saw_labels_


@pytest.mark.parametrize(
    "pooling", [Pool("auto", grid="auto"), Pool("max", grid="auto"), Pool("auto", grid=2), Pool("auto", grid=[1, 2])], ids=repr
)
def test_an_open_pooling_comes_back_from_a_file(images, labels, tmp_path, pooling):
    model = PooledFeatures(**SMALL, pooling=pooling).fit(images, labels)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.pooling == pooling
    assert again.transform(images).tobytes() == model.transform(images).tobytes()


def test_choosing_again_with_images_where_outputs_are_multiplied(model, images):
    assert isinstance(model.layer_.pooling, BothOrders)
    with pytest.raises(ValueError, match=r"pooling='both_orders' .* reselect\(images, \.\.\.\)"):
        model.reselect()
    same_again = model.reselect(images)
    assert same_again.transform(images).tobytes() == model.transform(images).tobytes()
    fewer = model.reselect(images, n_codes=4)
    assert len(fewer.codes_) == fewer.layer_.pooling.pairs == 4


def test_choosing_again(images, labels, tmp_path):
    model = PooledFeatures(**SMALL, pooling=Pool("average", grid="auto")).fit(images, labels)
    same_again = model.reselect()
    assert same_again.selected_.tolist() == model.selected_.tolist()
    assert same_again.transform(images).tobytes() == model.transform(images).tobytes()
    more = model.reselect(n_codes=9)
    assert (more.n_codes, more.chosen_by_, len(more.codes_)) == (9, "supervised", 9)
    assert more.layer_.pooling == model.layer_.pooling
    assert model.reselect(selection="greedy").chosen_by_ == "greedy"
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").reselect(n_codes=9).selected_.tolist() == more.selected_.tolist()
