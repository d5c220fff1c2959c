"""Data sets, with the manners of scikit-learn's loaders."""

from poolwise.datasets.cifar10 import fetch_cifar10
from poolwise.datasets.cub200 import fetch_cub200
from poolwise.datasets.photos import load_photos
from poolwise.datasets.stl10 import fetch_stl10

__all__ = ["fetch_cifar10", "fetch_cub200", "fetch_stl10", "load_photos"]
