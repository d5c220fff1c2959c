"""Every part next to the paper's own setting: encoders, descriptors, dictionaries, poolings and layers, alike in all else."""

import operator
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.preprocessing import FunctionTransformer

from poolwise.estimators import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
from poolwise.method.descriptors import Patches
from poolwise.reproduction.protocols import QUICK, Data, Settings
from poolwise.reproduction.store import Store
from poolwise.tuning.result import Search
from poolwise.tuning.search import tune

DATASET = "cifar10-10000"
PATCHES, ROUNDS = 100_000, 50
MAP_CELLS = 9
_TIMED = 500  # images
_TRIALS, _QUICK_TRIALS = 44, 6  # of a search: counted, so that no clock decides what it finds

Searched = tuple[Search, float]  # with its seconds


@dataclass(frozen=True)
class PartRow:
    """One row: the preset `jia2012` with some parts changed, or another model as a user gets it by its name.

    candidates : None for K-means with K codes    second : what a second layer has in place of the first one's parts
    second_codes : its codes, where they are not K    runs : seeds that are measured    dataset : a name of PROTOCOLS
    whole : "default", "tuned" or the name of a preset, with `parts` changed    chi2 : its features go through a χ² map
    auto : also with the γ of `LinearSVM()`    bands_alone : of the features only the statistics of bands
    """

    group: str
    name: str
    K: int = 200
    candidates: int | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    second: dict[str, Any] | None = None
    second_codes: int | None = None
    runs: int = 1
    dataset: str = DATASET
    whole: str | None = None
    chi2: bool = False
    auto: bool = False
    bands_alone: bool = False

    def key(self, seed: int, quick: bool) -> str:
        """Its name in the store."""
        group = self.group if self.dataset == DATASET else self.dataset
        way = "" if self.whole is not None else " K-means" if self.candidates is None else f" of {self.candidates}"
        return f"parts {group}: {self.name} K={self.K}{way} seed={seed}{' quick' * quick}"

    def model(self, *, seed: int, quick: bool, n_jobs: int | None) -> PooledFeatures | StackedFeatures:
        """Not fitted."""
        if self.whole is not None:
            found = PooledFeatures() if self.whole == "default" else PooledFeatures.preset(self.whole)
            found.set_params(n_codes=self.K // (4 if quick else 1), random_state=seed, n_jobs=n_jobs)
            return found.set_params(**self.parts).set_params(**(QUICK if quick else {}))

        def layer(K: int, **changes: Any) -> PooledFeatures:
            quarter = 4 if quick else 1
            found = PooledFeatures.preset("jia2012", n_codes=K // quarter, random_state=seed, n_jobs=n_jobs)
            found.set_params(n_candidates=None if self.candidates is None else self.candidates // quarter, n_patches=PATCHES)
            found.set_params(**changes)
            rounds = {"dictionary__max_iter": ROUNDS} if "dictionary" not in changes else {}
            return found.set_params(**rounds, **({"n_patches": QUICK["n_patches"]} if quick else {}))

        if self.second is None:
            return layer(self.K, **self.parts)
        above = layer(self.second_codes or self.K, **{"descriptor": Patches(3), **self.second})
        return StackedFeatures([layer(self.K, **self.parts), above], map_cells=MAP_CELLS)


def measure(rows: Iterable[PartRow], store: Store, settings: Settings, say: Any, *, seeds: Iterable[int], quick: bool) -> None:
    """Measure what the store lacks; of each row as many of the seeds as it asks for."""
    rows = list(rows)
    searches: dict[tuple[str, int, int], Searched] = {}
    for run, seed in enumerate(seeds):
        for row in (row for row in rows if run < row.runs and store.finding(row.key(seed, quick)) is None):
            data, search = settings.data(row.dataset, quick), None
            if row.whole == "tuned":
                of = row.dataset, row.K, seed
                if of not in searches:
                    searches[of] = searched(row.K, data, seed=seed, quick=quick, n_jobs=settings.n_jobs)
                search = searches[of]
            found = measured(row, data, search, seed=seed, quick=quick, n_jobs=settings.n_jobs)
            store.add_finding(row.key(seed, quick), found)
            say(f"{row.key(seed, quick)}: {found['accuracy']:.2%}, {found['ms']:.2f} ms, {found['seconds']:.0f} s")


def searched(K: int, data: Data, *, seed: int, quick: bool, n_jobs: int | None) -> Searched:
    """The winner of a search on the training images, and how long it took."""
    begun = time.perf_counter()
    quarter, trials = (4, _QUICK_TRIALS) if quick else (1, _TRIALS)
    found = tune(data.train, data.train_labels, K // quarter, trials=trials, random_state=seed, n_jobs=n_jobs)
    return found, round(time.perf_counter() - begun, 1)


def measured(
    row: PartRow, data: Data, search: Searched | None = None, *, seed: int, quick: bool, n_jobs: int | None
) -> dict[str, Any]:
    """Accuracy on images held out, with a γ that folds of the training images chose, and what an image costs.

    search : of a row that is tuned
    """
    begun = time.perf_counter()
    more: dict[str, Any] = {}
    model: PooledFeatures | StackedFeatures
    if search is None:
        model = row.model(seed=seed, quick=quick, n_jobs=n_jobs)
    else:
        model = clone(search[0].best).set_params(**row.parts)
        more = {"chosen": search[0].chosen.setting.words, "searched": search[1]}
    chi2 = AdditiveChi2Sampler(sample_steps=2) if row.chi2 else FunctionTransformer()
    X = model.fit_transform(data.train, data.train_labels)
    if row.bands_alone and isinstance(model, PooledFeatures):
        chi2 = FunctionTransformer(operator.itemgetter(np.s_[:, model.layer_.n_code_features :]))
    X = chi2.fit_transform(X)
    learned = time.perf_counter() - begun
    svm = LinearSVMCV(n_jobs=n_jobs).fit(X, data.train_labels)
    few = data.test[:_TIMED]
    timed = time.perf_counter()
    model.transform(few)
    ms = 1000 * (time.perf_counter() - timed) / len(few)
    X_test = chi2.transform(model.transform(data.test))
    if row.auto:
        guess = LinearSVM(n_jobs=n_jobs).fit(X, data.train_labels)
        more |= {"gamma_of_auto": guess.gamma_, "accuracy_of_auto": float(guess.score(X_test, data.test_labels))}
    return {
        "accuracy": float(svm.score(X_test, data.test_labels)),
        "gamma": svm.gamma_,
        "features": X.shape[1],
        "ms": round(ms, 3),
        "learned": round(learned, 1),
        "seconds": round(time.perf_counter() - begun, 1),
        **more,
    }
