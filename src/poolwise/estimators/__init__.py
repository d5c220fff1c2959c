"""The scikit-learn estimators: they validate, call the rooms in the order of the paper, and store what comes out."""

from poolwise.estimators.affinity_selector import AffinitySelector
from poolwise.estimators.linear_svm import LinearSVM
from poolwise.estimators.linear_svm_cv import LinearSVMCV
from poolwise.estimators.pooled_features import PooledFeatures
from poolwise.estimators.stacked_features import StackedFeatures

__all__ = ["AffinitySelector", "LinearSVM", "LinearSVMCV", "PooledFeatures", "StackedFeatures"]
