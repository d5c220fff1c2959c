"""A pipeline of features and a linear classifier."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from poolwise import LinearSVM, LinearSVMCV, Patches, load, save
from poolwise.modelfile import ModelFileError, describe

from forge import forged, same, state
from settings import paper_features


def fitted(images, labels, last):
    features = paper_features(4, 8, descriptor=Patches(4), n_patches=500, random_state=0)
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


@pytest.mark.parametrize("last", [LinearSVM(0.01), LinearSVMCV([0.01, 0.1], cv=3)], ids=["one gamma", "searched"])
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
    model = fitted(images, LABELS[0], LinearSVM(1, class_weight={0: 1.0, 1: 2.5, 2: 1}))
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors")[1].get_params() == model[1].get_params()


def test_parameters_that_json_cannot_hold_are_noted(images, tmp_path):
    model = fitted(images, LABELS[0], LinearSVMCV([0.1, 1.0], cv=KFold(3)))
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors")[1].cv == "auto"
    assert len(describe(tmp_path / "m.safetensors").classifier["notes"]) == 1


def test_names_of_steps(images, tmp_path):
    made = fitted(images, LABELS[0], LinearSVM())
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
    model = fitted(images, LABELS[0], LinearSVM())
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
        (told(searched=[2, 3]), "contradicts LinearSVM"),
        (told(converged=1), "must be true or false"),
        (told(more=1), "unknown key 'more'"),
        (lambda d, a: d["parts"]["classifier"].update(estimator="LinearSVC"), "must be one of"),
        (lambda d, a: d["parts"]["classifier"]["parameters"].update(gamma=-1), "gamma must be a finite number"),
        (lambda d, a: d["parts"]["classifier"]["parameters"].pop("gamma"), "lacks the key 'gamma'"),
        (lambda d, a: d["parts"]["features"]["layers"][0]["pooling"].update(grid=1), "do not make a pipeline"),
        (lambda d, a: d.update(names=["a", "a"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=["a__b", "c"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=["steps", "c"]), "do not make a pipeline"),
        (lambda d, a: d.update(names=[]), "do not make a pipeline"),
        (lambda d, a: a["classifier.coef"].__setitem__((0, 0), np.nan), "not finite"),
        (lambda d, a: a.pop("classifier.intercept"), "lacks the array"),
    ],
)
def test_contradictions_are_refused(images, tmp_path, change, match):
    save(fitted(images, LABELS[0], LinearSVM()), tmp_path / "m.safetensors")
    raw = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.safetensors").write_bytes(forged(raw, change))
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "m.safetensors")
