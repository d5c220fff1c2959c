"""Checks of the parameters of `PooledFeatures`, all of them before any work is done."""

from typing import Any

import numpy as np

from poolwise.encoding import ENCODERS
from poolwise.engine import thread_count
from poolwise.estimators.images import Shape, check_choice, check_pair, check_real, check_whole
from poolwise.kmeans import METHODS
from poolwise.patches import position_grid
from poolwise.pooling import POOLS, as_grids, cut_cells
from poolwise.selection import WAYS

TRANSFORMS = ("nystrom", "pca", None)


def check_parameters(params: dict[str, Any]) -> None:
    """Raise where a value has no meaning or two contradict each other; patch and grid are seen with the images."""
    for name in ("n_codes", "stride", "n_patches", "max_iter"):
        check_whole(name, params[name], 1)
    for name in ("tol", "contrast_offset", "whitening_offset", "alpha", "scale_offset"):
        check_real(name, params[name])
    check_choice("dictionary", params["dictionary"], METHODS)
    check_choice("init", params["init"], ("patches", "noise"))
    check_choice("contrast", params["contrast"], ("std", "variance", None))
    check_choice("whitening", params["whitening"], ("std", "variance", None))
    check_choice("encoder", params["encoder"], ENCODERS)
    check_choice("pool", params["pool"], POOLS)
    check_choice("scale", params["scale"], ("shared", "cell", None))
    if not isinstance(params["two_sided"], bool | np.bool_):
        raise ValueError(f"two_sided must be True or False; got {params['two_sided']!r}")
    if params["two_sided"] and params["encoder"] != "threshold":
        raise ValueError(f"two_sided=True is for encoder='threshold'; got encoder={params['encoder']!r}")
    size = "n_codes" if params["n_candidates"] is None else "n_candidates"
    check_selection(params)
    if params["n_super_patches"] is not None:
        check_whole("n_super_patches", params["n_super_patches"], 2)
        if params["scale"] == "cell" and params["n_candidates"] is not None:
            raise ValueError(
                "scale='cell' standardises each cell of the grid by itself, and a super-patch is of no cell; "
                "give n_super_patches=None or scale='shared'"
            )
    if params["n_patches"] < params[size]:
        raise ValueError(f"n_patches={params['n_patches']} patches cannot give {size}={params[size]} different codes")
    thread_count(params["n_jobs"])


def check_selection(params: dict[str, Any]) -> None:
    """Those that say which of the candidates are kept, and what is made of them."""
    K, M = check_whole("n_codes", params["n_codes"], 1), params["n_candidates"]
    check_choice("selection", params["selection"], tuple(WAYS))
    check_choice("transform", params["transform"], TRANSFORMS)
    if M is not None and check_whole("n_candidates", M, 1) < K:
        raise ValueError(
            f"n_codes={K} codes cannot be selected from n_candidates={M}; give at most as many codes as candidates"
        )


def fit_to_images(params: dict[str, Any], shape: Shape, is_rows: bool) -> tuple[tuple[int, int], tuple[tuple[int, int], ...]]:
    """Patch and grids as they fit the images; only rows without an image_shape are worth clipping silently."""
    H, W, c = shape
    stride, patch, grids = int(params["stride"]), check_pair("patch_size", params["patch_size"]), as_grids(params["grid"])
    if is_rows and params["image_shape"] is None:
        patch = 1, min(patch[1], W)
        _, w = position_grid((H, W), patch, stride)
        grids = tuple(dict.fromkeys((1, min(columns, w)) for _, columns in grids))
    if patch[0] * patch[1] * c == 1 and params["contrast"] is not None:
        raise ValueError(
            f"a patch of a single number has no contrast; images are {H}×{W} (n_features = {H * W * c}) and "
            f"the patch is 1×1. Give larger images, a larger patch_size, or contrast=None"
        )
    cut_cells(position_grid((H, W), patch, stride), grids)
    return patch, grids
