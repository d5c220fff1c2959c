"""Models of every part that a graph can express, small enough to be fitted in a moment; and the graph, run."""

import numpy as np
import onnxruntime

from poolwise import ZCA, BothOrders, Pool, SecondOrder, Threshold
from poolwise.export import to_onnx
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Linear
from poolwise.method.scale import Standardize

SIDE, PATCH = 12, 4
QUICK = {
    "n_codes": 5,
    "n_candidates": None,
    "n_patches": 600,
    "descriptor": Patches(PATCH),
    "encoder": "threshold",
    "pooling": "average",
    "symmetry": None,
    "random_state": 0,
    "n_jobs": 1,
}
CANDIDATES = {"n_candidates": 12}
STATISTICS = {"statistics": True}
SECOND = {"n_codes": 4, "pooling": SecondOrder(2)}
BOTH = {"pooling": BothOrders(2, pairs=3)}
SIDES = {"encoder": Threshold((0.25, 1.0), two_sided=True)}
CONFIGURATIONS = {
    "paper": {},
    "two sides": {"encoder": Threshold(0.25, two_sided=True)},
    "thresholds": {"encoder": Threshold((0.1, 0.5, 1.0))},
    "thresholds and sides": {"encoder": Threshold((0.25, 1.0), two_sided=True)},
    "alpha 0": {"encoder": Threshold(0.0, two_sided=True)},
    "triangle": {"encoder": "triangle"},
    "triangle, max": {"encoder": "triangle", "pooling": Pool("max", 3)},
    "nearest": {"encoder": "nearest"},
    "linear": {"encoder": "linear"},
    "linear, two sides, max": {"encoder": Linear(two_sided=True), "pooling": "max"},
    "linear, rms": {"encoder": "linear", "pooling": "rms"},
    "max": {"pooling": Pool("max", 2)},
    "sum": {"pooling": Pool("sum", 2)},
    "rms": {"pooling": Pool("rms", 2)},
    "both": {"pooling": Pool("both", 2), "encoder": Threshold(0.25, two_sided=True)},
    "root": {"pooling": Pool("average", 2, root=True)},
    "root of signed": {"pooling": Pool("sum", 2, root=True), "encoder": "linear"},
    "rectangles": {"pooling": Pool("max", (2, 3))},
    "pyramid": {"pooling": Pool("average", [1, 2, (1, 3)])},
    "one cell": {"pooling": Pool("max", 1)},
    "mirror": {"symmetry": "mirror"},
    "mirror, max": {"symmetry": "mirror", "pooling": Pool("max", 2)},
    "mirror, stride": {"symmetry": "mirror", "descriptor": Patches(PATCH, stride=3), "pooling": Pool("rms", 1)},
    "dihedral": {"symmetry": "dihedral", "descriptor": Patches((4, 3))},
    "dihedral, both": {"symmetry": "dihedral", "pooling": Pool("both", 2, root=True)},
    "stride": {"descriptor": Patches(PATCH, stride=2)},
    "patches of 3x5": {"descriptor": Patches((3, 5), stride=2)},
    "coates2011": {"descriptor": Patches(PATCH, contrast="variance"), "whitening": "variance", "scale": "cell"},
    "no contrast": {"descriptor": Patches(PATCH, contrast=None), "whitening": ZCA("std", 1.0)},
    "hardly any offset": {"descriptor": Patches(PATCH, offset=0.1)},
    "no offset": {"descriptor": Patches(PATCH, offset=0.0), "whitening": ZCA("variance", 0.1)},
    "hardly any offset, variance": {"descriptor": Patches(PATCH, stride=2, contrast="variance", offset=0.5)},
    "no whitening": {"whitening": None},
    "rank": {"whitening": ZCA(rank=20), "encoder": Threshold((0.25, 1.0), two_sided=True)},
    "rank, one side": {"whitening": ZCA(rank=9)},
    "rank, triangle": {"whitening": ZCA(rank=20), "encoder": "triangle"},
    "rank, no contrast": {"whitening": ZCA(offset=1.0, rank=20), "descriptor": Patches(PATCH, contrast=None)},
    "nystrom": CANDIDATES,
    "nystrom, two sides, cell": CANDIDATES | {"encoder": Threshold(0.25, two_sided=True), "scale": "cell"},
    "pca": CANDIDATES | {"projection": "pca"},
    "supervised": CANDIDATES | {"selection": "supervised"},
    "no scale": {"scale": None},
    "scale of its own": {"scale": Standardize("cell", 0.1)},
    "bands": {"bands": "standardize"},
    "ranges of bands": {"bands": [(0, 100), (50, 255), (-10, 300)]},
    "statistics": STATISTICS,
    "statistics, pyramid, cell": STATISTICS | {"pooling": Pool("average", [1, (2, 3)]), "scale": "cell"},
    "statistics, no scale": STATISTICS | {"scale": None, "pooling": Pool("max", 3)},
    "statistics, mirror": STATISTICS | {"symmetry": "mirror", "pooling": Pool("max", (2, 3))},
    "statistics, dihedral": STATISTICS | {"symmetry": "dihedral", "pooling": Pool("average", [1, 3])},
    "statistics, nystrom, bands": STATISTICS | CANDIDATES | {"bands": [(0, 100), (50, 255), (-10, 300)]},
    "statistics, supervised": STATISTICS | CANDIDATES | {"selection": "supervised", "symmetry": "mirror"},
    "statistics, second order": STATISTICS | SECOND | {"bands": "standardize"},
    "second order, root": SECOND,
    "second order, power": SECOND | {"pooling": SecondOrder(2, normalize="power")},
    "second order as it is": SECOND | {"pooling": SecondOrder(1, normalize=None)},
    "second order, signed": SECOND | {"encoder": "linear", "pooling": SecondOrder(1)},
    "second order, small offset": SECOND | {"pooling": SecondOrder([1, 2], offset=0.002)},
    "second order, mirror, sides": SECOND | {"symmetry": "mirror", "encoder": Threshold(0.25, two_sided=True)},
    "second order, directions": SECOND | {"pooling": SecondOrder(2, directions=3)},
    "second order, labels": SECOND | {"pooling": SecondOrder(2, directions=3, directions_by="labels")},
    "both orders": BOTH,
    "both orders, power": BOTH | {"pooling": BothOrders(2, 3, normalize="power")},
    "both orders as they are": BOTH | {"pooling": BothOrders(1, 3, normalize=None)},
    "both orders, max, mirror": BOTH | {"pooling": BothOrders([1, (2, 3)], 3, "max"), "symmetry": "mirror"},
    "both orders, sides, cell": BOTH | SIDES | {"scale": "cell"},
    "both orders, dihedral, statistics": BOTH | SIDES | STATISTICS | {"symmetry": "dihedral"},
    "both orders, more pairs than codes": BOTH | SIDES | {"pooling": BothOrders(2, pairs=9)},
    "both orders, one code squared": BOTH | {"pooling": BothOrders(2, pairs=1)},
    "both orders, triangle": BOTH | {"encoder": "triangle", "pooling": BothOrders(1, 4, offset=0.002)},
    "both orders, signed": BOTH | {"encoder": Linear(two_sided=False), "pooling": BothOrders(1, 4, "max")},
    "both orders, candidates": BOTH | CANDIDATES | {"selection": "supervised"},
    "defaults": {"encoder": "auto", "pooling": "auto", "symmetry": "auto", "n_candidates": "auto"},
}
REFERENCE = (
    *("paper", "mirror, stride", "triangle", "nearest", "no offset", "second order, root", "ranges of bands", "defaults"),
    "statistics, mirror",
    "both orders, max, mirror",
)


def session(model, **how):
    return onnxruntime.InferenceSession(to_onnx(model, **how).SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, images, **how):
    """Every output by name."""
    ready = session(model, **how)
    names = [one.name for one in ready.get_outputs()]
    return dict(zip(names, ready.run(names, {"images": images}), strict=True))


def planes(images):
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def agree(found, expected, tolerance=1e-4):
    """To `tolerance` of the features' scale."""
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    scale = np.abs(expected).max()
    assert np.abs(found - expected).max() <= tolerance * scale
