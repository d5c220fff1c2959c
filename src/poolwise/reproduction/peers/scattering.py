"""Scattering of second order (Bruna and Mallat 2013), of every band, with kymatio's NumPy frontend.

Wavelets of 8 directions; 2 scales, in images of more than 48 pixels 4.
"""

import numpy as np

from poolwise.reproduction.peers.base import Peer
from poolwise.support.types import Array

_SMALL = 48  # pixels


class Scattering(Peer):
    """d = c · (1 + 8J + 32 J (J - 1)) · H/2ᴶ · W/2ᴶ"""

    standardised = True

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        # not `kymatio.numpy`: it imports the part for volumes too, which needs a function that SciPy 1.17 no longer has
        from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D

        scales = 2 if min(shape[:2]) <= _SMALL else 4
        self._scatter = ScatteringNumPy2D(J=scales, shape=tuple(shape[:2]))

    def formula(self, images: Array) -> Array:
        bands = np.ascontiguousarray(np.moveaxis(images, -1, 1), dtype=np.float32)
        return np.asarray(self._scatter(bands)).reshape(len(images), -1)
