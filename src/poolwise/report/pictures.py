"""Pictures of a fitted model for notebooks and papers: Pillow's images."""

from typing import Any

from PIL import Image

from poolwise.report.clusters import correlations_after
from poolwise.report.mosaic import cluster_mosaic, code_mosaic
from poolwise.tiles import unwhiten


def draw_codes(model: Any, *, whitened: bool = False, columns: int | None = None, zoom: int = 8, gap: int = 3) -> Image.Image:
    """The codes of a fitted PooledFeatures as they would be in an image, or as they are in the space of whitened patches.

    >>> import numpy as np
    >>> from poolwise import PooledFeatures
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> draw_codes(PooledFeatures(4, n_patches=2000, random_state=0).fit(images), zoom=4, gap=2).size
    (54, 54)
    """
    codes = model.codes_ if whitened else unwhiten(model.codes_, model.whitening_matrix_)
    return code_mosaic(codes, _patch_shape(model), columns=columns, zoom=zoom, gap=gap)


def draw_clusters(model: Any, *, whitened: bool = False, **layout: Any) -> Image.Image:
    """Each code kept above the candidates that it stands for, the most alike after pooling first.

    layout : as in `cluster_mosaic`
    """
    if model.candidates_ is None or model.covariance_ is None:
        raise ValueError("this model has no candidates: fit with n_candidates, and save without slim")
    candidates = model.candidates_ if whitened else unwhiten(model.candidates_, model.whitening_matrix_)
    closeness = correlations_after(model.covariance_, model.cluster_)
    return cluster_mosaic(candidates, model.cluster_, _patch_shape(model), closeness=closeness, **layout)


def _patch_shape(model: Any) -> tuple[int, int, int]:
    return (*model.patch_size_, model.image_shape_in_[2])
