"""Compact image features, learned without labels on an ordinary CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolwise import datasets
    from poolwise.estimators import AffinitySelector, LinearSVM, LinearSVMCV, PooledFeatures
    from poolwise.images import open_images
    from poolwise.modelfile import load, save

__version__ = "0.1.0"
__all__ = [
    "AffinitySelector",
    "LinearSVM",
    "LinearSVMCV",
    "PooledFeatures",
    "__version__",
    "datasets",
    "load",
    "open_images",
    "save",
]
_HOME = {
    **dict.fromkeys(("AffinitySelector", "LinearSVM", "LinearSVMCV", "PooledFeatures"), "poolwise.estimators"),
    "open_images": "poolwise.images",
    **dict.fromkeys(("load", "save"), "poolwise.modelfile"),
}


def __getattr__(name: str) -> Any:
    # Lazy, so that `poolwise --help` does not wait for numba and scikit-learn.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name == "datasets":
        return import_module("poolwise.datasets")
    raise AttributeError(f"module 'poolwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
