"""Features by a formula: a transformer with a fit that learns no more than a mean and a spread."""

from typing import Self

import numpy as np

from poolwise.support.blocks import spans
from poolwise.support.types import Array

_BLOCK = 64
_LEAST = 1e-6  # of a spread: numbers that never change stay 0


class Peer:
    """A formula on images, (n, H, W, c) to (n, d), and with `standardised` each number less its mean, over its spread.

    shape : (H, W, c) of the images
    """

    standardised = False

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.mean_ = self.scale_ = np.zeros(0, np.float32)

    def formula(self, images: Array) -> Array:
        """(n, H, W, c) to (n, d)"""
        raise NotImplementedError

    def fit_transform(self, images: Array, labels: Array) -> Array:
        """The features of the training images, whose means and spreads are kept."""
        X = self._raw(images)
        if self.standardised:
            self.mean_ = X.mean(axis=0, dtype=np.float64).astype(np.float32)
            X -= self.mean_
            spread = np.sqrt(np.einsum("nd,nd->d", X, X, dtype=np.float64) / len(X))
            self.scale_ = np.where(spread > _LEAST, spread, np.inf).astype(np.float32)
            X /= self.scale_
        return X

    def fit(self, images: Array, labels: Array) -> Self:
        self.fit_transform(images, labels)
        return self

    def transform(self, images: Array) -> Array:
        X = self._raw(images)
        if self.standardised:
            X -= self.mean_
            X /= self.scale_
        return X

    def _raw(self, images: Array) -> Array:
        return np.concatenate([np.asarray(self.formula(images[rows]), np.float32) for rows in spans(len(images), _BLOCK)])

    @property
    def n_bytes(self) -> int:
        """Of what was learned."""
        return int(self.mean_.nbytes + self.scale_.nbytes)


def whole_levels(images: Array) -> Array:
    """Numbers as uint16 in sixteenths, for a library that compares integers: bytes keep their order exactly.

    >>> whole_levels(np.array([0, 255], np.uint8)).tolist()
    [0, 4080]
    """
    return np.clip(np.rint(images.astype(np.float32) * 16), 0, 65535).astype(np.uint16)
