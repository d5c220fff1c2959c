"""A fitted model as one ONNX file: pixels in, features and labels out.

images   uint8 or float32, (n, c, H, W) or (n, H, W, c)

features        (n, n_features) float32
margins         (n, classes) float32, of two classes minus and plus the one that there is
probabilities   (n, classes) float32, of a LinearSVMCV
label_index     (n,) int64, the largest margin's
label           (n,) string
"""

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from poolwise.estimators import LinearSVM, LinearSVMCV, PooledFeatures, StackedFeatures
from poolwise.estimators.images import as_image_shape
from poolwise.export.activations import activations
from poolwise.export.band_statistics import band_features
from poolwise.export.graph import Graph, real
from poolwise.export.known import ExportError, check_features
from poolwise.export.pooled import copies, pooled, projected, standardized
from poolwise.export.resizing import resized
from poolwise.method.layer import Layer
from poolwise.method.stack import LEVEL, SPREAD
from poolwise.support.files import replacing

if TYPE_CHECKING:
    import onnx


MOST_BYTES = 2**31 - 2**20  # a file of ONNX is one message, which may have 2 GB
_PIXEL_RANGE = (64, 512)  # largest less least pixel of images in about 0..255

_CLASSIFIERS: tuple[list[Any], ...] = ([], [LinearSVM], [LinearSVMCV])

Layout = Literal["NCHW", "NHWC"]
Dtype = Literal["uint8", "float32"]


def export_onnx(
    model: PooledFeatures | StackedFeatures | Pipeline,
    path: str | os.PathLike[str],
    *,
    layout: Layout = "NCHW",
    dtype: Dtype = "uint8",
    resize: tuple[int, int] | None = None,
    provenance: Mapping[str, str | float | bool | None] | None = None,
) -> None:
    """Write a fitted model as an ONNX graph that needs no poolwise: from images to features, margins and labels.

    The file is written whole or not at all. It holds no path and no name of a user, unless `provenance` does.

    Parameters
    ----------
    model : PooledFeatures, StackedFeatures or Pipeline
        Fitted; a pipeline is of one of these and a LinearSVM or LinearSVMCV. `model[0]` of a pipeline gives features alone.
    path : str or path
    layout : {"NCHW", "NHWC"}
        Of the input `images`: (n, channels, H, W), or (n, H, W, channels); n is free.
    dtype : {"uint8", "float32"}
        Of the input's numbers, which are as in `fit`: not divided by 255.
    resize : (H, W) or None
        Size of the images that the graph takes, if it shall resize them as `open_images(resize=)` does. None: the model's.
    provenance : dict or None
        What else the file should say of the model, in its metadata.

    Raises ExportError, a ValueError, for models that a graph cannot express: codes that are found by an optimisation (`llc`,
    `omp`, `lasso`), descriptors other than patches, matrix logarithms.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from poolwise import PooledFeatures, export_onnx
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> model = PooledFeatures(4, n_patches=2000, random_state=0).fit(images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, f"{folder}/model.onnx", layout="NHWC")
    ...     os.listdir(folder)
    ['model.onnx']
    """
    message = to_onnx(model, layout=layout, dtype=dtype, resize=resize, provenance=provenance).SerializeToString()
    with replacing(path) as temporary:
        temporary.write_bytes(message)


def to_onnx(
    model: Any,
    *,
    layout: Layout = "NCHW",
    dtype: Dtype = "uint8",
    resize: tuple[int, int] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> "onnx.ModelProto":
    """The same in memory."""
    features, classifier = _take_apart(model)
    graph, outputs, size = _graph_of(features, classifier, layout, dtype, resize)
    c = features.image_shape_in_[2]
    shape = ["n", c, *size] if layout == "NCHW" else ["n", *size, c]
    sizes = {"features": features.n_features_out_, "classes": 0 if classifier is None else len(classifier.classes_)}
    about = _about(features, classifier, layout, dtype, shape, dict(provenance or {}))
    from poolwise.export.proto import proto

    return proto(graph, shape, dtype, outputs, sizes, about)


def check_graph(model: Any) -> None:
    """An ExportError where there is no graph of a model. It is made, since its size counts; that needs no package onnx."""
    _graph_of(*_take_apart(model), "NCHW", "uint8", None)


def _graph_of(
    features: Any, classifier: Any, layout: Layout, dtype: Dtype, resize: tuple[int, int] | None
) -> tuple[Graph, list[str], tuple[int, int]]:
    """The graph, the names of its outputs, and (H, W) of its images."""
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"layout must be 'NCHW' or 'NHWC'; got {layout!r}")
    if dtype not in ("uint8", "float32"):
        raise ValueError(f"dtype must be 'uint8' or 'float32'; got {dtype!r}")
    check_features(features)
    first = features.layers_[0] if isinstance(features, StackedFeatures) else features
    H, W, _ = first.layer_.image_shape
    size = (H, W) if resize is None else as_image_shape(resize)[:2]
    graph = Graph()
    x = _images(graph, first, layout, dtype, size)
    outputs = ["features"]
    if isinstance(features, StackedFeatures):
        found = _stacked(graph, features, x, _is_pixels(first, dtype))
    else:
        found = _of_layer(graph, features.layer_, x, _is_pixels(features, dtype))
    graph("Identity", found, to="features")
    if classifier is not None:
        outputs += _classify(graph, classifier)
    if graph.nbytes > MOST_BYTES:
        raise ExportError(
            f"the graph would have {graph.nbytes / 1e9:.1f} GB, and a file of ONNX may have 2 GB; fit with fewer codes, "
            f"or with SecondOrder(directions=...) of fewer directions"
        )
    return graph, outputs, size


