"""--cluster: the same results from worker processes, and errors in words."""

import importlib.util
import json
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file

from poolwise import PooledFeatures
from poolwise.engine.current import current_client

from small import QUICK

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as workers:
        yield workers.scheduler_address


def test_fit_gives_the_same_model(poolwise, made, tmp_path, address):
    output = tmp_path / "model.safetensors"
    done = poolwise("fit", made.train, "-o", output, *QUICK, "--candidates", "24", "--cluster", address)
    assert done.code == 0, done.err
    expected, found = load_file(made.chosen), load_file(output)
    assert expected.keys() == found.keys()
    for name, array in found.items():
        assert np.array_equal(array, expected[name]), name


def test_transform_predict_and_evaluate_give_the_same(poolwise, made, tmp_path, address):
    found = {}
    for name, words in (("here", ()), ("there", ("--cluster", address))):
        output = tmp_path / f"{name}.npy"
        assert poolwise("transform", made.model, made.test, "-o", output, "--quiet", *words).code == 0
        shards = tmp_path / f"{name}.zarr"
        assert poolwise("transform", made.model, made.test, "-o", shards, "--quiet", *words).code == 0
        labels = poolwise("predict", made.model, made.test, "--quiet", *words)
        counts = poolwise("evaluate", made.model, made.test, "--quiet", *words)
        assert (labels.code, counts.code) == (0, 0)
        found[name] = (
            output.read_bytes(),
            (shards / "features" / "0.0").read_bytes(),
            labels.out,
            counts.out.partition("class")[2],
        )
    assert found["here"] == found["there"]


def test_processes_of_this_machine(poolwise, made, tmp_path):
    for words in ((), ("--cluster", "local:1")):
        output = tmp_path / f"{len(words)}.npy"
        assert poolwise("transform", made.features, made.test, "-o", output, "--quiet", *words).code == 0
    assert (tmp_path / "0.npy").read_bytes() == (tmp_path / "2.npy").read_bytes()


@pytest.mark.parametrize("where", ["local:0", "local:many", "host:8786", ""])
def test_what_is_no_cluster_is_refused(poolwise, made, where):
    done = poolwise("predict", made.model, made.test, "--cluster", where)
    assert done.code == 2
    assert "a cluster is an address such as tcp://HOST:8786, or local:4" in " ".join(done.err.split())


def test_no_scheduler_is_an_error_in_words(poolwise, made, monkeypatch):
    monkeypatch.setattr("poolwise.engine.connecting._SECONDS_TO_CONNECT", 0.5)
    done = poolwise("predict", made.model, made.test, "--quiet", "--cluster", "tcp://127.0.0.1:9")
    assert done.code == 3
    assert "there is no scheduler at tcp://127.0.0.1:9" in done.err


def test_without_dask_the_extra_is_named(poolwise, made, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("poolwise.cli.clusters.find_spec", lambda name: None if name == "distributed" else find(name))
    done = poolwise("predict", made.model, made.test, "--cluster", "local:2")
    assert done.code == 2
    assert "pip install 'poolwise[dask]'" in done.err


def test_tune_gives_the_same_search_and_model(poolwise, made, tmp_path, address, monkeypatch):
    monkeypatch.setattr("poolwise.tuning.banks.PATCHES", 1500)
    monkeypatch.setattr("poolwise.tuning.splits.ENOUGH_HELD", 1)
    monkeypatch.setattr("poolwise.tuning.settings.PooledFeatures", partial(PooledFeatures, n_patches=3000))
    found = []
    for name, words in (("here", ()), ("there", ("--cluster", address))):
        output = tmp_path / f"{name}.safetensors"
        done = poolwise("tune", made.train, "--codes", "6", "--trials", "2", "--json", "-o", output, "--quiet", *words)
        assert done.code == 0, done.err
        result = json.loads(done.out)
        arrays = {key: value.tobytes() for key, value in load_file(output).items()}
        found.append((result["options"], [trial["score"] for trial in result["trials"]], arrays))
    assert found[0] == found[1]


def test_reproduce_works_on_the_cluster_with_images_in_the_store(poolwise, tmp_path, address, monkeypatch):
    """That its cells are the same: tests/engine/test_searches.py."""
    seen = []

    def run(chosen, store, settings, *more, **how):
        seen.append((current_client.get() is not None, settings.folder))
        assert settings.folder is None or settings.folder.parent == tmp_path / "store"

    monkeypatch.setattr("poolwise.reproduction.running.run", run)
    words = ("reproduce", "fig-starting-size", "--quick", "--quiet", "--store", tmp_path / "store", "--json")
    assert poolwise(*words).code == poolwise(*words, "--cluster", address).code == 0
    assert [there for there, _ in seen] == [False, True]
    assert seen[0][1] is None
    assert not list((tmp_path / "store").glob("images-*"))
