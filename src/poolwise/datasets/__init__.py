"""Data sets, with the manners of scikit-learn's loaders. Each is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolwise.datasets.cifar10 import fetch_cifar10
    from poolwise.datasets.cub200 import fetch_cub200
    from poolwise.datasets.eurosat import fetch_eurosat
    from poolwise.datasets.photos import load_photos
    from poolwise.datasets.stl10 import fetch_stl10

__all__ = ["fetch_cifar10", "fetch_cub200", "fetch_eurosat", "fetch_stl10", "load_photos"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"poolwise.datasets.{name.partition('_')[2]}"), name)
