"""Responses as they are, without a threshold.

    f_k = d_k·p          two-sided:   f_k = max(0, d_k·p),   f_{K+k} = max(0, -d_k·p)

With `dictionary="axes"` and second-order pooling: the covariance of the local vectors themselves (Carreira and others 2012).

d_k : a code    p : a whitened patch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolwise.method.encoders.base import SignedEncoder
from poolwise.support.parameters import Flag, parameter

if TYPE_CHECKING:
    from poolwise.support.types import Array


@dataclass(frozen=True, repr=False)
class Linear(SignedEncoder):
    """d_k·p. For pooling of second order, which needs no rectifier; averages of it are those of the patches alone.

    Parameters
    ----------
    two_sided : bool
        Positive and negative responses as two outputs of a code.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[1.0, -2.0]]), np.eye(2))
    array([[ 1., -2.]])
    """

    words = ("linear",)
    coupled = False

    two_sided: bool = parameter(False, Flag("--one-sided"), "Positive and negative responses apart.")

    def __call__(self, P: Array, D: Array) -> Array:
        return self.split(P @ D.T)
