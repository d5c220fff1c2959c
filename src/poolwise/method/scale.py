"""Standardising pooled activations (stage 8 of the method).

    shared  one mean and sqrt(std² + ε) per output for all cells, std² over n         (jia2012, ε = 0.01)
    cell    one mean and sqrt(var + ε) per output and cell, var over n - 1            (coates2011, ε = 0.01)

x : (n, cells, outputs) pooled activations
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolwise.method.nodata import cells_with_data
from poolwise.support.lazy import np
from poolwise.support.parameters import Choice, Family, Number, Part, parameter

if TYPE_CHECKING:
    from poolwise.method.statistics import Moments
    from poolwise.support.types import Array

Form = Literal["shared", "cell"]


@dataclass(frozen=True, repr=False)
class Standardize(Part):
    """Subtract the mean, divide by sqrt(variance + offset).

    Parameters
    ----------
    form : {"shared", "cell"}
        One mean and scale per output for all cells, or per output and cell (variance with n - 1).
    offset : float
    """

    words = ("shared", "cell")
    word_field = "form"

    form: Literal["shared", "cell"] = parameter(
        "shared", Choice(words), "Standardise per code, or per code and cell.", "--scale"
    )
    offset: float = parameter(0.01, Number(), "Added to the variance, against noise.", "--scale-offset")

    def learned(self, moments: Moments, outputs: int) -> Scale:
        """From moments of (samples, outputs), or of (images, cells · outputs) for "cell"."""
        shape = (outputs,) if self.checked().form == "shared" else (-1, outputs)
        spread = moments.scale(self.offset, int(self.form == "cell"))
        return Scale(moments.mean.reshape(shape), spread.reshape(shape))


SCALES: Family[Standardize] = Family("scale", Standardize, none=True)


@dataclass(frozen=True)
class Scale:
    """mean, spread : (outputs,) for all cells, or (cells, outputs), float64"""

    mean: Array
    spread: Array

    @classmethod
    def none(cls, cells: int, outputs: int) -> Scale:
        """Leaves everything as it is."""
        return cls(np.zeros((cells, outputs)), np.ones((cells, outputs)))

    @property
    def is_per_cell(self) -> bool:
        return self.mean.ndim == 2

    def around(self, pooled: Array) -> Array:
        """The same as a call, but NaN in cells without data."""
        standard: Array = (pooled - self.mean.astype(np.float32)) / self.spread.astype(np.float32)
        return standard

    def __call__(self, pooled: Array) -> Array:
        """(n, cells, outputs) pooled activations to standardised ones, float32; 0, the mean, in cells without data (NaN)."""
        standard = self.around(pooled)
        if np.isnan(pooled[..., 0]).any():
            standard[~cells_with_data(pooled)] = 0
        return standard

    def keep(self, outputs: Array) -> Scale:
        """Of some outputs."""
        return Scale(self.mean[..., outputs], self.spread[..., outputs])
