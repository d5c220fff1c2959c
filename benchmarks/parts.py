"""Parts past the paper: what several thresholds, second-order pooling and a rank cost, compared with what they extend."""

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from sklearn.decomposition import sparse_encode
from threadpoolctl import threadpool_limits

from poolwise.engine.threads import Threads
from poolwise.estimators import PooledFeatures
from poolwise.method.descriptors import Patches
from poolwise.method.dictionaries import KMeans
from poolwise.method.encoders import OMP, Lasso, Threshold
from poolwise.method.extraction import pooled_blocks, prepare
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pool, SecondOrder
from poolwise.method.scale import Scale
from poolwise.method.whitening import ZCA, fit_whitening, whiten

from clustering import our_rounds
from machine import THREADS, load_images, median_ratio, sgemm, take_turns

TURNS = 9
RANK = 54
N, K_OF_ROUND, ROUNDS_TURNS = 400_000, 1600, 3
SPARSE_PATCHES, SPARSE_CODES, SPARSE_TURNS = 10_000, 200, 3


def short_fit(K: int, images: np.ndarray, **parts: object) -> Layer:
    """6×6 patches and 2×2 average pooling; only the dictionary is from a short fit."""
    settings = {"dictionary": KMeans(max_iter=2), "scale": None, "n_patches": max(20_000, 4 * K), "random_state": 0}
    return PooledFeatures.preset("jia2012", n_codes=K, **settings, **parts).fit(images[:200]).layer_


def extraction_of(layer: Layer, images: np.ndarray, into: dict[str, np.ndarray], name: str) -> Callable[[], None]:
    """A run of all images; `into[name]` holds what comes out, (n, cells, width)."""
    width = layer.pooling.width(layer.n_outputs)
    ready, into[name] = prepare(layer), np.empty((len(images), layer.n_cells, width), np.float32)

    def run() -> None:
        with Threads(THREADS) as engine:
            for rows, X in pooled_blocks(ready, images, engine):
                into[name][rows] = X

    return run


def thresholds() -> dict[str, object]:
    """200 codes: two thresholds and both sides, four outputs a code, as a share of one threshold and one side."""
    K, n = 200, 2000
    source, images = load_images(n)
    one = short_fit(K, images)
    several = {
        "one": one.encoder,
        "two thresholds": Threshold((0.25, 1.0)),
        "both sides": Threshold(0.25, two_sided=True),
        "two thresholds, both sides": Threshold((0.25, 1.0), two_sided=True),
    }
    found: dict[str, np.ndarray] = {}
    seconds = take_turns(
        {name: extraction_of(replace(one, encoder=encoder), images, found, name) for name, encoder in several.items()}, TURNS
    )
    for name, pooled in found.items():
        assert np.allclose(pooled[:, :, :K], found["one"], atol=1e-4), f"{name} computes something else"
    rate = {name: round(n / statistics.median(taken)) for name, taken in seconds.items()}
    all_of_them = "two thresholds, both sides"
    return {
        "name": "extract-thresholds",
        "ours": rate[all_of_them],
        "peer": rate["one"],
        "ratio": median_ratio(seconds["one"], seconds[all_of_them]),
        "unit": "images/s of four outputs a code; the peer is one output a code, the ratio the share of it",
        "share_of_one": {name: median_ratio(seconds["one"], taken) for name, taken in seconds.items() if name != "one"},
        "threads": THREADS,
        "images": source,
    }


def second_order() -> dict[str, object]:
    """100 codes, 2×2 cells: the time of second-order pooling as a multiple of its first order, for each normalisation."""
    K, n = 100, 1000
    source, images = load_images(n)
    first = short_fit(K, images)
    layers = {"first": first, "rms": replace(first, pooling=Pool("rms"))}
    for normalize in (None, "power", "root"):
        pooling = SecondOrder(normalize=normalize)
        nothing = Scale.none(pooling.n_cells, pooling.width(K))
        layers[str(normalize).lower()] = replace(first, pooling=pooling, scale=nothing)
    found: dict[str, np.ndarray] = {}
    seconds = take_turns({name: extraction_of(layer, images, found, name) for name, layer in layers.items()}, TURNS)
    rows, columns = np.triu_indices(K)
    diagonal = found["none"][:, :, rows == columns]
    assert np.allclose(diagonal, found["rms"] ** 2, rtol=1e-3, atol=1e-5), "moments have another diagonal"
    times = {name: median_ratio(seconds[name], seconds["first"]) for name in ("none", "power", "root")}
    return {
        "name": "second-order",
        "ours": round(n / statistics.median(seconds["root"])),
        "peer": round(n / statistics.median(seconds["first"])),
        "ratio": times["root"],
        "unit": "images/s with normalize=root; the peer is the first order, the ratio times as long",
        "times_as_long_as_first_order": times,
        "threads": THREADS,
        "images": source,
    }


