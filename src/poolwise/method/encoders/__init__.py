"""Encoders: whitened patches to activations (stage 5 of the method). A new one is a file here and a name below."""

from poolwise.method.encoders.base import Encoder, Folded
from poolwise.method.encoders.lasso import Lasso
from poolwise.method.encoders.linear import Linear
from poolwise.method.encoders.llc import LLC
from poolwise.method.encoders.nearest import Nearest
from poolwise.method.encoders.omp import OMP
from poolwise.method.encoders.threshold import Threshold
from poolwise.method.encoders.triangle import Triangle
from poolwise.support.parameters import Family

ENCODERS: Family[Encoder] = Family("encoder", Threshold, Triangle, Nearest, LLC, OMP, Lasso, Linear)

__all__ = ["ENCODERS", "LLC", "OMP", "Encoder", "Folded", "Lasso", "Linear", "Nearest", "Threshold", "Triangle"]
