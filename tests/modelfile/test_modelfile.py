"""What was saved comes back, to the bit."""

import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from poolwise import ZCA, KMeans, Patches, Pool, PooledFeatures, SecondOrder, Standardize, Threshold, load, save
from poolwise.method.dictionaries import DICTIONARIES
from poolwise.method.presets import PRESETS
from poolwise.method.selection import WAYS
from poolwise.modelfile import FORMAT, ModelFileError, describe

from forge import arrays_of, read, same, sign, state
from settings import QUICK, paper_features

PDL = {**QUICK, "n_candidates": 40}
PRESET_PARTS = [{**parts, "n_patches": 3000} for parts in PRESETS.values()]
for parts in PRESET_PARTS:
    if isinstance(parts["dictionary"], KMeans):
        parts["dictionary"] = parts["dictionary"].but(max_iter=5)
PLAIN = {"encoder": Threshold(0.2, True), "descriptor": Patches(6, offset=0.1), "pooling": Pool("average", grid=[1, (1, 2)])}
NUMPY = {
    "n_codes": np.int64(8),
    "encoder": Threshold(np.float64(0.2), np.True_),
    "descriptor": Patches(np.int16(6), offset=np.float64(0.1)),
    "pooling": Pool("average", grid=[np.int64(1), (np.uint8(1), np.int32(2))]),
}
SETTINGS = [
    QUICK,
    PDL,
    *({**QUICK, **parts} for parts in PRESET_PARTS),
    *({**PDL, **parts} for parts in PRESET_PARTS),
    *({**QUICK, "dictionary": method} for method in DICTIONARIES.by_word),
    *({**PDL, "selection": way} for way in WAYS),
    *({**PDL, "encoder": encoder, "scale": scale} for encoder in ("triangle", "nearest") for scale in ("shared", "cell", None)),
    *({**PDL, "pooling": Pool(how, grid=[1, (2, 3)])} for how in Pool.words if how != "auto"),
    *(
        {**PDL, "projection": t, "encoder": Threshold(0.25, two_sided=two)}
        for t in (None, "nystrom", "pca")
        for two in (False, True)
    ),
    *({**PDL, "projection": t, "scale": Standardize("cell", offset=0.1)} for t in (None, "pca")),
    {**PDL, "n_codes": 40},
    {**PDL, "n_codes": 1},
    {**PDL, "n_super_patches": 300},
    {**QUICK, "descriptor": Patches(contrast=None), "whitening": None},
    {**QUICK, "whitening": ZCA("variance", offset=1)},
    {**QUICK, "descriptor": Patches((5, 8), stride=2), "image_shape": [32, 32, 3]},
    {**QUICK, "descriptor": Patches([5, 8])},
    {**PDL, "encoder": Threshold((0.5, 0.1), True), "symmetry": "mirror"},
    {**PDL, "encoder": Threshold([0.5, 0.1], two_sided=False), "selection": "supervised", "scale": "cell"},
    {**PDL, "selection": "supervised", "projection": None, "pooling": Pool("max", grid=3)},
    {**PDL, "selection": "supervised", "pooling": SecondOrder(1), "whitening": ZCA(rank=20)},
    {**QUICK, "whitening": ZCA("variance", rank="auto"), "symmetry": "dihedral"},
    {**PDL, "whitening": ZCA(rank=30), "encoder": "triangle"},
    {**QUICK, "whitening": ZCA(rank=5000)},
    *({**QUICK, "pooling": SecondOrder([1, 2], normalize, 0.2)} for normalize in ("root", "power", "log", None)),
]


def say(settings):
    return " ".join(f"{name}={value}" for name, value in settings.items() if QUICK.get(name) != value) or "plain"


@pytest.fixture(scope="module")
def some(photos):
    """A quarter of the photos."""
    return photos[::4]


@pytest.fixture(scope="module", params=SETTINGS, ids=say)
def fitted(request, some):
    """A model of each setting, fitted once for all tests."""
    return paper_features(**request.param).fit(some, np.arange(len(some)) % 5)


