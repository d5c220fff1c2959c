"""Several thresholds, second order, symmetry, ranks and labels through the estimator: names, clones, threads, errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from poolwise import ZCA, KMeans, LinearSVM, Patches, Pool, SecondOrder, Threshold, load, save
from poolwise.engine.threads import Threads
from poolwise.estimators.targets import as_targets
from poolwise.method.learning import learn_with_targets
from poolwise.support.parameters import ParameterError
from poolwise.support.progress import Stages

from settings import paper_features

SMALL = {"descriptor": Patches(4), "dictionary": KMeans(max_iter=5), "n_patches": 800, "random_state": 0}
CHOSEN = {**SMALL, "n_codes": 4, "n_candidates": 12}
SUPERVISED = {**CHOSEN, "selection": "supervised"}
SETTINGS = {
    "thresholds": {**CHOSEN, "encoder": Threshold((0.1, 0.5), True)},
    "second order": {**SMALL, "n_codes": 4, "pooling": SecondOrder([1, 2])},
    "second order, chosen": {**CHOSEN, "pooling": SecondOrder(1, "power"), "encoder": Threshold(0.25, two_sided=True)},
    "mirror": {**CHOSEN, "symmetry": "mirror", "pooling": Pool("rms", 2)},
    "dihedral": {**SMALL, "n_codes": 4, "symmetry": "dihedral", "encoder": "triangle"},
    "rank": {**CHOSEN, "whitening": ZCA(rank=6)},
    "auto": {**SMALL, "n_codes": 4, "whitening": ZCA("variance", rank="auto")},
    "supervised": SUPERVISED,
    "supervised, several outputs": {**SUPERVISED, "encoder": Threshold((0.1, 0.5), True), "scale": "cell"},
    "supervised, second order": {**SUPERVISED, "pooling": SecondOrder(1, "log"), "symmetry": "mirror"},
    "supervised, coupled": {**SUPERVISED, "encoder": "triangle", "whitening": ZCA(rank=6)},
}


@pytest.fixture(scope="module")
def images(photos):
    """(60, 14, 14, 1), ten of each of six pictures."""
    return np.ascontiguousarray(photos[:60, 8:22, 8:22, :1])


@pytest.fixture(scope="module")
def labels(images):
    return np.arange(len(images)) // 10 % 3


@pytest.fixture(scope="module", params=SETTINGS)
def settings(request):
    return SETTINGS[request.param]


@pytest.fixture(scope="module")
def model(settings, images, labels):
    return paper_features(**settings).fit(images, labels)


def test_features_are_those_of_the_layer(model, images):
    X = model.transform(images)
    assert (X.dtype, X.shape) == (np.float32, (60, model.layer_.n_features))
    np.testing.assert_allclose(X, model.layer_.features(images), atol=3e-3)
    assert X.std() > 0.01


def test_each_feature_has_a_name_of_its_own(model, images):
    names = model.get_feature_names_out()
    assert len(names) == len(set(names)) == model.transform(images[:1]).shape[1]


def test_fit_transform_is_fit_then_transform_to_the_bit(settings, model, images, labels):
    assert paper_features(**settings).fit_transform(images, labels).tobytes() == model.transform(images).tobytes()


def test_a_clone_has_the_same_parameters_and_gives_the_same(settings, model, images, labels):
    twin = clone(model)
    assert twin.get_params() == model.get_params() == paper_features(**settings).get_params()
    assert not hasattr(twin, "layer_")
    assert clone(model).set_params(**model.get_params()).recipe == model.recipe
    assert twin.fit(images, labels).transform(images).tobytes() == model.transform(images).tobytes()


def test_the_same_bits_on_1_2_and_4_threads(settings, model, images, labels):
    for n_jobs in (1, 2, 4):
        other = paper_features(**settings, n_jobs=n_jobs).fit(images, labels)
        assert other.codes_.tobytes() == model.codes_.tobytes()
        assert other.transform(images).tobytes() == model.transform(images).tobytes()


def test_a_saved_model_gives_the_same(model, images, tmp_path):
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").transform(images).tobytes() == model.transform(images).tobytes()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"encoder": Threshold((0.1, 0.5), two_sided=False)},
            ["code0_above0.1", "code1_above0.1", "code0_above0.5", "code1_above0.5"],
        ),
        ({"encoder": Threshold((0.5, 0.1), True)}, [f"code{k}{side}{level}" for level in ("_above0.1", "_above0.5")
                                                   for side in ("_pos", "_neg") for k in range(2)]),
        ({"pooling": SecondOrder(1)}, ["code0*code0", "code0*code1", "code1*code1"]),
        (
            {"pooling": SecondOrder(1), "encoder": Threshold((1, 2), two_sided=False)},
            ["code0_above1*code0_above1", "code0_above1*code1_above1", "code0_above1*code0_above2", "code0_above1*code1_above2",
             "code1_above1*code1_above1", "code1_above1*code0_above2", "code1_above1*code1_above2",
             "code0_above2*code0_above2", "code0_above2*code1_above2", "code1_above2*code1_above2"],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_names_of_features(images, settings, expected):
    model = paper_features(2, **{**SMALL, "pooling": Pool("average", grid=1), **settings}).fit(images)
    assert model.get_feature_names_out().tolist() == [f"pool1x1_r0c0_{name}" for name in expected]


@pytest.mark.parametrize("symmetry", ["mirror", "dihedral"])
def test_mirrored_images_have_the_features_of_the_images(images, symmetry):
    model = paper_features(4, **SMALL, symmetry=symmetry).fit(images)
    np.testing.assert_allclose(model.transform(images[:, :, ::-1]), model.transform(images), atol=1e-4)
    turned = np.abs(model.transform(np.rot90(images, axes=(1, 2))) - model.transform(images)).max()
    assert (turned < 1e-4) == (symmetry == "dihedral")


def test_images_that_are_not_square_cannot_be_turned(images):
    with pytest.raises(
        ParameterError, match="symmetry='dihedral' turns images by 90°, which needs square ones; these are 14×13"
    ):
        paper_features(4, **SMALL, symmetry="dihedral").fit(images[:, :, 1:])


def test_all_directions_give_what_no_rank_gives(images):
    whole = paper_features(4, **SMALL).fit(images)
    for rank in (16, 17, 1000):
        model = paper_features(4, **SMALL, whitening=ZCA(rank=rank)).fit(images)
        assert model.transform(images).tobytes() == whole.transform(images).tobytes()


@pytest.mark.parametrize("dictionary", ["patches", KMeans(max_iter=5)], ids=["patches", "kmeans"])
def test_nearly_all_directions_give_nearly_the_same_activations(images, dictionary):
    """Codes are turned with the patches: their scalar products, and so activations, are those of full whitening."""
    settings = {**SMALL, "dictionary": dictionary, "scale": None}
    whole, reduced = (paper_features(4, **settings, whitening=ZCA(rank=rank)).fit(images) for rank in (None, 15))
    assert reduced.codes_.shape == (4, 15)  # contrast normalisation left no mean: 15 directions are all there are
    np.testing.assert_allclose(reduced.codes_ @ reduced.codes_.T, whole.codes_ @ whole.codes_.T, atol=1e-3)
    np.testing.assert_allclose(reduced.transform(images), whole.transform(images), atol=1e-3)


def test_auto_keeps_99_percent_of_the_variance_of_patches(images):
    model = paper_features(4, **SMALL, whitening=ZCA(rank="auto")).fit(images)
    patches = model.layer_.descriptor(images.astype(np.float64)).reshape(-1, 16)
    lam = np.linalg.eigvalsh(np.cov(patches.T))[::-1]
    r = model.codes_.shape[1]
    share = np.cumsum(lam) / lam.sum()
    assert share[r - 1] > 0.985
    assert share[r - 2] < 0.995  # of all patches; the model saw some of them


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ParameterError, r"selection='supervised' needs labels: fit\(images, y\); give them, or another value"),
        (np.arange(59) % 3, ValueError, "y has 59 entries for 60 images; give one for each"),
        (np.zeros(60, int), ValueError, "y has only one class, .*0.*; selection='supervised' needs at least two"),
        (["elm"] * 60, ValueError, "y has only one class, .*'elm'.*; selection='supervised' needs at least two"),
        (np.full(60, np.nan), ValueError, "y contains NaN"),
        (np.eye(3, dtype=int)[np.arange(60) % 3], ValueError, "y should be a 1d array"),
    ],
    ids=str,
)
def test_labels_that_say_nothing_are_refused(images, y, error, message):
    model = paper_features(**SUPERVISED)
    with pytest.raises(error, match=message):
        model.fit(images, y)
    assert not hasattr(model, "layer_")


def test_labels_are_looked_at_only_where_they_choose(images):
    for settings in (CHOSEN, {**SUPERVISED, "n_candidates": None}, {**SUPERVISED, "projection": "pca"}):
        without = paper_features(**settings).fit(images)
        assert without.fit(images, "nothing").transform(images).tobytes() == without.transform(images).tobytes()


@pytest.mark.parametrize(
    "spelled",
    [
        lambda y: y.tolist(),
        lambda y: y.astype(float),
        lambda y: y.astype(np.uint8),
        lambda y: y[:, None],
        lambda y: np.array(["elm", "oak", "yew"])[y],
        lambda y: np.array(["elm", "oak", "yew"], object)[y],
        lambda y: y - 7,
    ],
    ids=["list", "float", "uint8", "column", "words", "objects", "negative"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_of_any_type_choose_the_same(images, labels, spelled):
    expected = paper_features(**SUPERVISED).fit(images, labels)
    found = paper_features(**SUPERVISED).fit(images, spelled(labels))
    assert found.transform(images).tobytes() == expected.transform(images).tobytes()


def test_two_classes_may_be_flags(images, labels):
    found = [
        paper_features(**SUPERVISED).fit(images, y).selected_.tolist() for y in (labels == 0, np.where(labels, "no", "yes"))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 3)])
def test_real_numbers_are_targets_whatever_their_unit(images, shape, rng):
    y = rng.normal(size=shape)
    a = paper_features(**SUPERVISED).fit(images, y)
    b = paper_features(**SUPERVISED).fit(images, 1000.5 * y + 77.25)
    assert a.selected_.tolist() == b.selected_.tolist()
    assert a.candidates_.statistics.labelled.products.shape == (4 * 12, y.reshape(60, -1).shape[1])


def test_the_code_that_predicts_a_number_is_chosen(images):
    outputs = paper_features(12, **{**SMALL, "pooling": Pool("average", grid=2)}).fit_transform(images).reshape(60, 4, 12)
    alive = np.flatnonzero(outputs.std(axis=(0, 1)) > 0.1)
    model = paper_features(12, **SMALL).fit(images)
    for code in alive[:3]:
        y = np.repeat(outputs[:, :, code].astype(np.float64), 100, axis=0)  # in every cell; many images make labels count
        labelled = as_targets(y, 6000)
        recipe = paper_features(**SUPERVISED).recipe.fitted_to((14, 14, 1))
        with Threads(2) as engine:
            seen = np.repeat(images, 100, axis=0)
            candidates = learn_with_targets(recipe, model.layer_, seen, labelled, seed=0, engine=engine, stages=Stages())
            _, found = candidates.choose(1, "supervised", None, engine=engine, stages=Stages())
        assert found.selected.tolist() == [code]


@pytest.mark.parametrize("changes", [{"n_codes": 2}, {"n_codes": 12}, {"projection": None}, {"n_codes": 7, "projection": None}])
@pytest.mark.parametrize("name", ["supervised", "supervised, several outputs"])
def test_choosing_again_is_a_fit_with_other_settings(images, labels, name, changes):
    again = paper_features(**SETTINGS[name]).fit(images, labels).reselect(**changes)
    fitted = paper_features(**{**SETTINGS[name], **changes}).fit(images, labels)
    np.testing.assert_array_equal(again.selected_, fitted.selected_)
    assert again.transform(images).tobytes() == fitted.transform(images).tobytes()
    assert again.get_params() == fitted.get_params()


def test_what_labels_have_not_seen_cannot_be_chosen_with_them(images, labels):
    for settings in (CHOSEN, {**SUPERVISED, "projection": "pca"}):
        model = paper_features(**settings).fit(images, labels)
        with pytest.raises(ValueError, match="selection='supervised' needs what images and labels say together; fit with it"):
            model.reselect(selection="supervised", projection=None)


@pytest.mark.parametrize("name", ["second order, chosen", "supervised, second order"])
def test_second_order_is_chosen_anew_by_a_fit_alone(images, labels, name):
    model = paper_features(**SETTINGS[name]).fit(images, labels)
    with pytest.raises(
        ValueError, match="pooling='second_order' has numbers that selection has not seen; their scale needs images"
    ):
        model.reselect(n_codes=2)


def test_super_patches_have_no_labels(images, labels):
    with pytest.raises(ParameterError, match="selection='supervised' looks at whole images with their labels; give n_super"):
        paper_features(**SUPERVISED, n_super_patches=50).fit(images, labels)


def test_a_pipeline_hands_labels_on_and_a_search_reaches_the_new_parameters(images, labels):
    pipeline = make_pipeline(paper_features(**SUPERVISED), LinearSVM())
    grid = {"pooledfeatures__encoder__alpha": [0.25, (0.1, 1.0)], "pooledfeatures__whitening__rank": [None, 6]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(images, labels)
    assert search.best_score_ > 0.5
    assert search.best_estimator_[0].candidates_.statistics.labelled.n == 60


def test_pca_is_refused_with_second_order_pooling(images):
    with pytest.raises(
        ValueError, match="projection='pca' projects one number of each output, and pooling='second_order' has others"
    ):
        paper_features(**{**CHOSEN, "pooling": SecondOrder(1), "projection": "pca"}).fit(images)


def test_pca_of_a_model_chosen_with_labels_needs_another_fit(images, labels):
    model = paper_features(**SETTINGS["supervised, several outputs"]).fit(images, labels)
    with pytest.raises(ValueError, match="for projection='pca' fit again"):
        model.reselect(projection="pca")


def test_outputs_chosen_with_labels_stay_as_they_are(images, labels):
    model = paper_features(**{**CHOSEN, "selection": "supervised", "projection": "nystrom"}).fit(images, labels)
    assert model.layer_.projection is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (3, "y has 1 entries for 60 images"),
        (np.array([None, "elm"] * 30, object), "missing"),
        (np.full(60, 0.5), "y is 0.5 for every image"),
        (np.zeros(60), "only one class, 0.0"),
    ],
)
def test_targets_that_say_nothing_are_refused(images, y, message):
    with pytest.raises(ValueError, match=message):
        paper_features(**{**CHOSEN, "selection": "supervised"}).fit(images, y)


def test_a_gram_matrix_that_is_none_is_refused(images, labels):
    model = paper_features(**{**CHOSEN, "selection": "supervised"}).fit(images, labels)
    model.candidates_.statistics.labelled.gram[:] = -np.eye(len(model.candidates_.statistics.labelled.gram))
    with pytest.raises(ValueError, match="negative eigenvalues; fit again"):
        model.reselect(n_codes=2)
