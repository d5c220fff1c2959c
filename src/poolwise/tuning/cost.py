"""What a setting costs: milliseconds per image, seconds of a trial, memory. Counted first, and measured where that decides.

Milliseconds are those of `poolwise.analysis.cost`; this machine's ratio to them follows from what extractions took so far.
"""

import time
from dataclasses import replace
from functools import lru_cache

import numpy as np

from poolwise.analysis import cost
from poolwise.engine.threads import Threads
from poolwise.method.descriptors import Patches
from poolwise.method.extraction import feature_blocks, prepare
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection
from poolwise.method.scale import Scale
from poolwise.method.selection.supervised import LABELLED_GRID
from poolwise.method.whitening import identity
from poolwise.support.types import Array
from poolwise.tuning.banks import PATCHES, PATCHES_PER_CODE, ROUNDS
from poolwise.tuning.settings import Setting

SHARE_OF_MEMORY = 0.4
_FLOPS = 4e10
_ROUNDS_OF_SVM, _GAMMAS, _RIDGES = 20, 4, 5
_SECONDS_PER_CANDIDATE_CUBED = 6 / 800**3
_TIMED_IMAGES, _TIMES = 48, 2


def blank_layer(setting: Setting, image_shape: tuple[int, int, int]) -> Layer:
    """A layer of a setting that nothing was learned for: it costs as much as the learned one."""
    descriptor = Patches(setting.patch_size).fitted_to(image_shape)
    d, K = descriptor.dimension(image_shape[2]), setting.n_codes
    pooling = setting.pooling.fitted_to(descriptor.positions(image_shape[:2]))
    outputs = setting.encoder.sides * K
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((K, d)).astype(np.float32)
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    width, kept = pooling.width(outputs), pooling.directions_kept(outputs)
    layer = Layer(image_shape, descriptor, identity(d), codes, setting.encoder, pooling, Scale(np.zeros(width), np.ones(width)))
    if kept is not None:
        layer = replace(layer, projection=Projection("direction", np.zeros((kept, width), np.float32)))
    return replace(layer, symmetry=setting.symmetry)


@lru_cache(maxsize=4096)
def nominal_milliseconds(setting: Setting, image_shape: tuple[int, int, int]) -> float:
    """Per image, of the machine that the constants are of."""
    lean = blank_layer(setting.but(directions=None), image_shape)
    projected = lean.n_cells * (setting.directions or 0) * lean.pooling.width(lean.n_outputs)
    return cost.nominal_milliseconds(lean) + cost.MS_PER_PRODUCT * projected


def nominal_classifier(features: int, n: int, m: int, classes: int) -> float:
    """Seconds that a score of n images to learn from takes, for several γ."""
    size = min(n, features)
    gram = size * n * features
    rounds = _GAMMAS * (size**3 / 3 + _ROUNDS_OF_SVM * classes * 2 * size**2 + classes * (n + m) * features)
    return 0.02 + 2 * (gram + rounds) / _FLOPS


def nominal_ridge(features: int, n: int, m: int, classes: int) -> float:
    """The same for ridge regression, which has several ridges from one Gram matrix."""
    size = min(n, features)
    gram = size * n * features + (m * n * features if features > n else 0)
    return 0.02 + 2 * (gram + _RIDGES * (size**3 / 3 + classes * size * (size + m))) / _FLOPS


def nominal_bank(setting: Setting, image_shape: tuple[int, int, int], n: int) -> float:
    """Seconds to learn its codes from n images."""
    M, d = setting.n_candidates or setting.n_codes, setting.patch_size**2 * image_shape[2]
    patches = max(PATCHES, PATCHES_PER_CODE * M)
    seconds = 0.1 + 2 * patches * d * (ROUNDS * M + d) / _FLOPS
    if setting.n_candidates is None:
        return seconds
    responses = nominal_milliseconds(setting.but(n_codes=M, selection="kmeans", alpha=(0.25,), pool="average"), image_shape)
    return seconds + _SECONDS_PER_CANDIDATE_CUBED * M**3 + n * responses / 1000


class Pace:
    """How much longer things take here than their nominal times: one ratio for each kind of work."""

    def __init__(self) -> None:
        self._taken: dict[str, float] = {}
        self._nominal: dict[str, float] = {}

    def add(self, kind: str, nominal: float, seconds: float) -> None:
        self._taken[kind] = self._taken.get(kind, 0.0) + seconds
        self._nominal[kind] = self._nominal.get(kind, 0.0) + nominal

    def ratio(self, kind: str) -> float:
        nominal = self._nominal.get(kind, 0.0)
        return self._taken[kind] / nominal if nominal > 0 else 1.0


def measured_milliseconds(setting: Setting, images: Array, engine: Threads) -> float:
    """Per image, the faster of two passes over a few dozen images."""
    few = images[:_TIMED_IMAGES]
    ready = prepare(blank_layer(setting, few.shape[1:]))
    taken = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        for _ in feature_blocks(ready, few, engine):
            pass
        taken.append(time.perf_counter() - begun)
    return 1000 * min(taken) / len(few)


def fit_bytes(setting: Setting, n: int) -> int:
    """What a fit of n images needs: their features, the classifier's square matrix, and what directions and selection take."""
    needed = cost.fit_bytes(setting.pooling, setting.encoder.sides * setting.n_codes, n)
    if setting.n_candidates is not None:
        needed = max(needed, 25 * (LABELLED_GRID**2 * setting.n_candidates) ** 2)
    return needed