def test_a_model_comes_back_as_it_was(fitted, some, tmp_path):
    model = fitted
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert same(state(again), state(model))
    assert again.transform(some).tobytes() == model.transform(some).tobytes()
    assert again.get_params() == model.get_params()
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("slim", [False, True])
def test_numbers_of_numpy_come_back_as_numbers_of_python(some, tmp_path, slim):
    photos = some
    model, plain = paper_features(**{**PDL, **NUMPY}).fit(photos), paper_features(**{**PDL, **PLAIN}).fit(photos)
    for name, one in (("numpy", model), ("plain", plain)):
        save(one, tmp_path / f"{name}.safetensors", slim=slim)
    again, expected = (load(tmp_path / f"{name}.safetensors") for name in ("numpy", "plain"))
    assert same({**state(again), "timings_": 0}, {**state(expected), "timings_": 0})
    assert again.transform(photos).tobytes() == model.transform(photos).tobytes()
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("alpha", [Fraction(1, 5), np.float32(0.2), np.float16(0.2)], ids=repr)
def test_a_number_of_any_kind_can_be_saved(some, tmp_path, alpha):
    photos = some
    model = paper_features(**QUICK, encoder=Threshold(alpha, two_sided=False)).fit(photos)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert type(again.layer_.encoder.alpha) is float
    assert again.transform(photos).tobytes() == model.transform(photos).tobytes()


def test_a_slim_model_gives_the_same_features(fitted, some, tmp_path):
    model = fitted
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    assert again.transform(some).tobytes() == model.transform(some).tobytes()
    assert same(again.selected_, model.selected_)
    assert again.get_params() == model.get_params()
    document, arrays = read((tmp_path / "slim.safetensors").read_bytes())
    rest = {name for name in arrays if not name.startswith("features.layers.0.")}
    assert rest <= {"features.objective", "features.selection.selected"}
    assert "features.layers.0.codes" in arrays
    assert document["parts"]["features"]["candidates"] is None
    assert (again.candidates_, again.covariance_) == (None, None)
    assert again.n_candidates_ == model.n_candidates_
    if model.selection_ is not None:
        assert (again.selection_.label, again.selection_.propagation, again.cluster_) == (None, None, None)


def test_a_slim_model_says_why_it_cannot_choose_again(model, tmp_path):
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    with pytest.raises(ValueError, match="saved with slim=True, without its candidates"):
        again.reselect(n_codes=3)
    save(again, tmp_path / "again.safetensors")  # what is slim stays slim
    assert same(state(load(tmp_path / "again.safetensors")), state(again))


def test_a_plain_model_has_nothing_to_leave_out(images, tmp_path):
    model = paper_features(4, descriptor=Patches(4), n_patches=500, random_state=0).fit(images)
    save(model, tmp_path / "slim.safetensors", slim=True)
    again = load(tmp_path / "slim.safetensors")
    assert same(state(again), state(model))
    with pytest.raises(ValueError, match="fitted without candidates"):
        again.reselect(n_codes=3)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_codes": 3},
        {"selection": "greedy"},
        {"selection": "random"},
        {"projection": "pca"},
        {"projection": None},
        {"random_state": 7},
    ],
    ids=str,
)
def test_choosing_again_gives_the_same_before_and_after(model, images, raw, tmp_path, changes):
    (tmp_path / "model.safetensors").write_bytes(raw)
    again = load(tmp_path / "model.safetensors")
    a, b = again.reselect(**changes), model.reselect(**changes)
    assert same({**state(a), "timings_": 0}, {**state(b), "timings_": 0})
    assert a.transform(images).tobytes() == b.transform(images).tobytes()


