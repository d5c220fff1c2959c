"""Compact image features, learned without labels on an ordinary CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolwise import datasets
    from poolwise.engine.connecting import cluster
    from poolwise.estimators import AffinitySelector, LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
    from poolwise.export import export_onnx
    from poolwise.export.page import export_page
    from poolwise.images import open_images
    from poolwise.method.descriptors import Patches
    from poolwise.method.dictionaries import KMeans, RandomCodes
    from poolwise.method.encoders import Nearest, Threshold, Triangle
    from poolwise.method.pooling import BothOrders, Pool, SecondOrder
    from poolwise.method.scale import Standardize
    from poolwise.method.whitening import ZCA
    from poolwise.modelfile import load, save
    from poolwise.modelfile.checkpoints import checkpoints
    from poolwise.tuning import tune

__version__ = "0.1.0"
_HOME = {
    **dict.fromkeys(("AffinitySelector", "LinearSVM", "LinearSVMCV", "PooledFeatures", "StackedFeatures"), "estimators"),
    "export_onnx": "export",
    "export_page": "export.page",
    "open_images": "images",
    **dict.fromkeys(("load", "save"), "modelfile"),
    "Patches": "method.descriptors",
    "ZCA": "method.whitening",
    **dict.fromkeys(("KMeans", "RandomCodes"), "method.dictionaries"),
    **dict.fromkeys(("Nearest", "Threshold", "Triangle"), "method.encoders"),
    **dict.fromkeys(("BothOrders", "Pool", "SecondOrder"), "method.pooling"),
    "Standardize": "method.scale",
    "checkpoints": "modelfile.checkpoints",
    "cluster": "engine.connecting",
    "tune": "tuning",
}
__all__ = [
    "ZCA",
    "AffinitySelector",
    "BothOrders",
    "KMeans",
    "LinearSVM",
    "LinearSVMCV",
    "Nearest",
    "Patches",
    "Pool",
    "PooledFeatures",
    "RandomCodes",
    "SecondOrder",
    "StackedFeatures",
    "Standardize",
    "Threshold",
    "Triangle",
    "__version__",
    "checkpoints",
    "cluster",
    "datasets",
    "export_onnx",
    "export_page",
    "load",
    "open_images",
    "save",
    "tune",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that `poolwise --help` does not wait for numba and scikit-learn.
    if name in _HOME:
        return getattr(import_module(f"poolwise.{_HOME[name]}"), name)
    if name == "datasets":
        return import_module("poolwise.datasets")
    from poolwise.method.recipe import FAMILIES

    for family in FAMILIES.values():  # any part that is registered
        if name in family.by_class:
            return family.by_class[name]
    raise AttributeError(f"module 'poolwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
