"""Descriptors: images to local vectors at positions (stages 1 and 2). A new one is a file here and a name below."""

from poolwise.method.descriptors.base import Descriptor
from poolwise.method.descriptors.own import Own
from poolwise.method.descriptors.patches import Patches
from poolwise.support.parameters import Family

DESCRIPTORS: Family[Descriptor] = Family("descriptor", Patches, of_function=Own)

__all__ = ["DESCRIPTORS", "Descriptor", "Own", "Patches", "Sift"]
