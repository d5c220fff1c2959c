"""What happens between codes: correlations before and after pooling, spectra, and the codes themselves.

One fitted model, 256 of 3200 codes, serves the figures of pairs, codes and statistics; what they draw goes into the store.

f : activations of patches, before pooling    x : pooled activations    ρ : correlation of two codes' responses
"""

import base64
from typing import Any

import numpy as np

from poolwise.analysis.clusters import members_of
from poolwise.analysis.correlation import correlation
from poolwise.engine.threads import Threads
from poolwise.estimators import PooledFeatures
from poolwise.method.nystrom import approximate_spectrum, spectrum, unexplained
from poolwise.method.statistics import CovarianceStream
from poolwise.reproduction.protocols import PROTOCOLS, QUICK, Settings
from poolwise.reproduction.store import Store
from poolwise.support.progress import Stages
from poolwise.support.types import Array

M, K = 3200, 256
VARIANTS: dict[str, dict[str, Any]] = {
    "6×6 average": {},  # as in the tables
    "8×8 max": {"descriptor__size": 8, "pooling__how": "max"},  # as in the paper's plot
}
_PATCHES = 100_000
_MOST_IMAGES = 2_000
_POINTS_DRAWN = 1_200
_PATCHES_PER_BLOCK = 4_096
_LOW, _FAR, _NEAR = 0.1, 0.35, 0.75  # correlation before pooling; likeness of codes
_COLUMNS_DRAWN, _CODES_PER_COLUMN = 17, 12
_EIGENVALUES_KEPT = 512


def taken_apart(store: Store, settings: Settings, variant: str, seed: int, quick: bool) -> dict[str, Any]:
    """The anatomy of one variant's model: from the store, or measured and put there."""
    name = anatomy_name(variant, seed, quick)
    found = store.finding(name)
    if found is None:
        images, shrink = settings.data("cifar10", quick).train, 8 if quick else 1
        changes = {**PROTOCOLS["cifar10"].changes, **VARIANTS[variant], **(QUICK if quick else {})}
        model = PooledFeatures.preset(
            "jia2012", n_codes=K // shrink, n_candidates=M // shrink, random_state=seed, n_jobs=settings.n_jobs,
            verbose=int(settings.verbose), **changes,
        )  # fmt: skip
        found = take_apart(model.fit(images), images, seed, settings)
        store.add_finding(name, found)
    return found


def patch_shape(model: PooledFeatures) -> list[int]:
    """[height, width, channels] of a code."""
    return [*model.layer_.descriptor.window(1, 1), model.layer_.image_shape[2]]


def anatomy_name(variant: str, seed: int, quick: bool) -> str:
    """Its name in the store."""
    return f"anatomy {variant} seed={seed}" + (" quick" if quick else "")


def take_apart(model: PooledFeatures, images: Array, seed: int, settings: Settings) -> dict[str, Any]:
    """Everything that the three figures draw, of a fitted model with candidates, as JSON can hold it."""
    rng = np.random.default_rng(seed)
    with Stages(settings.verbose, "").stage("responses before pooling"):
        before, f = responses_before(model, images, rng, settings.n_jobs)
    with Stages(settings.verbose, "").stage("responses after pooling"):
        after = correlation(model.require_candidates().statistics.covariance)
        x = responses_after(model, images, rng)
    candidates, cluster = model.require_clusters()
    inside, exemplars = pairs_inside(cluster), pairs_of(model.selected_)
    scatter = {
        "before": _points(f, inside, rng),
        "after": _points(x, inside, rng),
        "exemplars": _points(x, exemplars, rng),
    }
    rho = {
        "before": _mean(before, inside),
        "after": _mean(after, inside),
        "exemplars": _mean(after, exemplars),
        "exemplars before": _mean(before, exemplars),
    }
    C = candidates.statistics.covariance
    approximation = approximate_spectrum(C, model.selected_)
    return {
        "rho": rho,
        "scatter": scatter,
        "pairs": find_pairs(model, before, after, f, x, rng),
        "spectrum": _rounded(spectrum(C)[:_EIGENVALUES_KEPT]),
        "approximation": _rounded(approximation),
        "unexplained": unexplained(C, float(approximation.sum())),
        "codes": _packed(_by_likeness(after, model.selected_), model),
        "columns": [_packed(column, model) for column in _columns(model, after)],
        "patch": patch_shape(model),
        "K": len(model.selected_),
        "M": len(candidates.codes),
        "seconds": {stage: round(seconds, 2) for stage, seconds in model.timings_.items()},
    }