def rank() -> dict[str, object]:
    """1600 codes in 54 of 108 directions, against a product of full rank at the machine's sgemm rate; and rounds of K-means."""
    K, n = 1600, 500
    source, images = load_images(10_000)
    few = images[:n]
    layer, whole = short_fit(K, images, whitening=ZCA(rank=RANK)), short_fit(K, images)
    found: dict[str, np.ndarray] = {}
    limit, limit_flops = sgemm()
    seconds = take_turns(
        {
            "sgemm": limit,
            "ours": extraction_of(layer, few, found, "ours"),
            "full rank": extraction_of(whole, few, found, "full rank"),
        },
        TURNS,
    )
    exact = layer.features(few[:2]).reshape(2, layer.n_cells, -1)
    assert np.abs(found["ours"][:2] - exact).max() < 1e-3, "the fused pass computes something else"
    flops = 2.0 * 27 * 27 * 108 * K * n  # of full rank
    perfect = [taken * flops / limit_flops for taken in seconds["sgemm"]]
    rounds = take_turns(rounds_of_kmeans(images), ROUNDS_TURNS)
    return {
        "name": "rank",
        "ours": round(n / statistics.median(seconds["ours"])),
        "peer": round(n / statistics.median(perfect)),
        "ratio": median_ratio(perfect, seconds["ours"]),
        "unit": f"images/s with rank {RANK}; the peer is a product of full rank at the rate of sgemm 3000^3",
        "times_faster_than_our_full_rank": median_ratio(seconds["full rank"], seconds["ours"]),
        "kmeans_seconds_per_round": {name: round(statistics.median(taken), 3) for name, taken in rounds.items()},
        "kmeans_times_faster": median_ratio(rounds["full rank"], rounds["ours"]),
        "threads": THREADS,
        "images": source,
    }


def rounds_of_kmeans(images: np.ndarray) -> dict[str, Callable[[], None]]:
    """One round on the same patches, whitened with and without a rank, from the same centres."""
    runs: dict[str, Callable[[], None]] = {}
    for name, zca in (("ours", ZCA(rank=RANK)), ("full rank", ZCA())):
        rng = np.random.default_rng(0)
        with Threads(THREADS) as engine:
            held = Patches().sample(images, N, rng=rng, engine=engine)
            whiten(held, fit_whitening(held, zca))
            X = held.take(np.arange(N))
        runs[name] = partial(_one_round, X, X[rng.choice(N, K_OF_ROUND, replace=False)].copy())
    return runs


def _one_round(X: np.ndarray, start: np.ndarray) -> None:
    our_rounds(X, start, 1)


def sparse(which: Literal["omp", "lasso"]) -> dict[str, object]:
    """200 codes, 10,000 whitened patches: patches per second against scikit-learn's `sparse_encode`, on as many threads."""
    source, images = load_images(2000)
    layer = short_fit(SPARSE_CODES, images)
    with Threads(THREADS) as engine:
        held = Patches().sample(images, SPARSE_PATCHES, rng=np.random.default_rng(0), engine=engine)
        whiten(held, layer.whitening)
        P = np.ascontiguousarray(held.take(np.arange(SPARSE_PATCHES)), np.float32)
    D = np.ascontiguousarray(layer.codes, np.float32)
    encoder = OMP(4, two_sided=False) if which == "omp" else Lasso(1.0, two_sided=False)
    theirs = {"algorithm": "omp", "n_nonzero_coefs": 4} if which == "omp" else {"algorithm": "lasso_cd", "alpha": 1.0}
    exact_P, exact_D, found = P.astype(np.float64), D.astype(np.float64), dict[str, np.ndarray]()
    blocks, encode = np.array_split(P, 16), encoder.prepared(D)

    def ours() -> None:
        with threadpool_limits(1), ThreadPoolExecutor(THREADS) as pool:
            found["ours"] = np.concatenate(list(pool.map(encode, blocks)))

    def peer() -> None:
        found["peer"] = sparse_encode(exact_P, exact_D, n_jobs=THREADS, max_iter=1000, **theirs)

    seconds = take_turns({"ours": ours, "peer": peer}, SPARSE_TURNS)
    error = np.linalg.norm(found["ours"] - found["peer"]) / np.linalg.norm(found["peer"])
    assert error < 0.02, f"other codes than scikit-learn's, by {error:.3f} of their length"  # its tolerance is 1e-4
    return {
        "name": f"encode-{which}",
        "ours": round(SPARSE_PATCHES / statistics.median(seconds["ours"])),
        "peer": round(SPARSE_PATCHES / statistics.median(seconds["peer"])),
        "ratio": median_ratio(seconds["peer"], seconds["ours"]),
        "unit": "patches/s; the peer is scikit-learn's sparse_encode, the ratio times as many",
        "threads": THREADS,
        "images": source,
    }