@pytest.mark.parametrize("changes", [{}, {"n_codes": 3}, {"n_codes": 16}, {"projection": None}, {"random_state": 7}], ids=str)
@pytest.mark.parametrize("encoder", [Threshold(0.25, two_sided=False), Threshold((0.1, 0.5), True)], ids=repr)
def test_choosing_again_with_labels_gives_the_same_before_and_after(images, tmp_path, encoder, changes):
    cut, labels = Patches(4), np.arange(40) % 3
    model = paper_features(5, 16, descriptor=cut, encoder=encoder, selection="supervised", n_patches=500, random_state=0)
    model.fit(images, labels)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    a, b = again.reselect(**changes), model.reselect(**changes)
    assert same({**state(a), "timings_": 0}, {**state(b), "timings_": 0})
    assert a.transform(images).tobytes() == b.transform(images).tobytes()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), 3])
def test_choosing_again_has_the_seed_of_the_fit(images, tmp_path, random_state):
    model = paper_features(5, 16, descriptor=Patches(4), n_patches=500, selection="random", random_state=random_state).fit(
        images
    )
    save(model, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").reselect().selected_, model.selected_)


def test_a_random_state_that_is_not_a_number_is_noted(images, tmp_path):
    model = paper_features(4, descriptor=Patches(4), n_patches=500, random_state=np.random.RandomState(0)).fit(images)
    save(model, tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").random_state is None
    notes = ["random_state was a RandomState, which JSON cannot hold; saved as None"]
    assert read((tmp_path / "m.safetensors").read_bytes())[0]["parts"]["features"]["notes"] == notes
    assert describe(tmp_path / "m.safetensors").notes == notes  # so that somebody can see it


@pytest.mark.parametrize("image_shape", [None, (12, 12)])
@pytest.mark.filterwarnings("ignore:rows of 144 numbers look like")
def test_flattened_rows(images, tmp_path, image_shape):
    rows = images.reshape(40, -1)
    model = paper_features(4, 8, descriptor=Patches(4), n_patches=500, image_shape=image_shape, random_state=0).fit(rows)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.transform(rows).tobytes() == model.transform(rows).tobytes()
    assert again.get_params()["image_shape"] == image_shape


def test_names_of_columns(images, tmp_path):
    table = pd.DataFrame(images.reshape(40, -1), columns=[f"pixel {i} ä" for i in range(144)])
    model = paper_features(4, descriptor=Patches(4), n_patches=500, image_shape=(12, 12), random_state=0).fit(table)
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert same(state(again), state(model))
    with pytest.raises(ValueError, match="feature names should match"):
        again.transform(table.rename(columns={"pixel 0 ä": "other"}))


def test_what_set_params_changed_since_the_fit_stays_apart(model, images, tmp_path):
    changed = pickle.loads(pickle.dumps(model)).set_params(  # noqa: S301 - our own
        encoder="triangle", descriptor=Patches(5, stride=3), pooling=Pool("max", grid=1), n_candidates=None, projection=None
    )
    changed.set_params(dictionary="gaussian", whitening=None, scale=None, n_codes=7)
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
    assert len(arrays_of(vars(again))) > 10
    assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays_of(vars(again)))
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
        assert same(file.get_tensor("features.candidates.covariance"), model.covariance_)
        assert same(file.get_tensor("features.layers.0.projection"), model.projection_)


def test_the_checksum_is_what_the_description_says(raw):
    document, arrays = read(raw)
    assert sign(document, arrays) == document


def test_the_description_of_a_file(model, raw, tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw)
    found = describe(path)
    assert (found.format, found.kind, found.classifier) == (FORMAT, "features", None) == (2, "features", None)
    assert found.libraries.keys() == {"poolwise", "numpy", "scikit-learn", "python"}
    assert found.provenance == {"images": 40}
    assert found.saved.endswith("+00:00")
    layer, own = found.layer, model.layer_
    assert (layer.image_shape, layer.descriptor, layer.encoder, layer.pooling) == (
        (12, 12, 1),
        Patches((4, 4)),
        Threshold(0.25, two_sided=True),
        Pool("average", grid=[(2, 2)]),
    )
    assert (layer.n_features, layer.n_cells, layer.n_outputs) == (own.n_features, own.n_cells, own.n_outputs) == (40, 4, 10)
    assert layer.multiply_adds == own.multiply_adds
    assert (layer.projection.kind, layer.projection.T.shape) == ("nystrom", (10, 10))
    assert (found.n_candidates, found.is_slim) == (16, False)
    assert found.parameters["encoder"] == {"part": "Threshold", "alpha": 0.25, "two_sided": True}
    assert found.parameters["pooling"] == {"part": "Pool", "how": "average", "grid": 2, "root": False}
    assert found.parameters["whitening"] == "std"  # a word stays a word
    assert found.fitted["timings"].keys() >= {"dictionary", "selection"}


@pytest.mark.parametrize("slim", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_candidates": 20},
        {"n_candidates": 20, "projection": "pca"},
        {"n_candidates": 20, "selection": "supervised", "encoder": Threshold((0.1, 0.5), two_sided=False)},
        {"pooling": SecondOrder(1), "whitening": ZCA(rank=20), "symmetry": "mirror"},
    ],
    ids=str,
)
def test_the_description_agrees_with_the_model(some, tmp_path, changes, slim):
    save(paper_features(**QUICK, **changes).fit(some, np.arange(len(some)) % 5), tmp_path / "m.safetensors", slim=slim)
    model, found = load(tmp_path / "m.safetensors"), describe(tmp_path / "m.safetensors")
    assert found.n_candidates == model.n_candidates_ == changes.get("n_candidates")
    is_chosen = "n_candidates" in changes
    assert found.is_slim == (slim and is_chosen) == (model.candidates_ is None and is_chosen)
    assert found.layer.n_features == model.layer_.n_features
    assert found.layer.symmetry == model.layer_.symmetry
    assert found.layer.codes.shape == model.codes_.shape
    assert found.layer.multiply_adds == model.layer_.multiply_adds


