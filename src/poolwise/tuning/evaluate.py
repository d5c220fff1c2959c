"""Settings to scores: codes learned, images pooled once for a group, and a classifier for every setting of it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from poolwise.engine import Engine
from poolwise.estimators.targets import as_targets
from poolwise.method.layer import Layer
from poolwise.support.mapped import as_mapped
from poolwise.support.parameters import ParameterError
from poolwise.support.progress import Stages, Update
from poolwise.support.rows import RowsOf
from poolwise.support.types import Array, ImageSource
from poolwise.tuning.banks import Group, dressed, group, learn_bank, pool_images, projected, view
from poolwise.tuning.cost import Pace, nominal_bank, nominal_classifier, nominal_milliseconds, nominal_ridge
from poolwise.tuning.scoring import classify, classify_by_ridge, regress
from poolwise.tuning.settings import Setting
from poolwise.tuning.splits import Rung, Splits, Task

_MOST_PIXELS = 1 << 30  # bytes of the folds that are kept
_FEW = 24


class Evaluator:
    """Scores of settings on the held-out images of a rung.

    tell : called with a few words whenever work goes on

    Attributes
    ----------
    pace : Pace
        How long things took, compared with what was expected.
    """

    def __init__(self, task: Task, splits: Splits, *, seed: int, engine: Engine, tell: Callable[[str], None]) -> None:
        self.task, self.splits, self.seed, self.engine, self.tell = task, splits, seed, engine, tell
        self.pace = Pace()
        self._rung: Rung | None = None
        self._pixels: dict[int, tuple[Array | ImageSource, Array | ImageSource]] = {}
        self._travels = not engine.shares_memory and (
            isinstance(task.images, ImageSource) or as_mapped(task.images) is not None
        )
        self._layers: dict[object, Layer] = {}
        self._variance = float(np.var(task.labels)) if task.numbers else 1.0

    def run(self, settings: Sequence[Setting], rung: Rung) -> Iterator[tuple[Setting, Array | str]]:
        """Each setting with the (m · folds,) scores of held-out images, or with the reason why it cannot be tried."""
        if not self._has_images_of(rung):
            self._pixels, self._layers = {}, {}
        self._rung = rung
        for found in group(settings, rung.n + rung.m):
            try:
                yield from self._run_group(found, rung)
            except (ParameterError, MemoryError) as error:  # such as fewer different patches than candidates
                yield from ((setting, str(error)) for setting in found.settings)

    def _run_group(self, found: Group, rung: Rung) -> Iterator[tuple[Setting, Array]]:
        parts: dict[Setting, list[Array]] = {setting: [] for setting in found.settings}
        order = sorted(found.settings, key=lambda one: (one.n_features == found.union.n_features, one.scale_offset))
        for fold in range(rung.folds):
            (pixels, first), (y, z) = self.pixels(rung, fold), self._labels(rung, fold)
            layer = dressed(self._layer(found.union, rung, fold), found.union)
            pooled = None if found.union.directions is not None else self._pool(layer, found.union, pixels)
            for setting in order:
                if pooled is None:
                    stages = _Telling(self.tell)
                    X = projected(layer, setting, pixels, first, seed=self.seed, engine=self.engine, stages=stages)
                else:
                    X = view(pooled, setting, found.union, rung.n, overwrite=setting == order[-1])
                parts[setting].append(self._score(X, y, z, rung))
                if fold == rung.folds - 1:
                    yield setting, np.concatenate(parts[setting])

    def pixels(self, rung: Rung, fold: int = 0) -> tuple[Array | ImageSource, Array | ImageSource]:
        """(n + m, H, W, c): the images to learn from, then those held out; and the first n of these.

        Workers of a cluster open images that have a name; others are read here, and sent.
        """
        if fold not in self._pixels:
            learn, held = self.splits.folds[fold]
            wanted = np.r_[learn[: rung.n], held[: rung.m]]
            if self._travels:
                self._pixels[fold] = RowsOf(self.task.images, wanted), RowsOf(self.task.images, wanted[: rung.n])
            else:
                found = self._read(wanted)
                self._pixels[fold] = found, found[: rung.n]
        return self._pixels[fold]

    def _read(self, wanted: Array) -> Array:
        self.tell("reading images")
        rows, place = np.unique(wanted, return_inverse=True)
        found = np.asarray(self.task.images[rows])  # files are read from first to last
        if found.nbytes + sum(kept.nbytes for kept, _ in self._pixels.values() if isinstance(kept, np.ndarray)) > _MOST_PIXELS:
            self._pixels.clear()  # folds of large images are read again
        return found[place]

    def _labels(self, rung: Rung, fold: int) -> tuple[Array, Array]:
        learn, held = self.splits.folds[fold]
        return self.task.labels[learn[: rung.n]], self.task.labels[held[: rung.m]]

    def has_codes(self, setting: Setting, rung: Rung) -> bool:
        """Whether its codes were learned already."""
        return self._has_images_of(rung) and (_codes_key(setting), 0) in self._layers

    def _has_images_of(self, rung: Rung) -> bool:
        """Whether the last rung had the same images: codes do not depend on the classifier."""
        return self._rung is not None and (rung.n, rung.m) == (self._rung.n, self._rung.m)

    def _layer(self, setting: Setting, rung: Rung, fold: int) -> Layer:
        """The codes of a setting, learned from the images to learn from alone."""
        key = _codes_key(setting), fold
        if key not in self._layers:
            targets, images = None, self.pixels(rung, fold)[1]
            if setting.n_candidates is not None:
                targets = self._targets(self._labels(rung, fold)[0])
            begun = time.perf_counter()
            self._layers[key] = learn_bank(
                setting, images, targets, seed=self.seed, engine=self.engine, stages=_Telling(self.tell)
            )
            self.pace.add("codes", nominal_bank(setting, self.task.image_shape, rung.n), time.perf_counter() - begun)
        return self._layers[key]

    def _targets(self, labels: Array) -> Array:
        if self.task.numbers:
            spread = float(labels.std())
            return ((labels - labels.mean()) / (spread if spread > 0 else 1.0))[:, None]
        return as_targets(labels, len(labels))

    def _pool(self, layer: Layer, union: Setting, pixels: Array | ImageSource) -> Array:
        begun = time.perf_counter()
        pooled = pool_images(layer, pixels, engine=self.engine, stages=_Telling(self.tell))
        nominal = nominal_milliseconds(union, self.task.image_shape) * len(pixels) / 1000
        self.pace.add("images", nominal, time.perf_counter() - begun)
        return pooled

    def _score(self, X: Array, y: Array, z: Array, rung: Rung) -> Array:
        begun = time.perf_counter()
        if self.task.numbers:
            each = regress(X[: rung.n], y, X[rung.n :], z, self._variance, engine=self.engine.local, tell=self.tell)
        else:
            score = classify if rung.exact else classify_by_ridge
            each = score(X[: rung.n], y, X[rung.n :], z, engine=self.engine.local, tell=self.tell)
        self.pace.add(_kind(rung), self._nominal_score(X.shape[1], rung), time.perf_counter() - begun)
        return each

    def _nominal_score(self, features: int, rung: Rung) -> float:
        nominal = nominal_classifier if rung.exact else nominal_ridge
        return nominal(features, rung.n, rung.m, self.task.n_classes)

    def seconds(self, settings: Sequence[Setting], rung: Rung) -> float:
        """How long they will take, by what the others took."""
        codes = images = classifier = 0.0
        known: set[object] = set()
        for found in group(settings, rung.n + rung.m):
            key = _codes_key(found.union)
            if key not in known and not self.has_codes(found.union, rung):
                codes += nominal_bank(found.union, self.task.image_shape, rung.n)
            known.add(key)
            images += nominal_milliseconds(found.union, self.task.image_shape) * (rung.n + rung.m) / 1000
            for setting in found.settings:
                classifier += self._nominal_score(setting.n_features, rung)
                if setting.directions is not None:
                    width = setting.pooling.width(setting.encoder.sides * setting.n_codes)
                    classifier += min(rung.n * setting.pooling.n_cells, 2 * width) * width**2 / 4e10
        ratio = self.pace.ratio
        return rung.folds * (codes * ratio("codes") + images * ratio("images") + classifier * ratio(_kind(rung)))


def compile_loops(task: Task, *, engine: Engine) -> None:
    """Every kind of trial once on a few of the images: on a new machine loops are compiled, which no budget should pay for."""
    few = np.asarray(task.images[np.arange(min(_FEW, len(task.images)))])
    half = len(few) // 2
    splits = Splits(((np.arange(half), np.arange(half, len(few))),))
    labels = np.arange(len(few)) % 2
    silent = Evaluator(Task(few, labels, False), splits, seed=0, engine=engine, tell=lambda note: None)
    patch = min(3, *few.shape[1:3])
    for setting in (Setting(2, (1,), patch_size=patch), Setting(2, (1,), "root", patch_size=patch, scale_offset=1e-3)):
        for trial in (setting, setting.but(selection="supervised")):
            for exact in (False, True):
                for _ in silent.run([trial], Rung(half, len(few) - half, exact=exact)):
                    pass


def _kind(rung: Rung) -> str:
    return "svm" if rung.exact else "ridge"


def _codes_key(setting: Setting) -> object:
    """What codes depend on: symmetry only where they are chosen by responses."""
    symmetry = setting.symmetry if setting.n_candidates is not None else None
    return setting.n_codes, setting.patch_size, setting.whitening_offset, setting.selection, symmetry


class _Telling(Stages):
    """Stages whose progress goes to a callback."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(False)
        self._tell = tell

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Update]:
        def update(done: int, note: str = "") -> None:
            self._tell(name)

        self._tell(name)
        yield update
