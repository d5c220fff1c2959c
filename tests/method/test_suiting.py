"""The pooling that suits labelled images, against ridge regression that is learned anew without each image."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries import KMeans
from poolwise.method.encoders import Threshold
from poolwise.method.fitting import learn
from poolwise.method.learning import learn_codes
from poolwise.method.pooling import BothOrders, Pool, SecondOrder
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale
from poolwise.method.suiting import left_out_error, suiting_pooling
from poolwise.support.progress import Stages, silent

OPEN = Pool("auto", grid="auto")
LEVELS = (0.005, 0.05, 0.5, 5.0)  # of the mean of G's diagonal
RECIPE = Recipe(
    n_codes=6,
    n_candidates=None,
    descriptor=Patches(4),
    dictionary=KMeans(max_iter=5),
    encoder=Threshold(0.25, two_sided=False),
    selection="affinity",
    symmetry=None,
    n_patches=2000,
).checked()


RECIPE_OPEN = replace(RECIPE, pooling=OPEN)


def naive_error(X, T):
    """n fits for every λ."""
    n, errors = len(X), []
    for level in LEVELS:
        ridge, missed = Ridge(alpha=level * (X**2).sum() / n, fit_intercept=False), 0.0
        for i in range(n):
            others = np.arange(n) != i
            missed += ((T[i] - ridge.fit(X[others], T[others]).predict(X[i : i + 1])) ** 2).sum()
        errors.append(missed / (T**2).sum())
    return min(errors)


@pytest.mark.parametrize(("n", "d", "t"), [(30, 8, 1), (30, 60, 3), (25, 25, 2)])
def test_the_error_is_that_of_a_fit_without_each_image(rng, engine, n, d, t):
    X = rng.normal(size=(n, d))
    T = X[:, :3] @ rng.normal(size=(3, t)) + rng.normal(size=(n, t))
    X, T = X - X.mean(axis=0), T - T.mean(axis=0)
    found = left_out_error(X.astype(np.float32), T.astype(np.float32), engine)
    assert found == pytest.approx(naive_error(X, T), abs=1e-4)


def test_features_that_say_nothing_have_an_error_of_1(rng, engine):
    T = rng.normal(size=(20, 2)).astype(np.float32)
    assert left_out_error(np.zeros((20, 5), np.float32), T, engine) == 1.0


def square_at(quadrant, rng):
    """A noisy 16×16 image with a bright square somewhere in a quadrant."""
    image = rng.normal(60, 15, size=(16, 16))
    y, x = 8 * np.array(divmod(quadrant, 2)) + rng.integers(0, 4, 2)
    image[y : y + 4, x : x + 4] += 120
    return image


def textured(kind, rng):
    """Noise that is smooth across or down, the same everywhere: where it is says nothing."""
    noise = rng.normal(0, 40, size=(18, 18))
    smooth = noise[1:-1, 1:-1] + noise[2:, 1:-1] if kind else noise[1:-1, 1:-1] + noise[1:-1, 2:]
    return 120 + smooth + rng.normal(0, 40, size=(16, 16))


def data(make, kinds, n=160):
    rng = np.random.default_rng(0)
    labels = np.arange(n) % kinds
    images = np.stack([make(label, rng) for label in labels]).clip(0, 255)[..., None].astype(np.float32)
    return images, np.where(labels[:, None] == np.arange(kinds), 1.0, -1.0)


def codes_of(recipe, images, engine):
    start = replace(recipe, pooling=Pool("average", grid=1)).fitted_to(images.shape[1:])
    return learn_codes(start, images, rng=np.random.default_rng(0), engine=engine, stages=Stages())[1]


def chosen(images, targets, engine, pooling=OPEN):
    recipe = replace(RECIPE, pooling=pooling)
    return suiting_pooling(recipe, codes_of(recipe, images, engine), images, targets, engine=engine, update=silent)[0]


def test_one_cell_where_position_says_nothing(engine):
    assert chosen(*data(textured, 2), engine).grids == ((1, 1),)


def test_a_finer_grid_where_the_class_is_the_quadrant(engine):
    images, targets = data(square_at, 4)
    assert chosen(images, targets, engine).grids[0][0] >= 2
    assert chosen(images, targets, engine, Pool("average", grid="auto")).grids[0][0] >= 2


def test_a_word_or_a_grid_that_was_given_stays(engine):
    images, targets = data(square_at, 4)
    assert chosen(images, targets, engine, Pool("max", grid="auto")).how == "max"
    assert chosen(images, targets, engine, Pool("rms", grid="auto")).how == "rms"
    assert chosen(images, targets, engine, Pool("auto", grid=3)).grid == 3
    assert chosen(images, targets, engine, Pool("auto", grid=[1, (2, 3)])).grid == [1, (2, 3)]


def test_the_choice_is_the_one_of_least_error(engine):
    """Against errors of layers that pool over each grid by themselves."""
    images, targets = data(square_at, 4, n=60)
    layer = codes_of(RECIPE, images, engine)
    T, errors = (targets - targets.mean(axis=0)).astype(np.float32), {}
    choices = {repr(choice): choice for choice in RECIPE_OPEN.poolings(layer.positions)}
    for name, choice in choices.items():
        alone = replace(layer, pooling=choice, scale=Scale.none(choice.n_cells, choice.width(layer.n_outputs)))
        pooled = alone.features(images).reshape(len(images), choice.n_cells, -1)
        X = (pooled - pooled.mean(axis=0)) / np.sqrt(pooled.var(axis=(0, 1)) + 0.01)
        errors[name] = left_out_error(X.reshape(len(X), -1).astype(np.float32), T, engine)
    alone = min((name for name, choice in choices.items() if isinstance(choice, Pool)), key=errors.get)
    beside = [name for name, choice in choices.items() if getattr(choice, "first", None) == choices[alone].how]
    together = min(beside, key=errors.get)
    expected = together if errors[together] < 0.98 * errors[alone] else alone
    assert repr(chosen(images, targets, engine)) == expected


def side_by_side(kind, rng):
    """Strokes across and strokes down in the same places, or each in places of its own: only products tell them apart."""
    image = rng.normal(100, 2, size=(16, 16))
    for y, x in rng.integers(0, 12, size=(6, 2)):
        image[y : y + 4, x + 1] += 90
        y, x = (y, x) if kind else rng.integers(0, 12, 2)
        image[y + 2, x : x + 4] += 90
    return image


def test_products_where_they_say_more(engine, monkeypatch):
    images, targets = data(side_by_side, 2, n=300)
    assert isinstance(chosen(images, targets, engine), BothOrders)
    monkeypatch.setattr("poolwise.method.suiting._MOST_BYTES", 1)  # features of so many images would be too large
    assert isinstance(chosen(images, targets, engine), Pool)
    assert isinstance(chosen(images, targets, engine, Pool("average", "auto")), Pool)  # first order was asked for


def test_progress_counts_on_from_one_question_to_the_next(engine):
    images, targets = data(square_at, 4)
    recipe, counts = replace(RECIPE, pooling=OPEN, symmetry="auto"), []
    layer = codes_of(recipe, images, engine)
    suiting_pooling(recipe, layer, images, targets, engine=engine, update=lambda done, note="": counts.append(done))
    assert counts == list(range(1, 11))  # seven of first order, two with products, and the mirror image


def test_the_same_choice_on_any_number_of_threads():
    images, targets = data(square_at, 4)
    recipe = replace(RECIPE, pooling=OPEN).fitted_to(images.shape[1:])
    found = []
    for threads in (1, 2, 4):
        with Threads(threads) as engine:
            found.append(learn(recipe, images, seed=0, keep_features=True, targets=targets, engine=engine, stages=Stages()))
    assert len({repr(one.layer.pooling) for one in found}) == 1
    assert len({one.features.tobytes() for one in found}) == 1


def test_without_labels_or_with_few_images_the_average_over_2x2(engine):
    images, targets = data(square_at, 4)
    recipe = replace(RECIPE, pooling=OPEN).fitted_to(images.shape[1:])
    found = learn(recipe, images, seed=0, keep_features=False, targets=None, engine=engine, stages=Stages())
    assert found.layer.pooling == Pool("average", grid=[(2, 2)])
    assert chosen(images[:9], targets[:9], engine) == Pool("average", grid=2)
    assert chosen(images, np.ones_like(targets), engine) == Pool("average", grid=2)


@pytest.mark.parametrize(
    ("positions", "grids"),
    [((8, 8), (2, 1, 3, 4)), ((7, 27), (2, 1, 3)), ((9, 5), (2, 1)), ((3, 9), (1,)), ((1, 1), (1,))],
)
def test_grids_that_do_not_fit_are_not_among_the_choices(positions, grids):
    choices = [choice for choice in OPEN.choices(positions) if isinstance(choice, Pool)]
    assert [choice.grid for choice in choices if choice.how == "average"] == list(grids)
    assert [choice.grid for choice in choices if choice.how == "max"] == [grid for grid in grids if grid > 1]
    assert not any(choice.is_open for choice in OPEN.choices(positions))


def test_an_open_pooling_has_no_cells_yet_and_others_are_their_only_choice():
    with pytest.raises(ValueError, match=r"Pool\(how='auto', grid='auto'\) is decided in fit"):
        _ = OPEN.n_cells
    assert OPEN.is_open
    assert Pool("auto", grid=2).is_open
    assert Pool("max", grid="auto").is_open
    for pooling in (Pool("max", grid=3), SecondOrder(2)):
        assert not pooling.is_open
        assert pooling.choices((9, 9)) == (pooling,)


def test_small_images_are_learned_from(engine):
    images, targets = data(square_at, 4)
    for side, most in ((4, 1), (6, 1), (7, 2), (10, 3)):  # of which patches of 4 have 1, 3, 4 and 7 positions a side
        small = images[:, :side, :side]
        recipe = replace(RECIPE, pooling=OPEN).fitted_to(small.shape[1:])
        found = learn(recipe, small, seed=0, keep_features=True, targets=targets, engine=engine, stages=Stages())
        assert found.layer.pooling.grids[0][0] <= most
        assert found.features.shape == (len(images), found.layer.n_features)
