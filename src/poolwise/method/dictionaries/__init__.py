"""Dictionaries: whitened patches to codes (stage 4 of the method). A new one is a file here and a name below."""

from poolwise.method.dictionaries.base import Dictionary, Learner, TooFewPatchesError
from poolwise.method.dictionaries.kmeans import KMeans
from poolwise.method.dictionaries.random import RandomCodes
from poolwise.support.parameters import Family

DICTIONARIES: Family[Learner] = Family("dictionary", KMeans, RandomCodes)

__all__ = [
    "DICTIONARIES",
    "Dictionary",
    "KMeans",
    "Learner",
    "RandomCodes",
    "TooFewPatchesError",
]