def responses_before(model: PooledFeatures, images: Array, rng: np.random.Generator, n_jobs: int | None) -> tuple[Array, Array]:
    """(M, M) correlation of the codes' activations over random patches, and the activations of the first of these."""
    layer, kept = model.require_candidates().layer, np.empty((0, 0), np.float32)
    with Threads(n_jobs) as engine:
        P = layer.descriptor.sample(images, _PATCHES, rng=rng, engine=engine)
        stream = CovarianceStream(layer.n_outputs, engine)
        for f in P.map(layer.activations, size=_PATCHES_PER_BLOCK):
            stream.add(f)
            kept = kept if len(kept) else f
        moments = stream.moments()
    return correlation(moments.covariance()), kept


def responses_after(model: PooledFeatures, images: Array, rng: np.random.Generator) -> Array:
    """(samples, M) pooled and standardised outputs of all candidates in every cell of some images."""
    M = len(model.require_candidates().codes)
    everything = model.reselect(n_codes=M, selection="random", projection=None)
    some = images[np.sort(rng.choice(len(images), min(_MOST_IMAGES, len(images)), replace=False))]
    X: Array = everything.transform(some).reshape(-1, M)
    return X


def pairs_inside(cluster: Array) -> Array:
    """(pairs, 2) of different codes that the same exemplar represents, each once.

    >>> pairs_inside(np.array([0, 0, 2, 0, 2])).tolist()
    [[0, 1], [0, 3], [1, 3], [2, 4]]
    """
    found = [pairs_of(np.flatnonzero(cluster == k)) for k in np.unique(cluster)]
    return np.concatenate([*found, np.empty((0, 2), np.int64)])


def pairs_of(codes: Array) -> Array:
    """(pairs, 2) of different codes, each once."""
    i, j = np.triu_indices(len(codes), 1)
    return np.stack([codes[i], codes[j]], axis=1)


