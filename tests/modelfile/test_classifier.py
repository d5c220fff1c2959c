"""A pipeline of features and a linear classifier, with a stand-in for the classifier."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from poolwise import PooledFeatures, load, save
from poolwise.modelfile import ModelFileError, classifier, describe

from forge import forged, same, state


class StandIn(ClassifierMixin, BaseEstimator):
    """Has what `LinearSVM` has."""

    def __init__(self, gamma=0.005, *, class_weight=None, random_state=None):
        self.gamma, self.class_weight, self.random_state = gamma, class_weight, random_state

    def fit(self, X, y):
        svm = LinearSVC(dual=False).fit(X, y)
        self.classes_, self.coef_, self.intercept_ = svm.classes_, svm.coef_.astype(np.float64), svm.intercept_
        self.gamma_, self.n_iter_, self.converged_, self.objective_ = self.gamma, 7, True, 0.125
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        scores = X @ self.coef_.T + self.intercept_
        return self.classes_[scores.argmax(axis=1) if len(self.coef_) > 1 else (scores[:, 0] > 0).astype(int)]


class StandInCV(StandIn):
    """Has what `LinearSVMCV` has."""

    def fit(self, X, y):
        super().fit(X, y)
        self.gammas_, self.scores_ = np.array([0.1, 0.01]), np.arange(6.0).reshape(2, 3)
        return self


@pytest.fixture(autouse=True)
def known(monkeypatch):
    def check(parameters):
        if not isinstance(parameters["gamma"], int | float) or parameters["gamma"] <= 0:
            raise ValueError(f"gamma must be above 0; got {parameters['gamma']!r}")

    monkeypatch.setitem(classifier.CLASSIFIERS, "StandIn", classifier.Classifier(StandIn, check_parameters=check))
    monkeypatch.setitem(classifier.CLASSIFIERS, "StandInCV", classifier.Classifier(StandInCV, searched=True))


def fitted(images, labels, last):
    features = PooledFeatures(4, 8, patch_size=4, n_patches=500, random_state=0)
    return make_pipeline(features, last).fit(images, labels)


LABELS = [
    np.arange(40) % 3,
    (np.arange(40) % 3 - 1).astype(np.int8),
    np.arange(40) % 2,
    np.arange(40) % 2 == 0,
    np.array([2**64 - 1, 0, 7, 1], np.uint64)[np.arange(40) % 4],
    (np.arange(40) % 3).astype(np.float32),
    np.array(["cat", "dog", "Ähre, “x”"])[np.arange(40) % 3],
    np.array(["cat", "dog"], object)[np.arange(40) % 2],
]


@pytest.mark.parametrize("last", [StandIn(0.01), StandInCV()], ids=["one gamma", "searched"])
@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: f"{labels.dtype} {len(set(labels.tolist()))}")
def test_a_pipeline_comes_back_as_it_was(images, tmp_path, labels, last):
    model = fitted(images, labels, last)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    check_is_fitted(again)
    assert list(again.named_steps) == list(model.named_steps)
    assert same(state(again[0]), state(model[0]))
    assert same(state(again[1]), state(model[1]))
    predicted = again.predict(images)
    assert predicted.dtype == labels.dtype
    assert predicted.tolist() == model.predict(images).tolist()


def test_parameters_keep_their_types(images, tmp_path):
    model = fitted(images, LABELS[0], StandIn(1, class_weight={0: 1.0, 1: 2.5, 2: 1}))
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors")[1].get_params() == model[1].get_params()


def test_parameters_that_json_cannot_hold_are_noted(images, tmp_path):
    model = fitted(images, LABELS[0], StandIn(random_state=np.random.RandomState(0)))
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors")[1].random_state is None
    assert len(describe(tmp_path / "m.safetensors")["parts"]["classifier"]["notes"]) == 1


def test_names_of_steps(images, tmp_path):
    made = fitted(images, LABELS[0], StandIn())
    model = Pipeline([("see", made[0]), ("decide", made[1])], verbose=True)
    save(model, tmp_path / "m.safetensors", slim=True)
    again = load(tmp_path / "m.safetensors")
    assert list(again.named_steps) == ["see", "decide"]
    assert again.verbose
    assert again["see"].candidates_ is None
    assert again.predict(images).tolist() == made.predict(images).tolist()


@pytest.mark.parametrize(
    "labels", [np.array([1, 2, "a"], object), np.arange(3).astype("datetime64[s]"), np.arange(3, dtype=np.longdouble)]
)
def test_labels_that_json_cannot_hold_are_refused(images, tmp_path, labels):
    model = fitted(images, LABELS[0], StandIn())
    model[1].classes_ = labels
    with pytest.raises(TypeError, match=r"classes of .* cannot be saved"):
        save(model, tmp_path / "m.safetensors")


def told(**changes):
    return lambda document, arrays: document["parts"]["classifier"]["fitted"].update(changes)


def classes(dtype, values):
    return told(classes={"dtype": dtype, "values": values})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (classes("int64", [0, 1, "2"]), "not all int64"),
        (classes("int8", [0, 1, 128]), "not all int8"),
        (classes("int64", [0, 1, True]), "not all int64"),
        (classes("int64", [0, 1, 1]), "do not ascend"),
        (classes("int64", [0, 1]), "rows is 3, for 2 classes"),
        (classes("int64", [0]), "at least 2"),
        (classes("O", [0, 1, 2]), "must be one of"),
        (classes("U1000000000", ["a", "b", "c"]), "must be one of"),
        (told(rows=1), "rows is 1, for 3 classes"),
        (told(features=15), "do not make a pipeline"),
        (told(searched=[2, 3]), "contradicts StandIn"),
        (told(converged=1), "must be true or false"),
        (told(more=1), "unknown key 'more'"),
        (lambda d, a: d["parts"]["classifier"].update(estimator="LinearSVC"), "must be one of"),
        (lambda d, a: d["parts"]["classifier"]["parameters"].update(gamma=-1), "gamma must be above 0"),
        (lambda d, a: d["parts"]["classifier"]["parameters"].pop("gamma"), "lacks the key 'gamma'"),
        (lambda d, a: d["parts"]["features"]["fitted"].update(grids=[[1, 1]]), "do not make a pipeline"),
        (lambda d, a: d.update(names=["a", "a"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=["a__b", "c"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=["steps", "c"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=[]), "do not make a pipeline"),
        (lambda d, a: a["classifier.coef"].__setitem__((0, 0), np.nan), "not finite"),
        (lambda d, a: a.pop("classifier.intercept"), "lacks the array"),
    ],
)
def test_contradictions_are_refused(images, tmp_path, change, match):
    save(fitted(images, LABELS[0], StandIn()), tmp_path / "m.safetensors")
    raw = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.safetensors").write_bytes(forged(raw, change))
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "m.safetensors")
