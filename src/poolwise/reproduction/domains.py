"""Ours next to what other people would try, on people's own kinds of images: accuracy, and what it costs.

Seconds to learn and milliseconds per image are of processor time, all threads together, so that other programs on the machine
change them little. A size is that of features and classifier on disk.
"""

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from poolwise import save
from poolwise.estimators import LinearSVMCV, PooledFeatures
from poolwise.reproduction import defaults
from poolwise.reproduction.peers import PEERS, Network, Peer
from poolwise.reproduction.protocols import QUICK, Data, Settings
from poolwise.reproduction.store import Store
from poolwise.support.types import Array
from poolwise.tuning.settings import Setting

OURS = {"default": "default", "tuned": "tuned", "jia2012": "2012"}  # as rows are called, and as `defaults` calls them
PRESETS = {"coates2011": defaults.CODES, "random convolutions": 256}  # codes
NETWORKS = {"small CNN, as long": 1.0, "small CNN, ten times as long": 10.0}  # times the default's processor seconds
ROWS = (*OURS, *PRESETS, *PEERS, *NETWORKS)
_TIMED = 500  # images


class LeftOutError(Exception):
    """A row that cannot be measured here, with the reason."""


def key(dataset: str, row: str, seed: int, quick: bool) -> str:
    """Its name in the store."""
    return f"domains {dataset}: {row} seed={seed}{' quick' * quick}"


def measure(
    datasets: Iterable[str],
    store: Store,
    settings: Settings,
    say: Any,
    *,
    seeds: Iterable[int],
    quick: bool,
    rows: Iterable[str] = ROWS,
) -> None:
    """Measure what the store lacks, and try again what was left out; accuracies of `defaults` come from there."""
    datasets, rows = list(datasets), list(rows)
    for seed in seeds:
        for dataset in datasets:
            missing = [row for row in rows if _is_missing(store.finding(key(dataset, row, seed, quick)))]
            if missing and any(row in OURS for row in rows):
                defaults.measure([dataset], store, settings, say, seeds=[seed], quick=quick)
            for row in missing:
                name = key(dataset, row, seed, quick)
                try:
                    found = _measured(row, dataset, store, settings, seed=seed, quick=quick)
                    words = f"{found['learned']:.0f} s, {found['ms']:.2f} ms"
                except (LeftOutError, FileNotFoundError, ImportError) as error:
                    found = {"left_out": str(error)}
                    words = f"left out, {error}"
                if "left_out" not in found or store.finding(name) != found:
                    store.add_finding(name, found)
                say(f"{name}: {words}")


def _is_missing(finding: dict[str, Any] | None) -> bool:
    return finding is None or "left_out" in finding


def _measured(row: str, dataset: str, store: Store, settings: Settings, *, seed: int, quick: bool) -> dict[str, Any]:
    data = settings.data(dataset, quick)
    if row in NETWORKS:
        ours = store.finding(key(dataset, "default", seed, quick))
        if ours is None or "learned" not in ours:
            raise LeftOutError("how long the default learns was not measured")
        return measured(Network(NETWORKS[row] * ours["learned"], seed=seed), data)
    if row in PEERS:
        return measured(Linear(PEERS[row](data.train.shape[1:]), settings.n_jobs), data)
    known = store.finding(defaults.key(dataset, OURS[row], seed, quick)) if row in OURS else None
    features = _features(row, known, quick)
    features.set_params(random_state=seed, n_jobs=settings.n_jobs)
    found = measured(Linear(features, settings.n_jobs), data)
    return {name: value for name, value in found.items() if known is None or name != "accuracy"}


def _features(row: str, known: dict[str, Any] | None, quick: bool) -> PooledFeatures:
    """One of ours, not fitted. What `tune` chose is read from what `defaults` kept of it."""
    if row == "tuned":
        if known is None:
            raise LeftOutError("nothing was tuned")
        return Setting.of_words(known["chosen"]).features()
    if row == "default":
        features = PooledFeatures(n_codes=defaults.CODES)
    else:
        name = "mosaiks" if row == "random convolutions" else row
        features = PooledFeatures.preset(name, n_codes=PRESETS.get(row, defaults.CODES))
    if quick:
        limits = {name: value for name, value in QUICK.items() if name in features.get_params()}
        features.set_params(n_codes=features.n_codes // 4, **limits)
    return features


class Linear:
    """Features and a linear SVM whose γ is chosen on held-out training images."""

    def __init__(self, features: PooledFeatures | Peer, n_jobs: int | None) -> None:
        self.features, self.svm = features, LinearSVMCV(n_jobs=n_jobs)

    def fit(self, images: Array, labels: Array) -> "Linear":
        self.svm.fit(self.features.fit_transform(images, labels), labels)
        return self

    def predict(self, images: Array) -> Array:
        return self.svm.predict(self.features.transform(images))

    @property
    def n_bytes(self) -> int:
        """Of the model file, or where ours is not the model, of the numbers that it needs."""
        if isinstance(self.features, Peer):
            return self.features.n_bytes + 4 * (self.svm.coef_.size + self.svm.intercept_.size)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            save(Pipeline([("features", self.features), ("classifier", self.svm)]), path, slim=True)
            return path.stat().st_size


def measured(model: Linear | Network, data: Data) -> dict[str, Any]:
    """Accuracy on test images and what it costs: `learned` seconds and `ms` an image of processor time, `bytes`."""
    wall, begun = time.perf_counter(), time.process_time()
    model.fit(data.train, data.train_labels)
    learned, waited = time.process_time() - begun, time.perf_counter() - wall
    few = data.test[:_TIMED]
    model.predict(few[:1])  # what is compiled or set up once
    begun = time.process_time()
    model.predict(few)
    ms = 1000 * (time.process_time() - begun) / len(few)
    more = (
        {"epochs": round(model.epochs_, 1)}
        if isinstance(model, Network)
        else {"gamma": model.svm.gamma_, "features": int(model.svm.coef_.shape[1])}
    )
    return {
        "accuracy": float(np.mean(model.predict(data.test) == data.test_labels)),
        "learned": round(learned, 1),
        "ms": round(ms, 3),
        "bytes": model.n_bytes,
        "waited": round(waited, 1),
        **more,
    }
