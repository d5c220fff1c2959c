"""Parts next to the paper's setting: every row can be made and measured, and what is measured is what a user would get."""

import numpy as np
import pytest
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.pipeline import make_pipeline

from poolwise import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
from poolwise.reproduction import parts
from poolwise.reproduction.parts import PartRow, measure, measured
from poolwise.reproduction.protocols import Data, Settings
from poolwise.reproduction.results import Results
from poolwise.reproduction.store import Store
from poolwise.reproduction.tables.gamma import GAMMA
from poolwise.reproduction.tables.parts import PARTS, ROWS
from poolwise.reproduction.tables.satellite import SATELLITE
from poolwise.reproduction.tables.table2_birds import TABLE2_BIRDS
from poolwise.tuning import tune


@pytest.fixture
def few(photos, monkeypatch):
    """80 photos to learn from, 80 to test on, of eight pictures; a fit takes a second."""
    monkeypatch.setattr(parts, "QUICK", {"n_patches": 3000})
    monkeypatch.setattr(parts, "ROUNDS", 2)
    labels = np.repeat(np.arange(8), 10)
    return Data(photos[:80], labels, photos[:80, ::-1], labels)


def test_rows_have_names_of_their_own():
    keys = [row.key(0, False) for row in (*ROWS, *GAMMA.parts, *TABLE2_BIRDS.parts, *SATELLITE.parts)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key(0, True))
def test_every_row_makes_a_model_whose_parameters_are_fine(row):
    model = row.model(seed=0, quick=True, n_jobs=1)
    layers = model.layers if isinstance(model, StackedFeatures) else [model]
    assert [layer.recipe.n_codes for layer in layers] == [row.K // 4, (row.second_codes or row.K) // 4][: len(layers)]


def test_a_row_is_what_a_user_gets(few):
    row = next(row for row in ROWS if row.name == "omp" and row.candidates is None)
    found = measured(row, few, seed=1, quick=True, n_jobs=1)
    model = row.model(seed=1, quick=True, n_jobs=1)
    X = model.fit_transform(few.train, few.train_labels)
    svm = LinearSVMCV(n_jobs=1).fit(X, few.train_labels)
    assert found["accuracy"] == svm.score(model.transform(few.test), few.test_labels)
    assert found["features"] == X.shape[1] == 50 * 2 * 4


def test_what_the_store_has_is_not_measured_again(few, tmp_path, monkeypatch):
    settings, said = Settings(), []
    monkeypatch.setattr(settings, "data", lambda dataset, quick: few)
    rows = [row for row in ROWS if row.name in ("nearest", "two layers")]
    measure(rows, Store(tmp_path), settings, said.append, seeds=[0], quick=True)
    assert len(said) == 3
    monkeypatch.setattr(parts, "measured", None)
    measure(rows, Store(tmp_path), settings, said.append, seeds=[0], quick=True)
    assert len(said) == 3
    section = PARTS.section(Results(Store(tmp_path), quick=True))
    accuracy = Store(tmp_path).finding(rows[0].key(0, True))["accuracy"]
    (line,) = [line for line in section.splitlines() if line.startswith("| nearest ")]
    assert line.split("|")[2].strip() == f"{100 * accuracy:.2f}"


def test_a_preset_with_a_chi2_map_is_the_pipeline_that_docs_show(few):
    row = PartRow("birds", "words", 40, whole="sift-bow", chi2=True)
    found = measured(row, few, seed=0, quick=True, n_jobs=1)
    features = PooledFeatures.preset("sift-bow", n_codes=10, n_patches=3000, random_state=0, n_jobs=1)
    pipeline = make_pipeline(features, AdditiveChi2Sampler(sample_steps=2), LinearSVMCV(n_jobs=1))
    pipeline.fit(few.train, few.train_labels)
    assert found["features"] == 10 * (1 + 4 + 16) * 3
    assert found["accuracy"] == pipeline.score(few.test, few.test_labels)


def test_gamma_from_features_stands_next_to_gamma_from_folds(few, tmp_path, monkeypatch):
    settings = Settings()
    monkeypatch.setattr(settings, "data", lambda dataset, quick: few)
    rows = [row for row in GAMMA.parts if row.dataset == "photos" and not row.candidates]
    measure(rows, Store(tmp_path), settings, [].append, seeds=[0], quick=True)
    model = rows[0].model(seed=0, quick=True, n_jobs=None)
    X = model.fit_transform(few.train, few.train_labels)
    svm = LinearSVM().fit(X, few.train_labels)
    found = Store(tmp_path).finding(rows[0].key(0, True))
    assert found["gamma_of_auto"] == svm.gamma_
    assert found["accuracy_of_auto"] == svm.score(model.transform(few.test), few.test_labels)
    section = GAMMA.section(Results(Store(tmp_path), quick=True))
    lines = [line for line in section.splitlines() if line.startswith("| the embedded photos")]
    assert [line.count("–") for line in lines] == [0, 6, 0, 0]
    assert float(lines[0].split("|")[-2]) == pytest.approx(100 * (found["accuracy_of_auto"] - found["accuracy"]), abs=0.006)
    near = sum(float(line.split("|")[-2]) >= -0.5 for line in lines if "–" not in line)
    assert f"in {near} of 3 rows" in section


def test_bags_of_words_stand_next_to_those_that_the_paper_quotes(tmp_path):
    store = Store(tmp_path)
    words, ours = TABLE2_BIRDS.parts
    store.add_finding(words.key(0, False), {"accuracy": 0.25, "seconds": 1234.4})
    lines = TABLE2_BIRDS.section(Results(store, quick=False)).splitlines()
    cells = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in lines if "|" in line}
    assert cells["bag of SIFT"] == ["18.60", "25.00", "+6.40", "1", "1,234"]
    assert cells["the defaults of PooledFeatures, 1600 codes"] == ["–", "–", "–", "0", "–"]
    assert ours.model(seed=0, quick=False, n_jobs=1).get_params()["n_codes"] == 1600


def test_tuned_tiles_stand_beside_the_default_with_what_the_search_chose(few, tmp_path, monkeypatch):
    settings = Settings()
    monkeypatch.setattr(settings, "data", lambda dataset, quick: few)
    rows = [row for row in SATELLITE.parts if row.whole == "tuned"]
    measure(rows, Store(tmp_path), settings, [].append, seeds=[0], quick=True)
    without, beside = (Store(tmp_path).finding(row.key(0, True)) for row in rows)
    assert without["chosen"] == beside["chosen"], "trials are counted: the same search"
    assert beside["features"] > without["features"]
    search = tune(few.train, few.train_labels, 50, trials=6, random_state=0)
    assert without["chosen"] == search.chosen.setting.words
    assert search.chosen.setting.words in SATELLITE.section(Results(Store(tmp_path), quick=True))
