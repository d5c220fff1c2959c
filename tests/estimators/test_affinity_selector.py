import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from poolwise import AffinitySelector
from poolwise.method.selection import UNSUPERVISED


@pytest.fixture
def X(rng):
    """Five signals, each in four noisy columns of different scale and offset, and two constant columns."""
    signals = np.repeat(rng.normal(size=(200, 5)), 4, axis=1) + 0.1 * rng.normal(size=(200, 20))
    return np.hstack([signals * rng.uniform(1e-3, 1e3, 20) + rng.uniform(-1e4, 1e4, 20), np.ones((200, 2))])


@pytest.mark.parametrize("selection", [way for way in UNSUPERVISED if way not in ("random", "authors")])
def test_one_column_of_each_group_is_kept(X, selection):
    selector = AffinitySelector(5, selection=selection, random_state=0).fit(X)
    kept = selector.get_support(indices=True)
    assert (kept // 4).tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(selector.labels_[:20], np.repeat(np.arange(5), 4))
    np.testing.assert_array_equal(selector.exemplar_, kept[selector.labels_])
    np.testing.assert_array_equal(selector.transform(X), X[:, kept])


@pytest.mark.parametrize("selection", UNSUPERVISED)
def test_columns_scale_and_offset_do_not_matter(X, rng, selection):
    a = AffinitySelector(7, selection=selection, random_state=0).fit(X)
    b = AffinitySelector(7, selection=selection, random_state=0).fit((X - X.mean(0)) * 2.0 ** rng.integers(-200, 200, 22))
    np.testing.assert_array_equal(a.get_support(), b.get_support())


def test_half_is_the_default_and_any_number_works(X):
    assert AffinitySelector().fit(X).get_support().sum() == 11
    for K in (1, 2, 21, 22):
        assert AffinitySelector(K, random_state=0).fit(X).get_support().sum() == K


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_features_to_select": 23}, "n_features_to_select=23 features cannot be selected from n_features=22"),
        ({"n_features_to_select": 0}, "n_features_to_select must be a whole number of at least 1"),
        ({"n_features_to_select": 0.5}, "n_features_to_select must be a whole number"),
        ({"selection": "lasso"}, "selection must be one of"),
        (
            {"selection": "supervised"},
            "selection must be one of 'affinity', 'kmedoids', 'greedy', 'cholesky', 'random', 'authors'; ",
        ),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_wrong_parameters_get_an_error_that_names_them(X, settings, message):
    with pytest.raises(ValueError, match=message):
        AffinitySelector(**settings).fit(X)


def test_a_failed_fit_leaves_the_selector_as_it_was(X):
    selector = AffinitySelector(5, random_state=0).fit(X)
    before = dict(selector.__dict__)
    with pytest.raises(ValueError, match="give at most 3"):
        selector.fit(X[:, :3])
    assert selector.__dict__ == before
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.get_support()])


def test_real_features_thin_out_with_little_loss():
    X, y = load_breast_cancer(return_X_y=True)
    scores = {}
    for K in (10, 30):
        model = make_pipeline(StandardScaler(), AffinitySelector(K, random_state=0), LogisticRegression())
        scores[K] = cross_val_score(model, X, y).mean()
    assert scores[10] > scores[30] - 0.03


def test_names_come_out_where_they_went_in():
    X, _ = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = AffinitySelector(8, random_state=0).set_output(transform="pandas").fit(X)
    frame = selector.transform(X)
    assert list(frame.columns) == list(selector.get_feature_names_out()) == list(X.columns[selector.get_support()])


def test_same_seed_same_columns_on_any_number_of_threads(X):
    runs = [AffinitySelector(5, random_state=0, n_jobs=n).fit(X) for n in (1, 2, 4)]
    assert len({run.exemplar_.tobytes() for run in runs}) == 1


def test_progress_goes_to_stderr_and_only_if_asked(X, capsys, every_stage):
    AffinitySelector(5, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
    AffinitySelector(5, random_state=0, verbose=1).fit(X)
    assert "AffinitySelector selection" in capsys.readouterr().err
