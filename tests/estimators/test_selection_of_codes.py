"""`PooledFeatures` with candidates: which codes are kept, how their outputs are combined, and choosing again."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from test_pooled_features import peak_memory

from poolwise import LinearSVM, Patches, Pool, PooledFeatures, Threshold
from poolwise.method import candidates as choosing_from
from poolwise.method.nystrom import reconstruction
from poolwise.method.selection import WAYS

from settings import PLAIN, QUICK, paper_features

PDL = {**QUICK, "n_candidates": 40}


@pytest.fixture(scope="module")
def pdl(photos):
    return paper_features(**PDL).fit(photos)


@pytest.fixture(scope="module")
def candidates(photos):
    """Features of all 40 candidates: K-means alone, with the same seed."""
    return paper_features(**{**QUICK, "n_codes": 40}).fit(photos)


def test_candidates_are_those_of_plain_k_means(pdl, candidates):
    assert pdl.candidates_.codes.tobytes() == candidates.codes_.tobytes()
    np.testing.assert_array_equal(pdl.codes_, pdl.candidates_.codes[pdl.selected_])
    assert pdl.n_candidates_ == pdl.selection_.n_candidates == 40
    assert pdl.selected_.shape == (8,)
    assert pdl.cluster_.shape == (40,)
    assert set(pdl.cluster_) == set(pdl.selected_)
    np.testing.assert_allclose(pdl.pooled_scale_, candidates.pooled_scale_[pdl.selected_], rtol=1e-4)


def test_covariance_is_that_of_all_cells_of_all_images(pdl, candidates, photos):
    X = candidates.transform(photos).reshape(-1, 40).astype(np.float64)
    np.testing.assert_allclose(pdl.covariance_, np.cov(X.T, ddof=0), atol=1e-5)
    assert pdl.candidates_.statistics.covariance is pdl.covariance_
    assert pdl.candidates_.statistics.n == 4 * len(photos)


def test_unprojected_features_are_those_of_the_selected_candidates(pdl, candidates, photos):
    plain = pdl.reselect(projection=None)
    expected = candidates.transform(photos).reshape(len(photos), 4, 40)[:, :, pdl.selected_]
    np.testing.assert_allclose(plain.transform(photos).reshape(expected.shape), expected, atol=1e-4)
    np.testing.assert_allclose(plain.transform(photos[:4]), plain.layer_.features(photos[:4]), atol=1e-4)


def test_projected_features_have_the_distances_of_the_reconstructed_ones(pdl, photos):
    selected = pdl.reselect(projection=None).transform(photos[:30]).reshape(30, 4, 8)
    A = reconstruction(pdl.covariance_, pdl.selected_)
    full = (selected @ A.T).reshape(30, -1)
    ours = pdl.transform(photos[:30])
    assert ours.shape == (30, 32)
    distances = [np.linalg.norm(f[:, None] - f[None], axis=2) for f in (ours, full)]
    np.testing.assert_allclose(*distances, atol=1e-3)
    np.testing.assert_allclose(ours.reshape(-1, 8), selected.reshape(-1, 8) @ pdl.projection_.T, atol=1e-4)
    np.testing.assert_allclose(ours, pdl.layer_.features(photos[:30]), atol=1e-3)


def test_pca_projects_all_candidates(pdl, candidates, photos):
    bound = paper_features(**PDL, projection="pca").fit(photos)
    X = candidates.transform(photos).reshape(-1, 40)
    np.testing.assert_allclose(bound.transform(photos).reshape(-1, 8), X @ bound.projection_.T, atol=1e-3)
    assert len(bound.codes_) == 40
    assert bound.selection_ is None
    np.testing.assert_array_equal(bound.selected_, np.arange(40))
    assert (bound.projection_.shape, bound.n_candidates_) == ((8, 40), 40)
    np.testing.assert_allclose(bound.transform(photos[:4]), bound.layer_.features(photos[:4]), atol=1e-3)


def test_keeping_every_candidate_changes_no_distance(candidates, photos):
    everything = paper_features(**{**QUICK, "n_codes": 40}, n_candidates=40).fit(photos)
    np.testing.assert_array_equal(everything.selected_, np.arange(40))
    a, b = (model.transform(photos[:20]) for model in (everything, candidates))
    distances = [np.linalg.norm(f[:, None] - f[None], axis=2) for f in (a, b)]
    np.testing.assert_allclose(*distances, atol=1e-2)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"projection": None},
        {"projection": "pca"},
        {"scale": "cell"},
        {"scale": None},
        {"encoder": Threshold(0.25, two_sided=True)},
        {"encoder": Threshold(0.25, two_sided=True), "projection": "pca"},
        {"encoder": "triangle"},
        {"encoder": "nearest", "scale": "cell"},
        {"pooling": Pool("max", grid=[1, 2])},
        {"n_super_patches": 500},
    ],
)
def test_fit_transform_is_fit_then_transform_to_the_bit(photos, settings):
    a = paper_features(**PDL, **settings).fit_transform(photos)
    model = paper_features(**PDL, **settings).fit(photos)
    assert a.tobytes() == model.transform(photos).tobytes()
    assert np.isfinite(a).all()
    assert a.shape[1] == len(model.get_feature_names_out()) == len(set(model.get_feature_names_out()))
    assert a.std() > 0.01


@pytest.mark.parametrize("way", WAYS)
def test_same_seed_same_bits_on_1_2_and_4_threads(photos, way):
    photos = photos[::2]
    labels = np.arange(len(photos)) // 5
    runs = [paper_features(**PDL, selection=way, n_jobs=n).fit(photos, labels) for n in (1, 2, 4)]
    assert len({run.selected_.tobytes() for run in runs}) == 1
    assert len({run.covariance_.tobytes() for run in runs}) == 1
    assert len({run.transform(photos).tobytes() for run in runs}) == 1


@pytest.mark.parametrize("projection", ["nystrom", "pca"])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_features_do_not_depend_on_the_batch_split(photos, pdl, projection, size):
    model = pdl.reselect(projection=projection)
    whole = model.transform(photos)
    parts = [model.transform(photos[i : i + size]) for i in range(0, len(photos), size)]
    together = np.concatenate(parts)
    if projection is None:
        assert together.tobytes() == whole.tobytes()
    else:  # a row's place in its panel of 16 may change the rounding of a product, on some CPUs
        np.testing.assert_allclose(together, whole, rtol=0, atol=2e-6 * np.abs(whole).max())


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {"n_codes": 5},
        {"selection": "greedy", "projection": None},
        {"selection": "random", "projection": "pca"},
        {"n_codes": 40},
    ],
)
def test_choosing_again_is_a_fit_without_the_images(photos, changes, two_sided):
    encoder = Threshold(0.25, two_sided=two_sided)
    once = paper_features(**PDL, encoder=encoder).fit(photos)
    before = once.transform(photos)
    again, fresh = once.reselect(**changes), paper_features(**{**PDL, **changes}, encoder=encoder).fit(photos)
    np.testing.assert_array_equal(again.selected_, fresh.selected_)
    assert again.transform(photos).tobytes() == fresh.transform(photos).tobytes()
    assert again.get_params() == fresh.get_params()
    assert once.transform(photos).tobytes() == before.tobytes()  # the first is as it was
    back = again.reselect(n_codes=8, selection="affinity", projection="nystrom")
    assert back.transform(photos).tobytes() == before.tobytes()


def test_choosing_again_with_another_seed_keeps_the_candidates(pdl):
    other = pdl.reselect(selection="random", random_state=5)
    assert other.candidates_.codes.tobytes() == pdl.candidates_.codes.tobytes()
    assert other.selected_.tobytes() != pdl.reselect(selection="random").selected_.tobytes()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_choosing_again_keeps_the_seed_of_the_fit(photos, random_state):
    model = paper_features(**{**PDL, "random_state": random_state}, selection="random").fit(photos)
    np.testing.assert_array_equal(model.reselect(projection=None).selected_, model.selected_)
    np.testing.assert_array_equal(model.reselect().selected_, model.selected_)


def test_choosing_again_has_times_of_its_own(pdl):
    again = pdl.reselect(n_codes=5)
    assert again.timings_ is not pdl.timings_
    assert again.timings_["dictionary"] == pdl.timings_["dictionary"]


def test_a_subclass_may_have_a_transform_of_its_own(photos):
    class Halved(PooledFeatures):
        def transform(self, X):
            return super().transform(X) / 2

    model = Halved(**{**PLAIN, **PDL}, projection=None).fit(photos)
    assert model.get_params()["projection"] is None
    np.testing.assert_array_equal(
        model.transform(photos), paper_features(**PDL, projection=None).fit(photos).transform(photos) / 2
    )
    assert clone(model).set_params(projection="pca").get_params()["projection"] == "pca"


def test_activations_too_large_for_a_covariance_are_refused(photos):
    model = paper_features(**PDL, descriptor=Patches(contrast=None), whitening=None, pooling="sum")
    with (
        pytest.raises(ValueError, match=r"too large for a float32 covariance; rescale the images to 0\.\.255"),
        np.errstate(all="ignore"),
    ):
        model.fit(photos * 1e15)


def test_choosing_again_obeys_what_was_fitted(photos):
    model = paper_features(**PDL).fit(photos)
    expected = model.reselect(n_codes=5).transform(photos)
    model.set_params(encoder__alpha=9.0, pooling=Pool("max", grid=3), n_candidates=None, scale="cell", n_super_patches=9)
    np.testing.assert_array_equal(model.reselect(n_codes=5).transform(photos), expected)
    model.set_params(encoder="triangle", descriptor__stride=3, dictionary="gaussian", whitening=None)
    np.testing.assert_array_equal(model.reselect(n_codes=5).transform(photos), expected)


@pytest.mark.parametrize(
    ("fitted", "changes", "error", "message"),
    [
        ({}, {"n_codes": 41}, ValueError, "n_codes=41 codes cannot be selected from n_candidates=40"),
        ({}, {"n_codes": 0}, ValueError, "n_codes must be"),
        ({}, {"selection": "best"}, ValueError, "selection must be one of 'auto', 'affinity'"),
        ({}, {"projection": "whiten"}, ValueError, "projection must be one of 'nystrom', 'pca', None; got 'whiten'"),
        ({}, {"encoder": "triangle"}, TypeError, "reselect changes n_codes, selection, projection.* random_state; got encoder"),
        ({}, {"encoder__alpha": 1, "n_codes": 4}, TypeError, "reselect changes .*; got encoder__alpha"),
        ({}, {"n_candidates": 20}, TypeError, "reselect changes .*; got n_candidates"),
        ({"n_candidates": None}, {"n_codes": 4}, ValueError, "fitted without candidates"),
        ({"encoder": "nearest"}, {"n_codes": 4}, ValueError, "encoder='nearest' has activations that depend on all codes"),
        ({"encoder": "triangle"}, {}, ValueError, "encoder='triangle' has activations that depend on all codes"),
    ],
)
def test_choosing_again_says_what_it_cannot(photos, fitted, changes, error, message):
    model = paper_features(**{**PDL, **fitted}).fit(photos)
    before = model.transform(photos[:3])
    with pytest.raises(error, match=message):
        model.reselect(**changes)
    np.testing.assert_array_equal(model.transform(photos[:3]), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"n_candidates": 7},
            "n_codes=8 codes cannot be selected from n_candidates=7; give at most as many",
        ),
        ({"n_candidates": 0}, "n_candidates must be a whole number of at least 1"),
        ({"n_candidates": "many"}, "n_candidates must be a whole number"),
        ({"n_candidates": 64, "n_patches": 50}, "n_patches=50 patches cannot give n_candidates=64 different codes"),
        ({"selection": "Affinity"}, "selection must be one of"),
        ({"projection": "PCA"}, "projection must be one of"),
        ({"n_super_patches": 1}, "n_super_patches must be a whole number of at least 2"),
        ({"n_candidates": 40, "n_super_patches": 100, "scale": "cell"}, "a super-patch belongs to no cell"),
    ],
)
def test_wrong_parameters_get_an_error_that_names_them(photos, settings, message):
    with pytest.raises(ValueError, match=message):
        paper_features(**{**QUICK, **settings}).fit(photos)


def test_projection_is_a_parameter_and_transform_only_a_method(photos, pdl):
    model = paper_features(**PDL, projection="pca")
    assert "transform" not in model.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'transform'"):
        model.set_params(transform=None)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(projection=None).get_params()["projection"] is None
    assert "projection=None" in repr(model)
    assert clone(pdl).get_params()["projection"] == "nystrom"
    twin = pickle.loads(pickle.dumps(pdl))  # noqa: S301  (joblib workers do this; we never read such files)
    assert twin.get_params()["projection"] == "nystrom"
    np.testing.assert_array_equal(twin.transform(photos), pdl.transform(photos))
    assert PooledFeatures.transform.__doc__.startswith("Features of images")
    frame = model.set_params(projection="nystrom").set_output(transform="pandas").fit_transform(photos)
    assert frame.columns[0] == "pool2x2_r0c0_nystrom0"


def test_a_grid_search_over_selection_and_projection(photos):
    labels = np.arange(len(photos)) // 10
    grid = {"pooledfeatures__projection": ["nystrom", None], "pooledfeatures__selection": ["greedy", "random"]}
    search = GridSearchCV(make_pipeline(paper_features(**PDL), LinearSVM()), grid, cv=2).fit(photos, labels)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 4
    assert scores.min() > 3 / 16  # well above chance


def test_feature_names_say_what_a_feature_is(photos, pdl):
    assert pdl.get_feature_names_out()[9] == "pool2x2_r0c1_nystrom1"
    assert pdl.reselect(projection="pca").get_feature_names_out()[0] == "pool2x2_r0c0_pca0"
    assert pdl.reselect(projection=None).get_feature_names_out()[0] == "pool2x2_r0c0_code0"
    pdl.reselect(projection=None).set_params(projection="pca").get_feature_names_out()  # as fitted, not as set


def test_super_patches_give_a_similar_covariance_from_another_sample(photos, pdl):
    sampled = paper_features(**PDL, n_super_patches=3000).fit(photos)
    assert sampled.candidates_.codes.tobytes() == pdl.candidates_.codes.tobytes()
    a, b = sampled.covariance_, pdl.covariance_
    assert 0.9 < np.corrcoef(a.ravel(), b.ravel())[0, 1] < 1


def test_selection_leaves_fewer_images_than_codes_alone(photos):
    few = paper_features(**{**QUICK, "n_codes": 6}, n_candidates=40, pooling=Pool("average", grid=1)).fit(
        photos[:5]
    )  # 5 samples for 40 codes
    assert np.isfinite(few.transform(photos)).all()


def test_memory_of_fit_is_that_of_the_covariance_not_of_the_images(photos):
    few, many = np.resize(photos, (400, 32, 32, 3)), np.resize(photos, (2000, 32, 32, 3))
    fit = [peak_memory(lambda x=x: paper_features(**PDL, n_jobs=1).fit(x)) for x in (few, many)]
    assert fit[1] - fit[0] < 200_000


def test_it_reports_how_selection_went(photos, capsys, every_stage):
    model = paper_features(**PDL, verbose=1).fit(photos)
    assert {"covariance", "selection", "projection"} <= set(model.timings_)
    assert model.selection_.propagation.converged
    assert model.selection_.propagation.rounds > 0
    assert "PooledFeatures covariance" in capsys.readouterr().err


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_samples_than_codes_give_no_features_made_of_rounding(photos, n):
    few = paper_features(**{**QUICK, "n_codes": 30}, n_candidates=60, selection="random").fit(photos[::32][:n])
    singular_values = np.linalg.norm(few.projection_, axis=1)
    assert (singular_values > 0.5).sum() <= 4 * n - 1  # four cells an image, less their mean
    plain = few.reselect(projection=None)
    assert few.transform(photos).std() < 5 * plain.transform(photos).std()


def test_candidates_that_never_respond_are_warned_of(photos):
    with pytest.warns(
        UserWarning, match="only 0 of the 40 candidates respond to any of the images, fewer than the 8 to select"
    ):
        paper_features(**PDL, encoder=Threshold(alpha=50.0, two_sided=False)).fit(photos)


def test_unrest_is_warned_of(photos, pdl, monkeypatch):
    from poolwise.method.selection import affinity

    monkeypatch.setattr(affinity, "_ROUNDS_PER_TRY", 3)
    with pytest.warns(ConvergenceWarning, match=r"did not come to rest in \d+ rounds; the 8 exemplars are its closest state"):
        assert len(pdl.reselect(random_state=1).selected_) == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdl.reselect(selection="greedy")


def test_a_failed_choice_leaves_the_model_as_it_was(photos, pdl, monkeypatch):
    model = clone(pdl).fit(photos)
    before = dict(model.__dict__)
    monkeypatch.setattr(choosing_from, "select", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(photos)
    assert model.__dict__ == before
