"""Checkpoints: a fit that stops anywhere goes on with the same bits; those of other fits, and damaged ones, are refused."""

import json
import shutil

import numpy as np
import pytest

import poolwise
from poolwise import KMeans, LinearSVM, LinearSVMCV, Pool, PooledFeatures, RandomCodes
from poolwise.modelfile import checkpoints
from poolwise.support.steps import CheckpointError

QUICK = {"n_patches": 3000, "dictionary": KMeans(max_iter=6), "random_state": 0, "n_jobs": 1}
SETTINGS = {
    "supervised": {},
    "affinity": {"selection": "affinity", "pooling": Pool(grid=2), "n_super_patches": 400, "statistics": True},
    "cells, pca": {"selection": "affinity", "projection": "pca", "scale": "cell", "symmetry": None},
    "second order": {"n_candidates": None, "pooling": "second_order", "pooling__directions": 20, "dictionary": RandomCodes()},
}


class StopError(Exception):
    """In the place of a kill: nothing is cleaned up after it, for the folder is copied before."""


@pytest.fixture(scope="module")
def images(photos):
    return photos[::2, :20, :20]


@pytest.fixture(scope="module")
def labels(images):
    return np.array(["cat", "dog"])[np.arange(len(images)) // 3 % 2]


@pytest.fixture
def saves(monkeypatch):
    """What is kept, every round of it; stop_at : after how many."""

    class Saves:
        names, stop_at = [], None

    original = checkpoints._Steps.save

    def save(self, name, *given, **more):
        original(self, name, *given, **more)
        Saves.names.append(name)
        if len(Saves.names) == Saves.stop_at:
            raise StopError

    monkeypatch.setattr(checkpoints._Steps, "save", save)
    monkeypatch.setattr(checkpoints._Steps, "is_due", lambda self, name: True)
    return Saves


def fitted(folder, settings, images, labels):
    settings = {"n_candidates": 16, **QUICK, **settings}
    model = PooledFeatures(4, **{name: value for name, value in settings.items() if "__" not in name})
    model.set_params(**{name: value for name, value in settings.items() if "__" in name})
    with poolwise.checkpoints(folder, resume=True):
        X = model.fit_transform(images, labels)
        svm, plain = LinearSVMCV(cv=2, n_jobs=1).fit(X, labels), LinearSVM(n_jobs=1).fit(X[:, :20], labels)
    scale = model.layer_.scale
    features = [X, model.codes_, np.array(model.objective_), model.selected_, scale.mean, scale.spread, model.saw_labels_]
    held_out = [svm.scores_, np.array(svm.held_out_), np.array(svm.slope_)]
    return [*features, *held_out, svm.coef_, svm.intercept_, plain.coef_, plain.n_iter_]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_fit_that_is_stopped_goes_on_with_the_same_bits(tmp_path, saves, images, labels, name):
    expected = fitted(tmp_path / "whole", SETTINGS[name], images, labels)
    kept = list(saves.names)
    assert "codes" in kept
    assert not (tmp_path / "whole").exists()
    first = {step: kept.index(step) + 1 for step in ("rounds", "codes", "candidates", "choice", "outputs") if step in kept}
    moments = [*first.values(), *np.linspace(len(kept) // 2, len(kept) - 1, 3).astype(int).tolist()]
    for moment in sorted(set(moments)):
        folder = tmp_path / f"after {moment}"
        saves.names, saves.stop_at = [], moment
        with pytest.raises(StopError):
            fitted(folder, SETTINGS[name], images, labels)
        saves.names, saves.stop_at = [], None
        found = fitted(folder, SETTINGS[name], images, labels)
        assert len(saves.names) == len(kept) - moment, "what was kept was computed again"
        for ours, theirs in zip(found, expected, strict=True):
            assert np.array_equal(ours, theirs)


@pytest.fixture
def stopped(tmp_path, saves, images, labels):
    """A folder of a fit that was stopped behind its codes."""
    saves.stop_at = 9
    with pytest.raises(StopError):
        fitted(tmp_path / "steps", {}, images, labels)
    assert saves.names[-1] == "pooling"
    saves.names, saves.stop_at = [], None
    return tmp_path / "steps"


def test_other_data_and_settings_are_refused(stopped, images, labels):
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    for changes, what in (
        ({"images": images[:, ::-1]}, "other content"),
        ({"images": images[1:], "labels": labels[1:]}, "other shape and other content and other labels"),
        ({"labels": labels[::-1]}, "other labels"),
        ({"settings": {"n_patches": 3001}}, "other parameters"),
    ):
        given = {"settings": {}, "images": images, "labels": labels} | changes
        with pytest.raises(CheckpointError, match=rf"are of another fit, with {what}\. Give the same images"):
            fitted(stopped, **given)
    with pytest.raises(CheckpointError, match=r"was interrupted; go on with them by resume=True"):
        poolwise.checkpoints(stopped).__enter__()
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before


def test_a_folder_with_anything_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(CheckpointError, match=r"other files than checkpoints, such as 'thesis\.tex'"):
        poolwise.checkpoints(tmp_path, resume=True).__enter__()
    with pytest.raises(CheckpointError, match="is not a folder"):
        poolwise.checkpoints(tmp_path / "thesis.tex").__enter__()
    assert (tmp_path / "thesis.tex").exists()


def test_two_at_once_are_refused(tmp_path):
    with poolwise.checkpoints(tmp_path / "a"), pytest.raises(CheckpointError, match="another process keeps checkpoints"):
        poolwise.checkpoints(tmp_path / "a", resume=True).__enter__()


def damaged(raw):
    """Ways to damage a step's file: cut short, changed in its arrays, in its JSON, something else altogether."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    yield raw[:-1]
    yield raw[:-1] + bytes([raw[-1] ^ 1])
    yield raw.replace(b"converged", b"converted")
    yield b"\x80\x04" + raw[2:]
    yield b""
    for name in header:
        if name != "__metadata__":
            other = json.dumps({**header, name: {**header[name], "shape": [*header[name]["shape"], 1]}}).encode()
            yield len(other).to_bytes(8, "little") + other + raw[8 + length :]


def test_damaged_and_hostile_files_are_refused(tmp_path, stopped, images, labels):
    path = stopped / "0-PooledFeatures.codes.safetensors"
    for number, content in enumerate(damaged(path.read_bytes())):
        copy = tmp_path / str(number)
        shutil.copytree(stopped, copy)
        (copy / path.name).write_bytes(content)
        with pytest.raises(CheckpointError, match=r"codes\.safetensors is damaged"):
            fitted(copy, {}, images, labels)
    (stopped / "0-PooledFeatures.json").write_text('{"format": 1, "format": 1}')
    with pytest.raises(CheckpointError, match="the key 'format' twice"):
        fitted(stopped, {}, images, labels)


def test_a_step_of_another_name_is_refused(stopped, images, labels):
    (stopped / "0-PooledFeatures.pooling.safetensors").rename(stopped / "0-PooledFeatures.candidates.safetensors")
    with pytest.raises(CheckpointError, match=r"candidates\.safetensors is damaged"):
        fitted(stopped, {}, images, labels)


def test_a_fit_without_a_seed_goes_on_with_the_one_it_drew(tmp_path, saves, images):
    def codes():
        with poolwise.checkpoints(tmp_path / "steps", resume=True):
            return PooledFeatures(4, None, **{**QUICK, "random_state": None}).fit(images).codes_

    saves.stop_at = 5
    with pytest.raises(StopError):
        codes()
    saves.names, saves.stop_at = [], 2
    with pytest.raises(StopError):
        codes()
    assert saves.names == ["rounds", "rounds"]


def test_a_full_disk_ends_the_checkpoints_and_not_the_fit(tmp_path, images, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write", full)
    with poolwise.checkpoints(tmp_path / "steps"), pytest.warns(UserWarning, match="No space left.*the fit goes on"):
        assert len(PooledFeatures(4, None, **QUICK).fit(images).codes_) == 4
    assert not (tmp_path / "steps").exists()
