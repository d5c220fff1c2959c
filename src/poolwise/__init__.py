"""Compact image features, learned without labels on an ordinary CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolwise import datasets
    from poolwise.estimators import PooledFeatures

__version__ = "0.1.0"
__all__ = ["PooledFeatures", "__version__", "datasets"]


def __getattr__(name: str) -> Any:
    # Lazy, so that `poolwise --help` does not wait for numba and scikit-learn.
    if name == "PooledFeatures":
        return import_module("poolwise.estimators").PooledFeatures
    if name == "datasets":
        return import_module("poolwise.datasets")
    raise AttributeError(f"module 'poolwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
