"""Extraction of pooled features: as a share of the machine's sgemm rate, and against the same computation in other engines."""

import statistics
from collections.abc import Callable
from functools import partial

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.estimators import PooledFeatures
from poolwise.export import to_onnx
from poolwise.method.dictionaries import KMeans
from poolwise.method.extraction import pooled_blocks, prepare
from poolwise.support.blocks import spans

from machine import THREADS, load_images, median_ratio, sgemm, take_turns

PATCH, ALPHA, OFFSET = 6, 0.25, 10.0
HALVES = (slice(0, 14), slice(14, 27))
BATCHES = (1, 2, 4, 8, 16, 32, 100)
TURNS = 9


Forward = Callable[[np.ndarray], np.ndarray]


def run(K: int) -> dict[str, object]:
    """K codes, 6×6 patches, threshold, 2×2 average pooling; only the dictionary is from a short fit."""
    n = 2000 if K <= 400 else 500
    source, images = load_images(n)
    settings = {"dictionary": KMeans(max_iter=2), "scale": None, "n_patches": max(20_000, 4 * K), "random_state": 0}
    features = PooledFeatures.preset("jia2012", n_codes=K, **settings).fit(images[:200])
    layer = features.layer_
    ready = prepare(layer)
    out = np.empty((n, layer.n_features), np.float32)

    def ours() -> None:
        with Threads(THREADS) as engine:
            for rows, X in pooled_blocks(ready, images, engine):
                out[rows] = X.reshape(len(X), -1)

    limit, limit_flops = sgemm()
    candidates: dict[str, Callable[[], None]] = {"sgemm": limit, "ours": ours}
    planes = np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32)  # peers get their own layout for free
    F = np.asarray(layer.codes, np.float64) @ layer.whitening.W
    b = -F @ layer.whitening.m
    F -= F.mean(axis=1, keepdims=True)  # zero-sum filters need no patch mean
    weights = F.reshape(K, PATCH, PATCH, 3).transpose(0, 3, 1, 2).astype(np.float32)
    bias = (b - ALPHA).astype(np.float32)
    skipped, results, batches = {}, {}, {}
    makers = {name: partial(make, weights, bias) for name, make in PEERS.items()}
    for name, make in {**makers, "onnxruntime": partial(exported, features)}.items():
        try:
            forward = make()
        except ImportError as error:
            skipped[name] = f"not installed: {error.name}"
            continue
        results[name] = np.empty_like(out)
        batches[name] = best_batch(forward, planes[:100])
        candidates[name] = partial(in_batches, forward, planes, batches[name], results[name])
    seconds = take_turns(candidates, TURNS)
    for name, X in results.items():
        assert np.abs(X - out).max() < 1e-3, f"{name} computes something else"
    flops = 2.0 * 27 * 27 * 108 * K * n
    share = median_ratio(seconds["sgemm"], seconds["ours"]) * flops / limit_flops
    return {
        "name": f"extract-{K}",
        "ours": round(flops / statistics.median(seconds["ours"]) / 1e9, 1),
        "peer": round(limit_flops / statistics.median(seconds["sgemm"]) / 1e9, 1),
        "ratio": round(share, 3),
        "unit": "GFLOP/s; the peer is sgemm 3000^3, the ratio the share of it",
        "images_per_second": round(n / statistics.median(seconds["ours"])),
        "times_faster_than": {name: median_ratio(seconds[name], seconds["ours"]) for name in results},
        "batch": batches,
        "skipped": skipped,
        "threads": THREADS,
        "images": source,
    }


def in_batches(forward: Forward, planes: np.ndarray, size: int, into: np.ndarray) -> None:
    for rows in spans(len(planes), size):
        into[rows] = forward(planes[rows])


def best_batch(forward: Forward, planes: np.ndarray) -> int:
    """The batch size at which a peer is fastest here: large ones push its activations out of the cache."""
    into = np.empty_like(forward(planes))
    sizes = {str(size): partial(in_batches, forward, planes, size, into) for size in BATCHES}
    seconds = take_turns(sizes, 3)
    return int(min(seconds, key=lambda size: min(seconds[size])))


def torch_peer(weights: np.ndarray, bias: np.ndarray, *, channels_last: bool = False) -> Forward:
    import torch
    from torch.nn import functional

    torch.set_num_threads(THREADS)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    W, b = torch.from_numpy(weights).contiguous(memory_format=layout), torch.from_numpy(bias)[:, None, None]

    def forward(x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            t = torch.from_numpy(x).contiguous(memory_format=layout)
            mean = functional.avg_pool2d(t.mean(1, keepdim=True), PATCH, 1)
            square = functional.avg_pool2d((t * t).mean(1, keepdim=True), PATCH, 1)
            gain = 1 / ((square - mean * mean).clamp_min(0).sqrt() + OFFSET)
            f = functional.conv2d(t, W).mul_(gain).add_(b).relu_()
            cells = [f[:, :, ys, xs].mean((2, 3)) for ys in HALVES for xs in HALVES]
            return torch.cat(cells, 1).numpy()

    return forward


def exported(features: PooledFeatures) -> Forward:
    """The graph of `poolwise.export_onnx`, float32 planes to features, on two threads."""
    import onnxruntime

    model = to_onnx(features, dtype="float32")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(["features"], {"images": x})[0]


PEERS: dict[str, Callable[[np.ndarray, np.ndarray], Forward]] = {
    "torch": torch_peer,
    "torch, channels last": partial(torch_peer, channels_last=True),
}
