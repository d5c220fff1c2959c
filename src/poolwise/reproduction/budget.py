"""What a budget of codes can give: settings that share a dictionary and its candidates, each with a γ of its own.

γ is chosen on a fifth of the training images or, where these are few, on each fifth; no test image is looked at before the end.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from poolwise.engine.current import here
from poolwise.engine.threads import Threads
from poolwise.estimators import LinearSVM, LinearSVMCV
from poolwise.estimators.linear_svm import LinearClassifier
from poolwise.estimators.targets import as_targets
from poolwise.method.candidates import Candidates
from poolwise.method.encoders import Encoder, Threshold
from poolwise.method.extraction import extract, prepare
from poolwise.method.layer import Layer
from poolwise.method.learning import learn_codes, learn_outputs, learn_with_targets
from poolwise.method.pooling import Pool, Pooling
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Scale, Standardize
from poolwise.method.selection import WayName
from poolwise.method.symmetry import SymmetryName
from poolwise.method.whitening import ZCA
from poolwise.reproduction.protocols import PROTOCOLS, Data, Settings, draw_labels
from poolwise.reproduction.store import Store
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.support.types import Array

CANDIDATES = 1600
_HELD_OUT_FOLDS = 5
_FEW_IMAGES = 5_000  # at most: every fold is used
_MILLISECONDS_FROM = 500  # images
_SMALL_ENOUGH_FOR_TWO = 2 << 30  # bytes of features that LinearSVM(gamma="auto") is learned from too, for docs/svm.md
_SILENT = Stages(False, "")


@dataclass(frozen=True)
class Setting:
    """One row of the budget.

    dataset : one of `protocols.PROTOCOLS`    K : codes    selection : None for K-means with K codes
    gammas : tried on held-out training images    mirrored : mirrored copies as training rows
    scale_offset : added to the variances that pooled numbers are divided by the roots of
    labels : training images a class, chosen at random in each of `draws`, for all but the dictionary; None for all of them
    runs : seeds that are measured
    beside : another setting of the same data, whose features are joined to these
    """

    dataset: str
    name: str
    K: int
    selection: WayName | None = "supervised"
    encoder: Encoder = Threshold(0.25, two_sided=False)
    pooling: Pooling = Pool("average", grid=2)
    symmetry: SymmetryName = None
    mirrored: bool = False
    patch_size: int | None = None
    rank: int | None = None
    scale_offset: float = 0.01
    gammas: tuple[float, ...] = (0.001, 0.005, 0.02)
    labels: int | None = None
    draws: int = 1
    runs: int = 3
    beside: "Setting | None" = None

    @property
    def parts(self) -> "tuple[Setting, ...]":
        """The settings whose features are joined: itself, and what stands beside it."""
        return (self,) if self.beside is None else (self, *self.beside.parts)

    @property
    def needs_labels(self) -> bool:
        """Whether some of its features are directions learned from the labels."""
        return any(part.pooling.needs_labels(part.encoder.sides * part.K) for part in self.parts)

    @property
    def start(self) -> tuple[int | None, int | None]:
        """What the codes depend on, for one data set and seed."""
        return self.patch_size, self.rank

    def key(self, seed: int, quick: bool) -> str:
        """Its name in the store."""
        return f"budget {self.dataset} {self.name} K={self.K} seed={seed}{' quick' * quick}"


def measure(rows: Iterable[Setting], store: Store, settings: Settings, say: Any, *, seeds: Iterable[int], quick: bool) -> None:
    """Measure what the store lacks, one dictionary after the other; of each row as many of the seeds as it asks for."""
    rows = list(rows)
    for run, seed in enumerate(seeds):
        for dataset in dict.fromkeys(row.dataset for row in rows):
            here = [row for row in rows if row.dataset == dataset and run < row.runs]
            missing = [row for row in here if store.finding(row.key(seed, quick)) is None]
            if not missing:
                continue
            try:
                data = settings.data(dataset, quick)
            except FileNotFoundError as error:
                say(f"budget, {dataset}: left out, {error}")
                continue
            for start in dict.fromkeys(row.start for row in missing):
                source = Source(dataset, data, *start, seed=seed, quick=quick, n_jobs=settings.n_jobs)
                for row in (row for row in missing if row.start == start):
                    found = source.measured(row)
                    store.add_finding(row.key(seed, quick), found)
                    say(f"{row.key(seed, quick)}: {found['accuracy']:.2%}, γ {found['gamma']:g}, {found['ms']:.2f} ms")


class Source:
    """The codes of one seed, patch size and rank, and what their pooled outputs and the labels say together."""

    def __init__(
        self,
        dataset: str,
        data: Data,
        patch_size: int | None = None,
        rank: int | None = None,
        *,
        seed: int,
        quick: bool,
        n_jobs: int | None,
    ) -> None:
        self.data, self.seed, self.n_jobs, self.quick = data, seed, n_jobs, quick
        protocol = PROTOCOLS[dataset]
        model = protocol.features(CANDIDATES // (4 if quick else 1), seed=seed, quick=quick, n_jobs=n_jobs, verbose=False)
        if patch_size is not None:
            model.set_params(descriptor__size=patch_size)
        if rank is not None:
            model.set_params(whitening=ZCA(rank=rank))
        self.recipe: Recipe = model.recipe.fitted_to(data.train.shape[1:])

    def _learn(self, M: int) -> Layer:
        recipe = replace(self.recipe, n_codes=M)
        with here(self.n_jobs) as engine:
            rng = np.random.default_rng(seed_of(self.seed))
            return learn_codes(recipe, self.data.train, rng=rng, engine=engine, stages=_SILENT)[1]

    @cached_property
    def candidate_layer(self) -> Layer:
        """1,600 codes of all training images."""
        return self._learn(self.recipe.n_codes)

    @cached_property
    def candidates(self) -> Candidates:
        """The same, judged by their one-sided outputs and all labels."""
        return self._judged(self.data)

    def _judged(self, data: Data) -> Candidates:
        layer, targets = self.candidate_layer, as_targets(data.train_labels, len(data.train))
        with here(self.n_jobs) as engine:
            return learn_with_targets(
                self.recipe, layer, data.train, targets, seed=seed_of(self.seed), engine=engine, stages=_SILENT
            )

    def learned(self, row: Setting, data: Data | None = None, held: Array | None = None) -> tuple[Layer, Array]:
        """The layer of a row, chosen and scaled on these data or on all, and the features of their training images.

        held : training images whose labels directions must not see
        """
        K, given = max(1, row.K // 4) if self.quick else row.K, data or self.data
        if row.selection is None:
            base = self._learn(K)
        else:
            candidates = self.candidates if data is None else self._judged(data)
            with here(self.n_jobs) as engine:
                chosen = candidates.select(K, row.selection, engine=engine.local, stages=_SILENT)
            base = candidates.layer.keep(chosen.selected, None)
        pooling = row.pooling.fitted_to(base.positions)
        unknown = Scale.none(pooling.n_cells, pooling.width(row.encoder.sides * K))
        layer = replace(base, encoder=row.encoder, pooling=pooling, symmetry=row.symmetry, scale=unknown)
        targets = None
        if pooling.needs_labels(layer.n_outputs):
            targets = as_targets(given.train_labels, len(given.train))
            targets[[] if held is None else held] = np.nan
        seed, recipe = seed_of(self.seed), replace(self.recipe, scale=Standardize(offset=row.scale_offset))
        with here(self.n_jobs) as engine:
            layer, X = learn_outputs(
                recipe, layer, given.train, True, seed=seed, targets=targets, engine=engine, stages=_SILENT
            )
        assert X is not None  # noqa: S101  it was asked for
        return layer, X

    def _joined(self, row: Setting, data: Data | None, held: Array | None = None) -> tuple[list[Layer], Array]:
        """The layers of a row and of what stands beside it, and their features side by side."""
        learned = [self.learned(part, data, held) for part in row.parts]
        return [layer for layer, _ in learned], _side_by_side([X for _, X in learned])

    def _features(self, layers: list[Layer], images: Array) -> Array:
        mirrored = not images.flags.c_contiguous  # such a view has no name to travel by
        with Threads(self.n_jobs) if mirrored else here(self.n_jobs) as engine:
            return _side_by_side([extract(prepare(layer), images, engine=engine, stages=_SILENT) for layer in layers])

    def measured(self, row: Setting) -> dict[str, Any]:
        """Accuracy on the test images with the γ that held-out training images chose, and what it costs; the mean of draws."""
        begun = time.perf_counter()
        if row.labels is None:
            runs = [self._run(row, None)]
        else:
            runs = [self._run(row, draw_labels(self.data, row.labels, [self.seed, draw])) for draw in range(row.draws)]
        found = {**runs[0], "seconds": round(time.perf_counter() - begun, 1)}
        if len(runs) > 1:
            accuracies = [run["accuracy"] for run in runs]
            found |= {"accuracy": float(np.mean(accuracies)), "draws": accuracies}
            for name in ("held_out", "accuracy_of_auto"):
                if name in found:
                    found[name] = float(np.mean([run[name] for run in runs]))
        return found

    def _run(self, row: Setting, labelled: Data | None) -> dict[str, Any]:
        data = labelled or self.data
        y = data.train_labels
        if row.mirrored and row.needs_labels:
            raise ValueError(f"{row.name}: directions by labels have no mirrored rows")
        folds = list(StratifiedKFold(_HELD_OUT_FOLDS, shuffle=True, random_state=self.seed).split(y, y))
        if len(y) > _FEW_IMAGES or row.needs_labels:
            folds = folds[:1]
        layers, X = self._joined(row, labelled, folds[0][1])
        begun = time.perf_counter()
        self._features(layers, data.test[:_MILLISECONDS_FROM])
        ms = 1000 * (time.perf_counter() - begun) / min(_MILLISECONDS_FROM, len(data.test))
        if row.mirrored:
            X, n = np.concatenate([X, self._features(layers, data.train[:, :, ::-1])]), len(y)
            y, folds = np.tile(y, 2), [(np.concatenate([train, train + n]), held) for train, held in folds]
        svm = LinearSVMCV(row.gammas, cv=folds, n_jobs=self.n_jobs).fit(X, y)
        classifiers: dict[str, LinearClassifier] = {"accuracy": svm}
        if row.needs_labels:  # γ is chosen: now directions may see all labels
            layers, X = self._joined(row, labelled)
            classifiers["accuracy"] = LinearSVM(svm.gamma_, n_jobs=self.n_jobs).fit(X, y)
        elif X.nbytes <= _SMALL_ENOUGH_FOR_TWO:
            classifiers["accuracy_of_auto"] = LinearSVM(n_jobs=self.n_jobs).fit(X, y)
        del X
        test = self._features(layers, data.test)
        found = {name: float(np.mean(one.predict(test) == data.test_labels)) for name, one in classifiers.items()}
        if "accuracy_of_auto" in found:
            found["gamma_of_auto"] = float(classifiers["accuracy_of_auto"].gamma_)
        return {
            **found,
            "held_out": float(svm.scores_.mean(axis=1).max()),
            "gamma": float(svm.gamma_),
            "features": sum(layer.n_features for layer in layers),
            "products": sum(_products(layer) for layer in layers),
            "ms": round(ms, 3),
        }


def _side_by_side(parts: list[Array]) -> Array:
    """Not copied where there is one: it may be gigabytes."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _products(layer: Layer) -> int:
    """Multiplications per position and number of a patch."""
    positions = layer.positions[0] * layer.positions[1]
    return round(sum(layer.multiply_adds.values()) / positions / len(layer.whitening.W))
