"""The defaults of `PooledFeatures` next to the settings that were the defaults before, on every data set that is here."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from poolwise.estimators import LinearSVMCV, PooledFeatures
from poolwise.reproduction.protocols import QUICK, Settings
from poolwise.reproduction.store import Store

CODES = 200
WAYS = ("2012", "default")  # K-means with the constants of jia2012; PooledFeatures()


def key(dataset: str, way: str, seed: int, quick: bool) -> str:
    """Its name in the store."""
    return f"defaults {dataset} {way} K={CODES} seed={seed}{' quick' * quick}"


def measure(datasets: Iterable[str], store: Store, settings: Settings, say: Any, *, seeds: Iterable[int], quick: bool) -> None:
    """Measure what the store lacks; γ is chosen on held-out training images in both ways."""
    for seed in seeds:
        for dataset in datasets:
            missing = [way for way in WAYS if store.finding(key(dataset, way, seed, quick)) is None]
            if not missing:
                continue
            try:
                data = settings.data(dataset, quick)
            except FileNotFoundError as error:
                say(f"defaults, {dataset}: left out, {error}")
                continue
            for way in missing:
                found = measured(data, way, seed=seed, quick=quick, n_jobs=settings.n_jobs)
                store.add_finding(key(dataset, way, seed, quick), found)
                say(f"{key(dataset, way, seed, quick)}: {found['accuracy']:.2%}, {found['pooling']}, {found['symmetry']}")


def measured(data: Any, way: str, *, seed: int, quick: bool, n_jobs: int | None) -> dict[str, Any]:
    """Accuracy on test images, and what was chosen from the training images."""
    begun = time.perf_counter()
    settings = {"n_codes": CODES // (4 if quick else 1), "random_state": seed, "n_jobs": n_jobs, **(QUICK if quick else {})}
    features = PooledFeatures.preset("jia2012") if way == "2012" else PooledFeatures()
    features.set_params(**settings)
    X = features.fit_transform(data.train, data.train_labels)
    svm = LinearSVMCV(n_jobs=n_jobs).fit(X, data.train_labels)
    layer = features.layer_
    ((rows, columns),) = layer.pooling.grids
    return {
        "accuracy": float(np.mean(svm.predict(features.transform(data.test)) == data.test_labels)),
        "held_out": svm.held_out_[0],
        "gamma": svm.gamma_,
        "pooling": f"{layer.pooling.word} {rows}×{columns}",
        "symmetry": layer.symmetry,
        "features": layer.n_features,
        "seconds": round(time.perf_counter() - begun, 1),
    }
