"""Ours next to others: what is measured is what a user would get, and a row that cannot be measured says why."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVMCV, PooledFeatures, save
from poolwise.reproduction import defaults, domains
from poolwise.reproduction.domains import key, measure
from poolwise.reproduction.peers import PEERS
from poolwise.reproduction.protocols import PROTOCOLS, Data, Settings
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store
from poolwise.reproduction.tables.domains import DOMAINS


@pytest.fixture
def few(photos, monkeypatch):
    """80 photos to learn from, 80 to test on, of eight pictures; a fit takes a second."""
    monkeypatch.setattr(domains, "QUICK", {"n_patches": 3000, "dictionary__max_iter": 3})
    monkeypatch.setattr(defaults, "CODES", 32)
    monkeypatch.setattr(domains, "PRESETS", {"coates2011": 32, "random convolutions": 16})
    labels = np.repeat(np.arange(8), 10)
    return Data(photos[:80], labels, photos[:80, ::-1], labels)


@pytest.fixture
def settings(few, monkeypatch):
    settings = Settings()
    monkeypatch.setattr(settings, "data", lambda dataset, quick: few)
    return settings


def test_a_preset_is_measured_as_a_user_gets_it(few, settings, tmp_path):
    measure(["photos"], Store(tmp_path), settings, [].append, seeds=[1], quick=True, rows=["coates2011"])
    found = Store(tmp_path).finding(key("photos", "coates2011", 1, True))
    features = PooledFeatures.preset("coates2011", n_codes=8, n_patches=3000, random_state=1).set_params(dictionary__max_iter=3)
    model = make_pipeline(features, LinearSVMCV()).fit(few.train, few.train_labels)
    save(model, tmp_path / "model.safetensors", slim=True)
    assert found["accuracy"] == model.score(few.test, few.test_labels)
    assert found["gamma"] == model[-1].gamma_
    assert found["features"] == 8 * 2 * 4
    assert found["bytes"] == pytest.approx((tmp_path / "model.safetensors").stat().st_size, abs=200)  # dates, seconds


def test_a_peer_has_a_gamma_of_its_own(few, settings, tmp_path):
    measure(["photos"], Store(tmp_path), settings, [].append, seeds=[0], quick=True, rows=["band statistics"])
    found = Store(tmp_path).finding(key("photos", "band statistics", 0, True))
    peer = PEERS["band statistics"](few.train.shape[1:])
    svm = LinearSVMCV().fit(peer.fit_transform(few.train, few.train_labels), few.train_labels)
    assert found["accuracy"] == svm.score(peer.transform(few.test), few.test_labels)
    assert (found["gamma"], found["features"]) == (svm.gamma_, 21 * 12)
    assert found["bytes"] == 4 * (2 * 252 + 8 * 252 + 8)


def test_accuracies_that_are_known_are_not_measured_again_and_losses_are_named(settings, tmp_path):
    store = Store(tmp_path)
    words = "8 codes, second order (root), grid 1, α 0.25, patches 6, whitening 0.1, scale 0.001"
    for way, accuracy in (("2012", 0.5), ("default", 0.0), ("tuned", 1.0)):
        found = {"accuracy": accuracy, "chosen": words, "features": 36, "gamma": None}
        store.add_finding(defaults.key("photos", way, 0, True), found)
    said = []
    measure(["photos"], store, settings, said.append, seeds=[0], quick=True, rows=["tuned", "raw pixels"])
    assert [text.split(":")[1].split()[0] for text in said] == ["tuned", "raw"]
    of_tuned = store.finding(key("photos", "tuned", 0, True))
    assert "accuracy" not in of_tuned
    assert of_tuned["features"] == 36, "learned from the words of what was chosen"
    section = DOMAINS.section(Results(store, quick=True)).partition(PROTOCOLS["photos"].title)[2]
    (line,) = [line for line in section.splitlines() if line.startswith("| tuned ")]
    assert [cell.strip() for cell in line.split("|")[2:4]] == ["100.00", "36"]
    pixels = store.finding(key("photos", "raw pixels", 0, True))["accuracy"]
    assert f"More accurate than *default*: raw pixels (+{100 * pixels:.2f})." in section
    assert "More accurate than *tuned*: none of the 1 others" in section
    measure(["photos"], store, settings, said.append, seeds=[0], quick=True, rows=["tuned", "raw pixels"])
    assert len(said) == 2


def test_what_cannot_be_measured_says_why_and_is_tried_again(settings, tmp_path, monkeypatch):
    store, said = Store(tmp_path), []

    def absent(shape):
        raise ImportError("no module of that name")

    monkeypatch.setitem(PEERS, "scattering", absent)
    rows = ["scattering", "small CNN, as long"]
    for _ in range(2):
        measure(["photos"], store, settings, said.append, seeds=[0], quick=True, rows=rows)
    reasons = [text.partition("left out, ")[2] for text in said]
    assert reasons == 2 * ["no module of that name", "how long the default learns was not measured"]
    section = DOMAINS.section(Results(store, quick=True))
    assert "Left out: scattering: no module of that name." in section
