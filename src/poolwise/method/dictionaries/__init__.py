"""Dictionaries: whitened patches to codes (stage 4 of the method). A new one is a file here and a name below."""

from poolwise.method.dictionaries.axes import Axes
from poolwise.method.dictionaries.base import Dictionary, Learner, TooFewPatchesError
from poolwise.method.dictionaries.convolutional import ConvolutionalKMeans
from poolwise.method.dictionaries.kmeans import KMeans
from poolwise.method.dictionaries.online import OnlineDictionary
from poolwise.method.dictionaries.random import RandomCodes
from poolwise.support.parameters import Family

DICTIONARIES: Family[Learner] = Family("dictionary", KMeans, RandomCodes, OnlineDictionary, ConvolutionalKMeans, Axes)

__all__ = [
    "DICTIONARIES",
    "Axes",
    "ConvolutionalKMeans",
    "Dictionary",
    "KMeans",
    "Learner",
    "OnlineDictionary",
    "RandomCodes",
    "TooFewPatchesError",
]
