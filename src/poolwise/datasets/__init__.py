"""Data sets, with the manners of scikit-learn's loaders."""

from poolwise.datasets.photos import load_photos

__all__ = ["load_photos"]
