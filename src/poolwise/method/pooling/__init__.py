"""Pooling: activations at positions to numbers per cell (stage 6 of the method). A new one is a file here and a name below."""

from poolwise.method.pooling.base import Pooling
from poolwise.method.pooling.both_orders import BothOrders
from poolwise.method.pooling.first_order import Pool
from poolwise.method.pooling.max_products import MaxProducts
from poolwise.method.pooling.second_order import SecondOrder
from poolwise.support.parameters import Family

POOLINGS: Family[Pooling] = Family("pooling", Pool, SecondOrder, BothOrders, MaxProducts)

__all__ = ["POOLINGS", "BothOrders", "MaxProducts", "Pool", "Pooling", "SecondOrder"]
