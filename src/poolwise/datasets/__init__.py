"""Data sets, with the manners of scikit-learn's loaders."""

from poolwise.datasets.cifar10 import fetch_cifar10
from poolwise.datasets.photos import load_photos

__all__ = ["fetch_cifar10", "load_photos"]