def _take_apart(model: Any) -> tuple[Any, Any]:
    """Features, and the classifier or None; fitted, and of exactly the known classes."""
    found = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    kinds: list[Any] = [type(one) for one in found]
    if kinds[0] not in (PooledFeatures, StackedFeatures) or kinds[1:] not in _CLASSIFIERS:
        raise TypeError(
            f"{' and '.join(kind.__name__ for kind in kinds)} cannot be exported; expected a fitted PooledFeatures or "
            f"StackedFeatures, or a Pipeline of one and a LinearSVM or LinearSVMCV"
        )
    for one in found:
        check_is_fitted(one)
    return found[0], found[1] if len(found) == 2 else None


def _is_pixels(features: PooledFeatures, dtype: Dtype) -> bool:
    """Whether the layer sees numbers of about 0..255."""
    low, high = _PIXEL_RANGE
    return dtype == "uint8" or features.bands_ is not None or low <= features._pixel_range <= high


def _images(graph: Graph, features: PooledFeatures, layout: Layout, dtype: Dtype, size: tuple[int, int]) -> str:
    """The input as (n, c, H, W) float32, of the layer's size, its bands scaled."""
    x = "images"
    if layout == "NHWC":
        x = graph("Transpose", x, perm=[0, 3, 1, 2])
    if dtype == "uint8":
        x = graph.cast(x, np.float32)
    x = resized(graph, x, size, features.layer_.image_shape[:2], is_bytes=dtype == "uint8")
    bands = features.bands_
    if bands is None:
        return x
    return graph("Add", graph("Mul", x, bands.gain[:, None, None]), bands.shift[:, None, None])


def _standard(graph: Graph, layer: Layer, views: str, is_pixels: bool) -> str:
    """Images and their copies to (n, cells, width), before the projection."""
    parts = activations(graph, layer, views, is_pixels=is_pixels)
    return standardized(graph, pooled(graph, layer, parts), layer.scale)


def _of_layer(graph: Graph, layer: Layer, x: str, is_pixels: bool) -> str:
    """Images to (n, n_features): of codes and, behind these, statistics of bands."""
    views = copies(graph, layer, x)
    found = [projected(graph, _standard(graph, layer, views, is_pixels), layer.projection)]
    if layer.statistics is not None:
        found.append(band_features(graph, layer, views, layer.statistics))
    return graph.join(found, 1)


def _stacked(graph: Graph, stack: StackedFeatures, x: str, is_pixels: bool) -> str:
    found = []
    for number, model in enumerate(stack.layers_):
        if stack.output == "all" or number == len(stack.layers_) - 1:
            found.append(_of_layer(graph, model.layer_, x, is_pixels))
        if number < len(stack.maps_):
            layer = stack.maps_[number]
            maps = _standard(graph, layer, copies(graph, layer, x), is_pixels)
            maps = graph("Add", graph("Mul", maps, real(float(SPREAD))), real(float(LEVEL)))
            maps = graph.reshape(maps, 0, *layer.pooling.grids[0], layer.n_outputs)
            x, is_pixels = graph("Transpose", maps, perm=[0, 3, 1, 2]), True
    return graph.join(found, 1)


def _classify(graph: Graph, classifier: Any) -> list[str]:
    """The outputs behind the features, by name."""
    W, b = classifier.coef_.T.astype(np.float32), classifier.intercept_.astype(np.float32)
    F = graph("Add", graph("MatMul", "features", W), b)
    two = len(classifier.classes_) == 2
    names = ["margins", "label_index", "label"]
    margins = graph("Concat", graph("Neg", F), F, axis=1) if two else F
    graph("Identity", margins, to="margins")
    graph("ArgMax", "margins", axis=1, keepdims=0, to="label_index")
    labels = np.array([str(label) for label in classifier.classes_.tolist()], dtype=object)
    graph("Gather", labels, "label_index", axis=0, to="label")
    if hasattr(classifier, "slope_"):
        slope = float(classifier.slope_) / (2 if two else 1)
        graph("Softmax", graph("Mul", "margins", real(slope)), axis=1, to="probabilities")
        names.insert(1, "probabilities")
    return names


def _about(
    features: Any, classifier: Any, layout: str, dtype: str, shape: list[Any], provenance: dict[str, Any]
) -> dict[str, str]:
    """The file's metadata."""
    parts = ("descriptor", "encoder", "pooling", "symmetry")
    found = {
        "poolwise.version": version("poolwise"),
        "poolwise.images": {"layout": layout, "dtype": dtype, "shape": shape, "numbers": "as in fit, not divided by 255"},
        "poolwise.layers": [
            {"codes": len(layer.codes)} | {name: repr(getattr(layer, name)) for name in parts}
            for layer in (features.passes_ if isinstance(features, StackedFeatures) else [features.layer_])
        ],
        "poolwise.provenance": provenance,
    }
    if classifier is not None:
        found["poolwise.classes"] = [str(label) for label in classifier.classes_.tolist()]
    return {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in found.items()}
