"""The defaults of `PooledFeatures` next to those that were before and to what `tune` finds, on every data set that is here."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from poolwise.estimators import LinearSVMCV, PooledFeatures
from poolwise.method.layer import Layer
from poolwise.reproduction.protocols import QUICK, Settings
from poolwise.reproduction.store import Store
from poolwise.tuning.search import tune

CODES = 200
WAYS = ("2012", "default", "tuned")  # K-means with the constants of jia2012; PooledFeatures(); tune() with its own budget
_QUICK_TRIALS = 6


def key(dataset: str, way: str, seed: int, quick: bool) -> str:
    """Its name in the store."""
    return f"defaults {dataset} {way} K={CODES} seed={seed}{' quick' * quick}"


def measure(datasets: Iterable[str], store: Store, settings: Settings, say: Any, *, seeds: Iterable[int], quick: bool) -> None:
    """Measure what the store lacks; γ is chosen on held-out training images in every way."""
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
                say(f"{key(dataset, way, seed, quick)}: {found['accuracy']:.2%}, {found['chosen']}")


def measured(data: Any, way: str, *, seed: int, quick: bool, n_jobs: int | None) -> dict[str, Any]:
    """Accuracy on test images, and what was chosen from the training images."""
    begun = time.perf_counter()
    K = CODES // (4 if quick else 1)
    more: dict[str, Any] = {}
    if way == "tuned":
        search = tune(
            data.train, data.train_labels, K, trials=_QUICK_TRIALS if quick else None, random_state=seed, n_jobs=n_jobs
        )
        features, more = search.best, {"trials": len(search.trials), "search": [search.chosen.score, search.chosen.error]}
    else:
        features = PooledFeatures.preset("jia2012") if way == "2012" else PooledFeatures()
        features.set_params(n_codes=K, random_state=seed, n_jobs=n_jobs, **(QUICK if quick else {}))
    X = features.fit_transform(data.train, data.train_labels)
    svm = LinearSVMCV(n_jobs=n_jobs).fit(X, data.train_labels)
    del X
    layer = features.layer_
    return {
        "accuracy": float(np.mean(svm.predict(features.transform(data.test)) == data.test_labels)),
        "held_out": svm.held_out_[0],
        "gamma": svm.gamma_,
        "chosen": search.chosen.setting.words if way == "tuned" else _words(layer),
        "features": layer.n_features,
        "seconds": round(time.perf_counter() - begun, 1),
        **more,
    }


def _words(layer: Layer) -> str:
    """What a default fit decided from the images."""
    grids = ", ".join(f"{rows}×{columns}" for rows, columns in layer.pooling.grids)
    return f"{layer.pooling.word} {grids}, {layer.symmetry or 'no symmetry'}"
