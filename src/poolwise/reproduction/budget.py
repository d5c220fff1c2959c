"""What a budget of codes can give: settings that share a dictionary and its candidates, each with a γ of its own.

γ is chosen on a fifth of the training images; no test image is looked at before the end.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from poolwise.engine.threads import Threads
from poolwise.estimators import LinearSVMCV
from poolwise.estimators.targets import as_targets
from poolwise.method.candidates import Candidates
from poolwise.method.encoders import Encoder, Threshold
from poolwise.method.extraction import prepare
from poolwise.method.layer import Layer
from poolwise.method.learning import extract, learn_codes, learn_scale, learn_with_targets
from poolwise.method.pooling import Pool, Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale
from poolwise.method.selection import WayName
from poolwise.method.symmetry import SymmetryName
from poolwise.reproduction.protocols import PROTOCOLS, Data, Settings
from poolwise.reproduction.store import Store
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.support.types import Array

CANDIDATES = 1600
_HELD_OUT_FOLDS = 5
_MILLISECONDS_FROM = 500  # images


@dataclass(frozen=True)
class Setting:
    """One row of the budget.

    dataset : one of `protocols.PROTOCOLS`    K : codes    selection : None for K-means with K codes
    gammas : tried on held-out training images    mirrored : mirrored copies as training rows
    """

    dataset: str
    name: str
    K: int
    selection: WayName | None = "supervised"
    encoder: Encoder = Threshold()
    pooling: Pooling = Pool(grid=2)
    symmetry: SymmetryName = None
    mirrored: bool = False
    patch_size: int | None = None
    gammas: tuple[float, ...] = (0.001, 0.005, 0.02)

    def key(self, seed: int, quick: bool) -> str:
        """Its name in the store."""
        return f"budget {self.dataset} {self.name} K={self.K} seed={seed}{' quick' * quick}"


def measure(rows: Iterable[Setting], store: Store, settings: Settings, say: Any, *, seeds: Iterable[int], quick: bool) -> None:
    """Measure what the store lacks, one dictionary after the other."""
    rows = list(rows)
    for seed in seeds:
        for dataset in dict.fromkeys(row.dataset for row in rows):
            missing = [row for row in rows if row.dataset == dataset and store.finding(row.key(seed, quick)) is None]
            if not missing:
                continue
            try:
                data = settings.data(dataset, quick)
            except FileNotFoundError as error:
                say(f"budget, {dataset}: left out, {error}")
                continue
            for size in dict.fromkeys(row.patch_size for row in missing):
                start = Source(dataset, data, size, seed=seed, quick=quick, n_jobs=settings.n_jobs)
                for row in (row for row in missing if row.patch_size == size):
                    found = start.measured(row)
                    store.add_finding(row.key(seed, quick), found)
                    say(f"{row.key(seed, quick)}: {found['accuracy']:.2%}, γ {found['gamma']:g}, {found['ms']:.2f} ms")


class Source:
    """The codes of one seed and patch size, and what their pooled outputs and the labels say together."""

    def __init__(self, dataset: str, data: Data, patch_size: int | None, *, seed: int, quick: bool, n_jobs: int | None) -> None:
        self.data, self.seed, self.n_jobs, self.quick = data, seed, n_jobs, quick
        protocol = PROTOCOLS[dataset]
        model = protocol.features(CANDIDATES // (4 if quick else 1), seed=seed, quick=quick, n_jobs=n_jobs, verbose=False)
        if patch_size is not None:
            model.set_params(descriptor__size=patch_size)
        self.recipe: Recipe = model.recipe.fitted_to(data.train.shape[1:])

    def _learn(self, M: int) -> Layer:
        recipe = replace(self.recipe, n_codes=M)
        with Threads(self.n_jobs) as engine:
            rng = np.random.default_rng(seed_of(self.seed))
            return learn_codes(recipe, self.data.train, rng=rng, engine=engine, stages=Stages(False, ""))[1]

    @cached_property
    def candidates(self) -> Candidates:
        """1,600 codes, judged by their one-sided outputs."""
        layer = self._learn(self.recipe.n_codes)
        targets = as_targets(self.data.train_labels, len(self.data.train))
        with Threads(self.n_jobs) as engine:
            return learn_with_targets(
                self.recipe, layer, self.data.train, targets, seed=seed_of(self.seed), engine=engine, stages=Stages(False, "")
            )

    def layer(self, row: Setting) -> Layer:
        """The layer of a row, its scale learned."""
        K = max(1, row.K // 4) if self.quick else row.K
        if row.selection is None:
            base = self._learn(K)
        else:
            with Threads(self.n_jobs) as engine:
                chosen = self.candidates.select(K, row.selection, engine=engine, stages=Stages(False, ""))
            base = self.candidates.layer.keep(chosen.selected, None)
        pooling = row.pooling.fitted_to(base.positions)
        unknown = Scale.none(pooling.n_cells, pooling.width(row.encoder.sides * K))
        layer = replace(base, encoder=row.encoder, pooling=pooling, symmetry=row.symmetry, scale=unknown)
        with Threads(self.n_jobs) as engine:
            scale = learn_scale(self.recipe, prepare(layer), self.data.train, engine=engine, stages=Stages(False, ""))
        return replace(layer, scale=scale)

    def _features(self, layer: Layer, images: Array) -> Array:
        with Threads(self.n_jobs) as engine:
            return extract(prepare(layer), images, engine=engine, stages=Stages(False, ""))

    def measured(self, row: Setting) -> dict[str, Any]:
        """Accuracy on the test images with the γ that held-out training images chose, and what it costs."""
        data, layer = self.data, self.layer(row)
        begun = time.perf_counter()
        self._features(layer, data.test[:_MILLISECONDS_FROM])
        ms = 1000 * (time.perf_counter() - begun) / min(_MILLISECONDS_FROM, len(data.test))
        X, y = self._features(layer, data.train), data.train_labels
        folds = StratifiedKFold(_HELD_OUT_FOLDS, shuffle=True, random_state=self.seed)
        train, held = next(iter(folds.split(y, y)))
        if row.mirrored:
            X, n = np.concatenate([X, self._features(layer, data.train[:, :, ::-1])]), len(y)
            y, train = np.tile(y, 2), np.concatenate([train, train + n])
        svm = LinearSVMCV(row.gammas, cv=[(train, held)], n_jobs=self.n_jobs).fit(X, y)
        del X
        accuracy = float(np.mean(svm.predict(self._features(layer, data.test)) == data.test_labels))
        positions = layer.positions[0] * layer.positions[1]
        return {
            "accuracy": accuracy,
            "held_out": float(svm.scores_.max()),
            "gamma": float(svm.gamma_),
            "features": layer.n_features,
            "products": round(sum(layer.multiply_adds.values()) / positions / len(layer.whitening.W)),
            "ms": round(ms, 3),
            "seconds": round(time.perf_counter() - begun, 1),
        }