def test_a_file_of_format_1_is_saved_again_as_format_2(golden, tmp_path):
    for kind, content in golden.items():
        (tmp_path / "old.safetensors").write_bytes(content)
        model = load(tmp_path / "old.safetensors")
        save(model, tmp_path / "new.safetensors")
        assert (describe(tmp_path / "old.safetensors").format, describe(tmp_path / "new.safetensors").format) == (1, 2), kind
        again = load(tmp_path / "new.safetensors")
        if isinstance(model, Pipeline):
            assert list(again.named_steps) == list(model.named_steps)
        assert same(state(again), state(model)), kind


def test_free_text_as_provenance(model, tmp_path):
    save(model, tmp_path / "m.safetensors", provenance="Zürich, 3 cameras; “night”\n")
    assert describe(tmp_path / "m.safetensors").provenance == {"note": "Zürich, 3 cameras; “night”\n"}


@pytest.mark.parametrize(
    "told", [{"a": [1]}, {"a": float("nan")}, {1: "a"}, {"a": object()}, {"a": "x" * 10**6}, {"a": "\ud800"}]
)
def test_provenance_that_json_cannot_hold_is_refused(model, tmp_path, told):
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
def test_what_cannot_be_saved_gets_to_know_what_can(other, tmp_path):
    with pytest.raises(TypeError, match=r"cannot be saved; expected a fitted PooledFeatures or StackedFeatures, or a Pipe"):
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
    with pytest.raises(
        ModelFileError, match=r"m\.safetensors cannot be saved: the array 'features.layers.0.whitening_mean' has values"
    ):
        save(broken, tmp_path / "m.safetensors")
    with pytest.raises(ModelFileError, match="cannot be saved: alpha must be"):
        save(pickle.loads(pickle.dumps(model)).set_params(encoder__alpha=-1), tmp_path / "m.safetensors")  # noqa: S301 - our own
    assert (tmp_path / "m.safetensors").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.safetensors"]
