"""`poolwise tune`: settings tried on held-out images, small subsets first, and the best of them."""

from poolwise.tuning.search import tune

__all__ = ["tune"]
