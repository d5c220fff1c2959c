"""A layer as JSON and arrays, and back.

Without the arrays' numbers a layer is still known: `shell` makes one of zeros that take no memory.

K : codes    d : numbers in a local vector    r : the same after whitening
outputs : sides · K    cells : of all grids    width : numbers per cell
"""

from typing import Any

import numpy as np

from poolwise.method.descriptors import DESCRIPTORS
from poolwise.method.encoders import ENCODERS
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection
from poolwise.method.pooling import POOLINGS
from poolwise.method.pooling.cells import cell_edges
from poolwise.method.scale import Scale
from poolwise.method.symmetry import check_symmetry
from poolwise.method.whitening import Whitening
from poolwise.modelfile.container import Tensor
from poolwise.modelfile.parameters import part_from_json, part_to_json
from poolwise.modelfile.strict_json import ModelFileError, anything, fields, flag, many, maybe, one_of, whole
from poolwise.support.types import Array

_MOST_CELLS = 1 << 16
_LAYER = {
    "image_shape": many(whole(1), 3, 3),
    "descriptor": anything,
    "encoder": anything,
    "pooling": anything,
    "codes": whole(1),
    "rank": maybe(whole(1)),
    "per_cell": flag,
    "projection": maybe(
        lambda value, where: fields(value, where, {"kind": one_of("nystrom", "pca", "direction"), "rows": whole(1)})
    ),
    "symmetry": one_of(None, "mirror", "dihedral"),
}
_STATISTICS = {"statistics": one_of("shared", "cell")}  # where features have those of bands: how they are scaled
_PICTURES = {"pictures": many(whole(1), 2, 2)}  # height and width, where codes are no pictures themselves


def to_json(layer: Layer) -> dict[str, Any]:
    """What a layer is, but for its numbers."""
    projection = layer.projection
    described = {
        "image_shape": list(layer.image_shape),
        "descriptor": part_to_json(layer.descriptor),
        "encoder": part_to_json(layer.encoder),
        "pooling": part_to_json(layer.pooling),
        "codes": len(layer.codes),
        "rank": layer.codes.shape[1] if layer.whitening.is_reduced else None,
        "per_cell": layer.scale.is_per_cell,
        "projection": None if projection is None else {"kind": projection.kind, "rows": len(projection.T)},
        "symmetry": layer.symmetry,
    }
    if layer.statistics is not None:
        described["statistics"] = "cell" if layer.statistics.is_per_cell else "shared"
    return described if layer.pictures is None else {**described, "pictures": list(layer.pictures.shape[1:3])}


def to_arrays(layer: Layer) -> dict[str, Array]:
    """Its numbers."""
    arrays = {
        "whitening_mean": layer.whitening.m,
        "whitening_matrix": layer.whitening.W,
        "codes": layer.codes,
        "mean": layer.scale.mean,
        "spread": layer.scale.spread,
    }
    if layer.projection is not None:
        arrays["projection"] = layer.projection.T
    if layer.statistics is not None:
        arrays |= {"statistics_mean": layer.statistics.mean, "statistics_spread": layer.statistics.spread}
    return arrays if layer.pictures is None else {**arrays, "pictures": layer.pictures}


def shell(value: Any, where: str) -> Layer:
    """The layer that JSON describes, checked, with zeros for its numbers."""
    more = [one for one in (_PICTURES, _STATISTICS) if isinstance(value, dict) and value.keys() & one.keys()]
    fields(value, where, {name: check for one in (_LAYER, *more) for name, check in one.items()})
    H, W, c = value["image_shape"]
    parts = {
        name: part_from_json(family, value[name], f"{where}.{name}")
        for name, family in (("descriptor", DESCRIPTORS), ("encoder", ENCODERS), ("pooling", POOLINGS))
    }
    pooling, encoder, K = parts["pooling"], parts["encoder"], value["codes"]
    if pooling.is_open:
        raise ModelFileError(f"{where}.pooling must be decided; it is {pooling!r}")
    if pooling.n_cells > _MOST_CELLS:
        raise ModelFileError(f"{where}.pooling has {pooling.n_cells} cells; a file may have {_MOST_CELLS}")
    h, w = parts["descriptor"].positions((H, W))
    for rows, columns in pooling.grids:
        cell_edges(h, rows)
        cell_edges(w, columns)
    d, width = parts["descriptor"].dimension(c), pooling.width(encoder.sides * K)
    scale = _zeros(pooling.n_cells, width) if value["per_cell"] else _zeros(width)
    described, projection, kept = value["projection"], None, pooling.directions_kept(encoder.sides * K)
    if (kept is not None) != (described is not None and described["kind"] == "direction"):
        raise ModelFileError(f"{where}.projection contradicts the directions of its pooling")
    if described is not None:
        rows, kind = described["rows"], described["kind"]
        possible = {"nystrom": rows == width, "pca": rows <= width, "direction": rows == kept}
        if not possible[kind]:
            raise ModelFileError(f"{where}.projection has {rows} rows, for {width} numbers per cell")
        projection = Projection(kind, _zeros(rows, width))
    r = d if value["rank"] is None else value["rank"]
    if value["rank"] is not None and r >= d:
        raise ModelFileError(f"{where}.rank is {r}, for local vectors of {d} numbers")
    check_symmetry(value["symmetry"], (H, W))
    return Layer(
        (H, W, c),
        **parts,
        whitening=Whitening(_zeros(d), _zeros(d, r)),
        codes=_zeros(K, r),
        scale=Scale(scale, scale),
        projection=projection,
        symmetry=value["symmetry"],
        pictures=_zeros(K, *value["pictures"], 3) if "pictures" in value else None,
        statistics=_band_scale(value["statistics"], pooling.n_cells, 4 * c) if "statistics" in value else None,
    )


def _band_scale(form: str, cells: int, numbers: int) -> Scale:
    zeros = _zeros(cells, numbers) if form == "cell" else _zeros(numbers)
    return Scale(zeros, zeros)


def _zeros(*shape: int) -> Array:
    return np.broadcast_to(np.zeros(()), shape)


def tensors(layer: Layer) -> dict[str, Tensor]:
    """What its arrays must be."""
    wide = layer.projection is not None and layer.projection.kind == "direction"
    types = {"codes": "F32", "pictures": "U8"} | ({"projection": "F32"} if wide else {})
    return {
        name: Tensor(types.get(name, "F64"), array.shape, above=0 if name in ("spread", "statistics_spread") else None)
        for name, array in to_arrays(layer).items()
    }


def filled(layer: Layer, arrays: dict[str, Array]) -> Layer:
    """A shell with its numbers."""
    return Layer(
        image_shape=layer.image_shape,
        descriptor=layer.descriptor,
        whitening=Whitening(arrays["whitening_mean"], arrays["whitening_matrix"]),
        codes=arrays["codes"],
        encoder=layer.encoder,
        pooling=layer.pooling,
        scale=Scale(arrays["mean"], arrays["spread"]),
        projection=None if layer.projection is None else Projection(layer.projection.kind, arrays["projection"]),
        symmetry=layer.symmetry,
        pictures=None if layer.pictures is None else arrays["pictures"],
        statistics=None if layer.statistics is None else Scale(arrays["statistics_mean"], arrays["statistics_spread"]),
    )
