"""A fit that fails or is interrupted leaves a fitted model exactly as it was."""

import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from poolwise import Patches, PooledFeatures, Threshold
from poolwise.estimators import images as looking
from poolwise.estimators import pooled_features
from poolwise.support.types import ImageSource

from forge import same, state
from settings import paper_features

SMALL = {"descriptor": Patches(3), "n_patches": 300, "image_shape": (8, 8), "random_state": 0}


def pixels(seed, n=40):
    return np.random.default_rng(seed).integers(0, 256, size=(n, 64), dtype=np.uint8)


def table(seed, prefix):
    return pd.DataFrame(pixels(seed), columns=[f"{prefix}{i}" for i in range(64)])


@pytest.fixture(params=[None, 12], ids=["plain", "candidates"])
def fitted(request):
    """A model with everything that a fit can leave behind, names of columns too; it has been used."""
    model = paper_features(4, request.param, **SMALL).fit(table(0, "a"))
    model.transform(table(0, "a"))
    return model


def unchanged(model, before, features):
    """The same attributes, each the same object."""
    return (
        vars(model).keys() == before.keys()
        and all(vars(model)[name] is before[name] for name in before)
        and model.transform(table(0, "a")).tobytes() == features.tobytes()
    )


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
@pytest.mark.parametrize(
    "images",
    [
        np.full((5, 64), 9, np.uint8),  # fails late: no codes to learn
        pd.DataFrame(np.full((5, 64), 9), columns=[f"b{i}" for i in range(64)]),  # with other names
        np.full((5, 8, 8), 9, np.uint8),
        pixels(1)[:, :63],
        np.where(pixels(1) == 7, np.nan, pixels(1)),
        np.zeros((0, 64)),
        np.zeros((4, 2, 2, 1)),
        pixels(1).astype(float) * 1e300,
        None,
    ],
    ids=["constant", "constant table", "constant images", "too short", "NaN", "empty", "other shape", "too large", "None"],
)
def test_images_that_fail(fitted, images, method):
    before, features = dict(vars(fitted)), fitted.transform(table(0, "a"))
    with pytest.raises(ValueError), np.errstate(all="ignore"):
        getattr(fitted, method)(images)
    assert unchanged(fitted, before, features)
    assert fitted.feature_names_in_[0] == "a0"


@pytest.mark.parametrize(
    "changes",
    [{"n_codes": 0}, {"encoder": "soft"}, {"pooling__grid": 7}, {"descriptor__size": 9}, {"n_jobs": 0}, {"random_state": "x"}],
    ids=str,
)
def test_parameters_that_fail(fitted, changes):
    features = fitted.transform(table(0, "a"))
    fitted.set_params(**changes)
    before = dict(vars(fitted))
    with pytest.raises(ValueError):
        fitted.fit(table(1, "b"))
    fitted.set_params(n_jobs=None)
    assert unchanged(fitted, {**before, "n_jobs": None}, features)


class Interrupting(ImageSource):
    """Images whose reader presses Ctrl-C when a number of images has been read."""

    def __init__(self, after):
        self.images = pixels(2, 400).reshape(400, 8, 8, 1)
        self.shape, self.dtype = self.images.shape, self.images.dtype
        self.left, self.read, self.lock = after, 0, threading.Lock()

    def __getitem__(self, rows):
        found = self.images[rows]
        with self.lock:
            self.left -= len(found)
            self.read += len(found)
        if self.left < 0:
            raise KeyboardInterrupt
        return found


def test_an_interrupt_while_images_are_read(fitted):
    before, features = dict(vars(fitted)), fitted.transform(table(0, "a"))
    whole = Interrupting(10**9)
    clone(fitted).set_params(image_shape=None).fit(whole)
    assert whole.read > 400  # for patches, and for pooling
    for after in np.linspace(0, whole.read - 1, 6, dtype=int):
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(Interrupting(after))
        assert unchanged(fitted, before, features), after


CHANGING = {
    PooledFeatures._fit.__code__,
    PooledFeatures._store.__code__,
    PooledFeatures._warn_of_selection.__code__,
    looking.remember.__code__,
    looking.look_at.__code__,
    pooled_features.warn_if_restless.__code__,
}


class Interrupts:
    """Interrupts the n-th line that runs in the functions of `fit` that change the model, as a signal might."""

    def __init__(self, at=None):
        self.at, self.lines = at, 0

    def __enter__(self):
        self.other = sys.gettrace()  # that of a debugger, say
        sys.settrace(self.call)
        return self

    def __exit__(self, *error):
        sys.settrace(self.other)

    def call(self, frame, event, argument):
        return self.line if frame.f_code in CHANGING else None

    def line(self, frame, event, argument):
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self.line


def test_an_interrupt_at_any_line(fitted):
    """Afterwards it is the old model or, if all was done, the new one: never some of each."""
    old, features = dict(vars(fitted)), fitted.transform(table(0, "a"))
    fresh = clone(fitted)
    with Interrupts() as counted:
        fresh.fit(table(1, "b"))
    assert counted.lines > 15
    torn = []
    for at in range(1, counted.lines + 1):
        with Interrupts(at), pytest.raises(KeyboardInterrupt):
            fitted.fit(table(1, "b"))
        if not unchanged(fitted, old, features) and not same({**state(fitted), "timings_": 0}, {**state(fresh), "timings_": 0}):
            torn.append(at)
        vars(fitted).clear()
        vars(fitted).update(old)
    assert torn == []


def test_a_warning_that_was_made_an_error():
    model = paper_features(4, 12, **SMALL).fit(table(0, "a"))
    features, before = model.transform(table(0, "a")), dict(vars(model))
    model.set_params(encoder=Threshold(alpha=50.0, two_sided=False))
    before["encoder"] = model.encoder
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="0 of the 12 candidates respond"):
            model.fit(table(1, "b"))
    assert unchanged(model, before, features)


def test_a_fit_that_succeeds_forgets_the_names_of_columns(fitted):
    fitted.fit(pixels(1))
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.fit(table(1, "b")).feature_names_in_[0] == "b0"


def test_choosing_again_in_vain_leaves_the_model_as_it_was():
    model = paper_features(4, 12, **SMALL).fit(table(0, "a"))
    features, before = model.transform(table(0, "a")), dict(vars(model))
    for changes in ({"n_codes": 13}, {"selection": "best"}, {"projection": "whiten"}, {"random_state": -1}, {"n_codes": "x"}):
        with pytest.raises(ValueError):
            model.reselect(**changes)
        assert unchanged(model, before, features)
