"""The budget: rows share a dictionary, features are those of PooledFeatures, γ comes from training images, and it goes on."""

from dataclasses import replace

import numpy as np
import pytest

from poolwise import Pool, PooledFeatures, SecondOrder, Threshold
from poolwise.reproduction import budget, protocols
from poolwise.reproduction.budget import Setting, Source, measure
from poolwise.reproduction.protocols import Settings
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store
from poolwise.reproduction.tables.budget import BUDGET, FRONTIER, SETTINGS

M, SEED = 24, 3
SUPERVISED = Setting("photos", "two sides", 8, encoder=Threshold((0.25, 1.0), two_sided=True), gammas=(0.01, 0.1))
SECOND = Setting("photos", "second order", 6, pooling=SecondOrder(1), symmetry="mirror", gammas=(0.1,))
ROWS = (SUPERVISED, SECOND, Setting("photos", "K-means", 8, None, mirrored=True, gammas=(0.1,)))


@pytest.fixture
def settings(protocol, monkeypatch):
    monkeypatch.setitem(protocols.PROTOCOLS, "photos", protocol)
    monkeypatch.setattr(budget, "CANDIDATES", M)
    return Settings(n_jobs=1)


def test_a_row_has_the_features_of_an_estimator_with_its_parts(settings, data):
    source = Source("photos", data, None, seed=SEED, quick=False, n_jobs=1)
    changes = settings and protocols.PROTOCOLS["photos"].changes
    model = PooledFeatures.preset(
        "jia2012", n_codes=8, n_candidates=M, random_state=SEED, selection="supervised", **changes, encoder=SUPERVISED.encoder
    )
    model.fit(data.train, data.train_labels)
    layer, _ = source.learned(SUPERVISED)
    np.testing.assert_array_equal(layer.codes, model.codes_)
    np.testing.assert_allclose(layer.features(data.test[:4]), model.transform(data.test[:4]), atol=2e-3)


def test_rows_are_measured_once_and_go_on_where_they_stopped(settings, tmp_path, monkeypatch):
    store, said = Store(tmp_path), []
    measure(ROWS[:1], store, settings, said.append, seeds=[SEED], quick=False)
    assert len(said) == 1
    found = store.finding(SUPERVISED.key(SEED, False))
    assert found["gamma"] in SUPERVISED.gammas
    assert 0.0625 < found["accuracy"] <= 1
    assert found["features"] == 8 * 4 * 4
    measure(ROWS, Store(tmp_path), settings, said.append, seeds=[SEED], quick=False)
    assert [SUPERVISED.name in line for line in said] == [True, False, False]
    again = Store(tmp_path)
    assert again.finding(SUPERVISED.key(SEED, False)) == found
    assert again.finding(SECOND.key(SEED, False))["features"] == 21


def test_a_data_set_that_is_not_here_is_left_out_with_a_reason(tmp_path):
    said = []
    row = Setting("eurosat", "any", 8)
    measure([row], Store(tmp_path / "store"), Settings(tmp_path), said.append, seeds=[0], quick=False)
    assert len(said) == 1
    assert "eurosat32.npz is not here" in said[0]


def test_bands_of_eurosat_have_one_scale(tmp_path, rng):
    x = rng.integers(0, 4000, (12, 32, 32, 13)).astype(np.uint16) * np.arange(1, 14, dtype=np.uint16)
    y = np.arange(12) % 3
    np.savez(tmp_path / "eurosat32.npz", x_train=x, y_train=y, x_test=x[:4], y_test=y[:4])
    data = protocols.PROTOCOLS["eurosat"].load(tmp_path)
    np.testing.assert_allclose(data.train.mean(axis=(0, 1, 2)), 128, atol=1e-2)
    np.testing.assert_allclose(data.train.std(axis=(0, 1, 2)), 40, rtol=1e-4)
    np.testing.assert_array_equal(data.test, data.train[:4])


def test_names_of_rows_differ_and_the_table_has_a_line_for_each(tmp_path):
    keys = [row.key(0, False) for row in SETTINGS]
    assert len(set(keys)) == len(keys)
    section = BUDGET.section(Results(Store(tmp_path)))
    assert all(row.name in section for row in FRONTIER)
    counts = {"cifar10": 0, "eurosat": 0, "cifar10-10000": 0}
    for line in section.partition("### Does it matter")[2].splitlines():
        for name in counts:
            counts[name] += line.startswith(f"| {name} ")
    assert counts == {"cifar10": 6, "eurosat": 3, "cifar10-10000": 4}
    assert BUDGET.pictures(Results(Store(tmp_path))) == {}


def test_the_table_has_mean_and_spread_over_seeds(tmp_path):
    store, row = Store(tmp_path), SETTINGS[0]
    for seed, accuracy in enumerate((0.70, 0.72)):
        facts = {"accuracy": accuracy, "held_out": 0.7, "gamma": 0.001, "features": 800, "products": 200, "ms": 0.2}
        store.add_finding(row.key(seed, False), facts)
    results = Results(store)
    assert "71.00 ± 1.41" in BUDGET.section(results)
    assert list(BUDGET.pictures(results)) == ["budget.png"]


def test_grids_of_rows_fit_their_images():
    for row in SETTINGS:
        assert row.pooling.n_cells <= 16
        assert isinstance(row.pooling, Pool | SecondOrder)


def test_what_stands_beside_a_row_joins_its_features(settings, data):
    source = Source("photos", data, None, seed=SEED, quick=False, n_jobs=1)
    labelled = replace(SECOND, pooling=SecondOrder(1, directions=5, directions_by="labels"))
    joined, parts = (
        source.measured(replace(SUPERVISED, beside=labelled)),
        [source.measured(row) for row in (SUPERVISED, labelled)],
    )
    assert joined["features"] == 8 * 4 * 4 + 5
    assert joined["products"] == sum(part["products"] for part in parts)
    _, X = source._joined(replace(SUPERVISED, beside=labelled), None)
    np.testing.assert_array_equal(X, np.hstack([source.learned(row)[1] for row in (SUPERVISED, labelled)]))


def test_mirrored_rows_do_not_go_with_directions_by_labels_beside_them(settings, data):
    source = Source("photos", data, None, seed=SEED, quick=False, n_jobs=1)
    labelled = replace(SECOND, pooling=SecondOrder(1, directions=5, directions_by="labels"))
    with pytest.raises(ValueError, match="have no mirrored rows"):
        source.measured(replace(SUPERVISED, mirrored=True, beside=labelled))
