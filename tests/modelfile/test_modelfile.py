"""What was saved comes back, to the bit."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from poolwise import PooledFeatures, load, save
from poolwise.estimators.presets import PRESETS
from poolwise.kmeans import METHODS
from poolwise.modelfile import ModelFileError, describe
from poolwise.selection import WAYS

from forge import read, same, sign, state
from settings import QUICK

PDL = {**QUICK, "n_candidates": 40}
SETTINGS = [
    QUICK,
    PDL,
    *({**PRESETS[name], **QUICK} for name in PRESETS),
    *({**PRESETS[name], **PDL} for name in PRESETS),
    *({**QUICK, "dictionary": method} for method in METHODS),
    *({**PDL, "selection": way} for way in WAYS),
    *({**PDL, "encoder": encoder, "scale": scale} for encoder in ("triangle", "vq") for scale in ("shared", "cell", None)),
    *({**PDL, "pool": pool, "grid": [1, (2, 3)]} for pool in ("average", "max", "sum", "rms")),
    *({**PDL, "transform": t, "two_sided": two} for t in (None, "nystrom", "pca") for two in (False, True)),
    *({**PDL, "transform": t, "scale": "cell"} for t in (None, "pca")),
    {**PDL, "n_codes": 40},
    {**PDL, "n_codes": 1},
    {**PDL, "n_super_patches": 300},
    {**QUICK, "contrast": None, "whitening": None},
    {**QUICK, "patch_size": (5, 8), "stride": 2, "image_shape": [32, 32, 3]},
    {**QUICK, "n_codes": np.int64(8), "alpha": np.float32(0.2), "two_sided": np.True_, "contrast_offset": np.float32(0.1)},
]


def say(settings):
    return " ".join(f"{name}={value}" for name, value in settings.items() if QUICK.get(name) != value) or "plain"


@pytest.mark.parametrize("settings", SETTINGS, ids=say)
def test_a_model_comes_back_as_it_was(photos, tmp_path, settings):
    model = PooledFeatures(**settings).fit(photos)
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert same(state(again), state(model)) or settings["n_codes"] is SETTINGS[-1]["n_codes"]  # NumPy's scalars: Python's
    assert again.transform(photos).tobytes() == model.transform(photos).tobytes()
    assert again.get_params() == model.get_params()
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("settings", SETTINGS, ids=say)
def test_a_slim_model_gives_the_same_features(photos, tmp_path, settings):
    model = PooledFeatures(**settings).fit(photos)
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    assert again.transform(photos).tobytes() == model.transform(photos).tobytes()
    assert same(again.selected_, model.selected_)
    assert again.get_params() == model.get_params()
    left_out = {"candidates", "covariance", "cluster", "label"}
    assert left_out.isdisjoint(read((tmp_path / "slim.safetensors").read_bytes())[1])


def test_a_slim_model_says_why_it_cannot_choose_again(model, tmp_path):
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    with pytest.raises(ValueError, match="saved with slim=True, without its candidates"):
        again.reselect(n_codes=3)
    save(again, tmp_path / "again.safetensors")  # what is slim stays slim
    assert same(state(load(tmp_path / "again.safetensors")), state(again))


def test_a_plain_model_has_nothing_to_leave_out(images, tmp_path):
    model = PooledFeatures(4, patch_size=4, n_patches=500, random_state=0).fit(images)
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    assert same(state(again), state(model))
    with pytest.raises(ValueError, match="fitted without candidates"):
        again.reselect(n_codes=3)


@pytest.mark.parametrize(
    "changes",
    [{}, {"n_codes": 3}, {"selection": "greedy"}, {"selection": "random"}, {"transform": "pca"}, {"random_state": 7}],
    ids=str,
)
def test_choosing_again_gives_the_same_before_and_after(model, images, raw, tmp_path, changes):
    (tmp_path / "model.safetensors").write_bytes(raw)
    again = load(tmp_path / "model.safetensors")
    a, b = again.reselect(**changes), model.reselect(**changes)
    assert same({**state(a), "timings_": 0}, {**state(b), "timings_": 0})
    assert a.transform(images).tobytes() == b.transform(images).tobytes()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), 3])
def test_choosing_again_has_the_seed_of_the_fit(images, tmp_path, random_state):
    model = PooledFeatures(5, 16, patch_size=4, n_patches=500, selection="random", random_state=random_state).fit(images)
    save(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").reselect().selected_, model.selected_)


def test_a_random_state_that_is_no_number_is_noted(images, tmp_path):
    model = PooledFeatures(4, patch_size=4, n_patches=500, random_state=np.random.RandomState(0)).fit(images)
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").random_state is None
    notes = describe(tmp_path / "m.safetensors")["parts"]["features"]["notes"]
    assert notes == ["random_state was a RandomState, which JSON cannot hold; saved as None"]


@pytest.mark.parametrize("image_shape", [None, (12, 12)])
@pytest.mark.filterwarnings("ignore:rows of 144 numbers look like")
def test_flattened_rows(images, tmp_path, image_shape):
    rows = images.reshape(40, -1)
    model = PooledFeatures(4, 8, patch_size=4, n_patches=500, image_shape=image_shape, random_state=0).fit(rows)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.transform(rows).tobytes() == model.transform(rows).tobytes()
    assert again.get_params()["image_shape"] == image_shape


def test_names_of_columns(images, tmp_path):
    table = pd.DataFrame(images.reshape(40, -1), columns=[f"pixel {i} ä" for i in range(144)])
    model = PooledFeatures(4, patch_size=4, n_patches=500, image_shape=(12, 12), random_state=0).fit(table)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert same(state(again), state(model))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(table.rename(columns={"pixel 0 ä": "other"}))


def test_what_set_params_changed_since_the_fit_stays_apart(model, images, tmp_path):
    changed = pickle.loads(pickle.dumps(model)).set_params(  # noqa: S301 - our own
        alpha=9.0, encoder="triangle", two_sided=False, stride=3, pool="max", n_candidates=None, grid=1, transform=None
    )
    save(changed, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.transform(images).tobytes() == model.transform(images).tobytes()
    assert again.get_params() == changed.get_params()


def test_a_loaded_model_is_a_normal_estimator(model, images, raw, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(raw)
    again = load(tmp_path / "m.safetensors")
    check_is_fitted(again)
    assert repr(again) == repr(model)
    assert clone(again).get_params() == model.get_params()
    assert clone(again).fit(images).transform(images).tobytes() == model.transform(images).tobytes()
    assert same(state(pickle.loads(pickle.dumps(again))), state(model))  # noqa: S301 - our own
    assert all(array.flags.writeable for array in vars(again).values() if isinstance(array, np.ndarray))
    with pytest.raises(ValueError, match="images of 9×9 pixels"):
        again.transform(np.zeros((1, 9, 9)))


def test_features_are_the_same_in_another_process(model, images, raw, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(raw)
    np.save(tmp_path / "images.npy", images)
    code = (
        "import sys, numpy, poolwise; m = poolwise.load('m.safetensors');"
        "sys.stdout.buffer.write(m.transform(numpy.load('images.npy')).tobytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == model.transform(images).tobytes()


def test_any_reader_of_safetensors_can_read_the_arrays(model, raw, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(raw)
    with safe_open(tmp_path / "m.safetensors", "numpy") as file:
        assert list(file.metadata()) == ["poolwise"]
        assert same(file.get_tensor("features.covariance"), model.covariance_)


def test_the_checksum_is_what_the_description_says(raw):
    document, arrays = read(raw)
    assert sign(document, arrays) == document


def test_what_a_file_tells(raw, tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw)
    told = describe(path)
    assert told["format"] == 1
    assert told["libraries"].keys() == {"poolwise", "numpy", "scikit-learn", "python"}
    assert told["provenance"]["told"] == {"images": 40}
    assert told["provenance"]["saved"].endswith("+00:00")
    fitted = told["parts"]["features"]["fitted"]
    assert (fitted["image_shape"], fitted["patch_size"], fitted["grids"]) == ([12, 12, 1], [4, 4], [[2, 2]])
    assert fitted["timings"].keys() >= {"dictionary", "selection"}


def test_free_text_as_provenance(model, tmp_path):
    save(model, tmp_path / "m.safetensors", provenance="Zürich, 3 cameras; “night”\n")
    assert describe(tmp_path / "m.safetensors")["provenance"]["told"] == {"note": "Zürich, 3 cameras; “night”\n"}


@pytest.mark.parametrize(
    "told", [{"a": [1]}, {"a": float("nan")}, {1: "a"}, {"a": object()}, {"a": "x" * 10**6}, {"a": "\ud800"}]
)
def test_provenance_that_json_cannot_tell_is_refused(model, tmp_path, told):
    with pytest.raises((TypeError, ModelFileError)):
        save(model, tmp_path / "m.safetensors", provenance=told)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "other",
    [
        LinearSVC(),
        Pipeline([]),
        make_pipeline(PooledFeatures(), LinearSVC()),
        make_pipeline(LinearSVC()),
        {"a": 1},
        PooledFeatures,
    ],
    ids=lambda other: type(other).__name__,
)
def test_what_cannot_be_saved_is_told_what_can(other, tmp_path):
    with pytest.raises(TypeError, match=r"cannot be saved; expected a fitted PooledFeatures, or a Pipeline of one"):
        save(other, tmp_path / "m.safetensors")


def test_a_subclass_would_come_back_as_something_else(tmp_path):
    with pytest.raises(TypeError, match="cannot be saved"):
        save(type("Mine", (PooledFeatures,), {})(), tmp_path / "m.safetensors")


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(PooledFeatures(), tmp_path / "m.safetensors")
    assert os.listdir(tmp_path) == []


def test_the_umask_is_honoured(model, tmp_path):
    before = os.umask(0o027)
    try:
        save(model, tmp_path / "m.safetensors")
    finally:
        os.umask(before)
    assert (tmp_path / "m.safetensors").stat().st_mode & 0o777 == 0o640


def test_what_could_not_be_loaded_is_not_saved(model, tmp_path):
    (tmp_path / "m.safetensors").write_bytes(b"old")
    broken = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    broken.whitening_mean_[0] = np.nan
    with pytest.raises(ModelFileError, match=r"m\.safetensors cannot be saved: the array 'features.whitening_mean' has values"):
        save(broken, tmp_path / "m.safetensors")
    with pytest.raises(ModelFileError, match="cannot be saved: alpha must be"):
        save(pickle.loads(pickle.dumps(model)).set_params(alpha=-1), tmp_path / "m.safetensors")  # noqa: S301 - our own
    assert (tmp_path / "m.safetensors").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.safetensors"]
