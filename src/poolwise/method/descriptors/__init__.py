"""Descriptors: images to local vectors at positions (stages 1 and 2). A new one is a file here and a name below."""

from poolwise.method.descriptors.base import Descriptor
from poolwise.method.descriptors.hog import Hog
from poolwise.method.descriptors.own import Own
from poolwise.method.descriptors.patches import Patches
from poolwise.method.descriptors.sift import Sift
from poolwise.support.parameters import Family

DESCRIPTORS: Family[Descriptor] = Family("descriptor", Patches, Sift, Hog, of_function=Own)

__all__ = ["DESCRIPTORS", "Descriptor", "Hog", "Own", "Patches", "Sift"]
