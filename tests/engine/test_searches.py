"""Searches and reproductions on a cluster: the winner, the scores and the cells are the bits of threads."""

import numpy as np
import pytest

import poolwise
from poolwise import open_images, tune
from poolwise.datasets import load_photos
from poolwise.engine.threads import Threads
from poolwise.estimators.targets import as_targets
from poolwise.reproduction import protocols
from poolwise.reproduction.cells import kmeans, pdl
from poolwise.reproduction.protocols import Data, Protocol, Settings
from poolwise.reproduction.running import measure
from poolwise.reproduction.store import Store
from poolwise.support.progress import Stages
from poolwise.tuning.banks import dressed, learn_bank, projected
from poolwise.tuning.settings import Setting

from small import write_pngs

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'poolwise[dask]'")
from poolwise.engine.cluster import Cluster  # noqa: E402

TRIALS = 9  # some of first and some of second order, and banks
CELLS = [kmeans("photos", 6), pdl("photos", 3, 6)]


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Few patches, and one fold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("poolwise.tuning.banks.PATCHES", 1500)
        patch.setattr("poolwise.tuning.splits.ENOUGH_HELD", 1)
        yield


@pytest.fixture(scope="module")
def client():
    """Two processes."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def small():
    """36 photos of three pictures at 16×16, and their labels."""
    photos = load_photos(subset="train")
    rows = np.concatenate([np.flatnonzero(photos.target == c)[:12] for c in (0, 3, 7)])
    return photos.images[rows, 8:24, 8:24], photos.target[rows]


def searched(images, labels=None, trials=2, **more):
    found = tune(images, labels, n_codes=6, trials=trials, n_jobs=1, **more)
    return found.chosen.setting, [(one.setting, one.rung, one.each.tobytes()) for one in found.trials]


@pytest.fixture
def mapped(monkeypatch):
    """The names of the functions whose shards went to the workers."""
    names, real = set(), Cluster.sent

    def sent(self, function, *more):
        names.add(getattr(function, "__name__", ""))
        return real(self, function, *more)

    monkeypatch.setattr(Cluster, "sent", sent)
    return names


def test_a_search_gives_the_same_bits(client, small, mapped):
    images, labels = small
    expected = searched(images, labels, TRIALS)
    with poolwise.cluster(client):
        assert searched(images, labels, TRIALS) == expected
    assert {"_pooled", "_assign"} <= mapped


def test_codes_that_labels_choose_and_directions_are_the_same(client, small, mapped):
    images, labels = small
    chosen, projecting = Setting(4, selection="supervised"), Setting(4, (2,), "root", directions=6, scale_offset=1e-3)
    found = []
    for where in (None, client):
        with Threads(1) if where is None else Cluster(where) as engine:
            given = {"seed": 0, "engine": engine, "stages": Stages(False)}
            layer = learn_bank(chosen, images, as_targets(labels, len(labels)), **given)
            found.append([layer.codes, projected(dressed(layer, projecting), projecting, images, images[:24], **given)])
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*found, strict=True))
    assert "rows_with_targets" in mapped


def test_a_search_of_files_and_of_images_without_data_too(client, small, mapped, tmp_path):
    images, labels = small
    write_pngs(tmp_path / "files", images, labels)
    np.save(tmp_path / "images.npy", images)
    holes = images.astype(np.float32)
    holes[::5, :7] = np.nan
    stored = np.load(tmp_path / "images.npy", mmap_mode="r")
    cases = [(open_images(tmp_path / "files"), None, {}), (stored, labels, {}), (holes, labels, {"nodata": "nan"})]
    for source, known, more in cases:
        expected = searched(source, known, **more)
        with poolwise.cluster(client):
            assert searched(source, known, **more) == expected


def test_cells_of_a_reproduction_are_the_same(client, mapped, monkeypatch, tmp_path):
    photos = load_photos(subset="train")
    data = Data(photos.images[::20], photos.target[::20], photos.images[5::40], photos.target[5::40])
    protocol = Protocol("photos", lambda home: data, {"n_patches": 4000, "dictionary__max_iter": 3})
    monkeypatch.setitem(protocols.PROTOCOLS, "photos", protocol)
    found = []
    for folder in (None, tmp_path):
        store = Store(tmp_path / str(len(found)))
        settings = Settings(n_jobs=1, folder=folder)
        if folder is None:
            measure(CELLS, store, settings, lambda text: None)
        else:
            with poolwise.cluster(client):
                monkeypatch.setattr("poolwise.engine.sending.MOST_BYTES", data.train.nbytes // 2)  # files travel as names
                measure(CELLS, store, settings, lambda text: None)
        found.append([{name: store.get(cell)[name] for name in ("accuracy", "rounds")} for cell in CELLS])
    assert found[0] == found[1]
    assert "_assign" in mapped
