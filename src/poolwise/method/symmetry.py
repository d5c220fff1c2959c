"""Copies of an image that show the same thing: its mirror image, or all eight turns and mirrors of a square.

    x = (1/n) Σ_copies pool(copy)        before pooled statistics are normalised

A pooled statistic that is averaged over the copies is the same for each of them. That is right for photographs ("mirror") and
for pictures without up and down, such as tiles from satellites and microscopes ("dihedral"); digits and text have no symmetry.

images : (n, H, W, c)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from poolwise.support.lazy import np
from poolwise.support.parameters import ParameterError

if TYPE_CHECKING:
    from poolwise.support.types import Array

SymmetryName = Literal["auto", "mirror", "dihedral"] | None  # "auto" is decided in fit: None or "mirror"
N_COPIES: dict[SymmetryName, int] = {None: 1, "mirror": 2, "dihedral": 8}


def copies(images: Array, symmetry: SymmetryName) -> Iterator[Array]:
    """Views of the images: themselves first, then mirrored left-right or, for "dihedral", each turn and its mirror image.

    >>> [copy[0, :, :, 0].tolist() for copy in copies(np.arange(4).reshape(1, 2, 2, 1), "mirror")]
    [[[0, 1], [2, 3]], [[1, 0], [3, 2]]]
    >>> len({str(copy) for copy in copies(np.arange(4).reshape(1, 2, 2, 1), "dihedral")})
    8
    """
    for turns in range(4 if symmetry == "dihedral" else 1):
        turned = np.rot90(images, turns, axes=(1, 2))
        yield turned
        if symmetry is not None:
            yield turned[:, :, ::-1]


def check_symmetry(symmetry: SymmetryName, image_size: tuple[int, int]) -> None:
    """A ParameterError where images of (H, W) pixels cannot be turned."""
    if symmetry == "dihedral" and image_size[0] != image_size[1]:
        raise ParameterError(
            f"{{symmetry}} turns images by 90°, which needs square ones; these are {image_size[0]}×{image_size[1]}. Resize "
            "them, or use the mirror image alone",
            symmetry="dihedral",
        )
