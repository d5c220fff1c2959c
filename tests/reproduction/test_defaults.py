"""The defaults next to those of 2012 and to tune: what is measured is what a user would get, and it goes on."""

import numpy as np
import pytest

from poolwise import LinearSVMCV, PooledFeatures
from poolwise.reproduction import defaults
from poolwise.reproduction.defaults import key, measure, measured
from poolwise.reproduction.protocols import PROTOCOLS, Data, Settings
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store
from poolwise.reproduction.tables.defaults import DEFAULTS
from poolwise.tuning.search import tune


@pytest.fixture
def few(photos, monkeypatch):
    """80 photos to learn from, 80 to test on, of eight pictures; a fit takes a second."""
    monkeypatch.setattr(defaults, "CODES", 32)
    monkeypatch.setattr(defaults, "_QUICK_TRIALS", 2)
    monkeypatch.setattr(defaults, "QUICK", {"n_patches": 3000, "dictionary__max_iter": 3})
    labels = np.repeat(np.arange(8), 10)
    return Data(photos[:80], labels, photos[:80, ::-1], labels)


def test_the_default_is_what_a_user_gets(few):
    found = measured(few, "default", seed=1, quick=True, n_jobs=1)
    model = PooledFeatures(8, n_patches=3000, random_state=1, n_jobs=1).set_params(dictionary__max_iter=3)
    svm = LinearSVMCV(n_jobs=1).fit(model.fit_transform(few.train, few.train_labels), few.train_labels)
    assert found["accuracy"] == svm.score(model.transform(few.test), few.test_labels)
    assert found["features"] == model.layer_.n_features
    assert found["chosen"].startswith(model.layer_.pooling.word)
    assert found["chosen"].endswith(model.layer_.symmetry or "no symmetry")


def test_before_is_plain_kmeans_with_the_constants_of_the_paper(few):
    found = measured(few, "2012", seed=0, quick=True, n_jobs=1)
    assert (found["chosen"], found["features"]) == ("average 2×2, no symmetry", 32)


def test_tuned_is_the_winner_of_a_search_fitted_to_all_training_images(few):
    found = measured(few, "tuned", seed=0, quick=True, n_jobs=1)
    search = tune(few.train, few.train_labels, 8, trials=2, random_state=0, n_jobs=1)
    assert (found["trials"], found["chosen"]) == (2, search.chosen.setting.words)
    X = search.best.fit_transform(few.train, few.train_labels)
    svm = LinearSVMCV(n_jobs=1).fit(X, few.train_labels)
    assert found["accuracy"] == svm.score(search.best.transform(few.test), few.test_labels)


def test_what_the_store_has_is_not_measured_again(few, tmp_path, monkeypatch):
    settings, said = Settings(), []
    monkeypatch.setattr(settings, "data", lambda dataset, quick: few)
    measure(["photos"], Store(tmp_path), settings, said.append, seeds=[0], quick=True)
    assert [text.split(":")[0] for text in said] == [key("photos", way, 0, True) for way in ("2012", "default", "tuned")]
    monkeypatch.setattr(defaults, "measured", None)
    measure(["photos"], Store(tmp_path), settings, said.append, seeds=[0], quick=True)
    assert len(said) == 3
    section = DEFAULTS.section(Results(Store(tmp_path), quick=True))
    (line,) = [line for line in section.splitlines() if PROTOCOLS["photos"].title in line]
    accuracy = Store(tmp_path).finding(key("photos", "default", 0, True))["accuracy"]
    assert f"{100 * accuracy:.2f}" in line


def test_data_that_are_not_here_are_left_out(tmp_path):
    said = []
    measure(["eurosat"], Store(tmp_path), Settings(home=tmp_path), said.append, seeds=[0], quick=True)
    assert said
    assert said[0].startswith("defaults, eurosat: left out, ")