def find_pairs(
    model: PooledFeatures, before: Array, after: Array, f: Array, x: Array, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Two pairs with low correlation before and high after pooling: one moved, one different in colour.

    Among pairs with ρ below 0.1 before pooling, those of the highest ρ after it: of codes that a small shift makes alike,
    and of codes that no shift makes alike in colour, but one makes alike in grey.
    """
    tiles = model.require_candidates().codes.reshape(-1, *patch_shape(model))
    colour, grey = likeness(tiles), likeness(tiles.mean(axis=3, keepdims=True))
    wanted = {"moved": colour > _NEAR, "colour": (colour < _FAR) & (grey > _NEAR)}
    found = {}
    for kind, alike in wanted.items():
        score = np.where(alike & (before < _LOW), after, -np.inf)
        np.fill_diagonal(score, -np.inf)
        if np.isfinite(score.max()):
            i, j = np.unravel_index(score.argmax(), score.shape)
            found[kind] = int(min(i, j)), int(max(i, j))
    return [
        {
            "kind": kind,
            "codes": list(pair),
            "pixels": _packed(np.array(pair), model),
            "before": float(before[pair]),
            "after": float(after[pair]),
            "points before": _points(f, np.array([pair]), rng),
            "points after": _points(x, np.array([pair]), rng),
        }
        for kind, pair in sorted(found.items(), reverse=True)
    ]


def likeness(tiles: Array, most: int = 3) -> Array:
    """(M, M) the largest cosine of each two codes over shifts of up to `most` pixels.

    Only shifts count where at least half of the patch overlaps, and half of the norm of both codes.

    tiles : (M, h, w, c)

    >>> p = np.zeros((2, 4, 4, 1)); p[0, :, 1] = 1; p[1, :, 2] = 1
    >>> print(likeness(p)[0, 1].round(9), likeness(p, most=0)[0, 1])
    1.0 0.0
    """
    M, h, w, _ = tiles.shape
    tiles = np.asarray(tiles, np.float64)
    norm = np.linalg.norm(tiles.reshape(M, -1), axis=1)
    best = np.full((M, M), -1.0)
    for dy in range(-most, most + 1):
        for dx in range(-most, most + 1):
            if (h - abs(dy)) * (w - abs(dx)) * 2 < h * w:
                continue
            a = tiles[:, max(0, dy) : h + min(0, dy), max(0, dx) : w + min(0, dx)].reshape(M, -1)
            b = tiles[:, max(0, -dy) : h + min(0, -dy), max(0, -dx) : w + min(0, -dx)].reshape(M, -1)
            np.maximum(best, _unit(a, norm) @ _unit(b, norm).T, out=best)
    return best


def _unit(part: Array, norm: Array) -> Array:
    """Rows of unit length; 0 where a row is less than half as long as its whole code."""
    size = np.linalg.norm(part, axis=1, keepdims=True)
    return np.divide(part, size, out=np.zeros_like(part), where=(2 * size > norm[:, None]) & (size > 0))


def _columns(model: PooledFeatures, after: Array) -> list[Array]:
    """Some clusters, each its exemplar and then its codes from the most alike on: evenly from the largest to the middle one."""
    _, cluster = model.require_clusters()
    exemplars, sizes = np.unique(cluster, return_counts=True)
    exemplars = exemplars[np.argsort(-sizes, kind="stable")]
    chosen = exemplars[np.linspace(0, len(exemplars) // 2, min(_COLUMNS_DRAWN, len(exemplars)), dtype=np.int64)]
    closeness = after[np.arange(len(after)), cluster]
    members = members_of(cluster, chosen, closeness)
    return [np.concatenate([[k], others[:_CODES_PER_COLUMN]]) for k, others in zip(chosen, members, strict=True)]


def _by_likeness(after: Array, selected: Array) -> Array:
    """Codes in an order in which neighbours respond alike: each time the most correlated of those left."""
    left, order = list(selected[1:]), [selected[0]]
    while left:
        nearest = int(np.argmax(after[order[-1], left]))
        order.append(left.pop(nearest))
    return np.array(order)


def _points(responses: Array, pairs: Array, rng: np.random.Generator) -> list[list[float]]:
    """(points, 2) responses of random pairs in random samples, each code's divided by its standard deviation."""
    if not len(pairs):
        return []
    some = pairs[rng.integers(len(pairs), size=_POINTS_DRAWN)]
    sample = rng.integers(len(responses), size=_POINTS_DRAWN)
    spread = responses.std(axis=0)
    spread[spread == 0] = 1
    points = np.stack([responses[sample, some[:, side]] / spread[some[:, side]] for side in (0, 1)], axis=1)
    return [[round(float(a), 3), round(float(b), 3)] for a, b in points]


def _mean(R: Array, pairs: Array) -> float:
    return float(R[pairs[:, 0], pairs[:, 1]].mean()) if len(pairs) else 0.0


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _packed(codes: Array, model: PooledFeatures) -> str:
    """Codes as bytes, each stretched to -127..127 about 0, in base64."""
    D = model.require_candidates().codes[codes]
    peak = np.maximum(np.abs(D).max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return base64.b64encode(np.round(127 * D / peak).astype(np.int8).tobytes()).decode("ascii")


def unpack_codes(text: str, patch: list[int]) -> Array:
    """(codes, d) float of what `_packed` wrote."""
    return np.frombuffer(base64.b64decode(text), np.int8).reshape(-1, int(np.prod(patch))).astype(np.float32)
