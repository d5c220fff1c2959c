"""Linear SVM: one-vs-all squared hinge with a free bias, brought to its minimum in a few dozen passes over the features.

`loss` is the objective, `spaces` the metric in which it is nearly round, `solver` the way down, `newton` its end where that is
cheap, `path` many problems, `folds` many γ; `rows` and `factor` are the products and the triangular solutions that they need.
"""

from poolwise.svm.folds import HeldOut
from poolwise.svm.loss import Problems, one_vs_all
from poolwise.svm.path import solve_in_groups
from poolwise.svm.rows import CentredRows, project
from poolwise.svm.solver import Solution, solve
from poolwise.svm.spaces import FeatureSpace, SampleSpace, make_space

__all__ = [
    "CentredRows",
    "FeatureSpace",
    "HeldOut",
    "Problems",
    "SampleSpace",
    "Solution",
    "make_space",
    "one_vs_all",
    "project",
    "solve",
    "solve_in_groups",
]
