"""Band statistics as nodes: mean, spread, least and largest of every band in every cell, averaged over copies, standardised.

spread² = mean of (x - mean)²        in two passes and in float64: x² - mean² would lose the digits of large numbers
"""

from typing import Any

import numpy as np

from poolwise.export.graph import Graph
from poolwise.export.pooled import mean_of_copies, parts_of_cells, stacked, standardized
from poolwise.method.layer import Layer
from poolwise.method.scale import Scale


def band_features(graph: Graph, layer: Layer, views: str, scale: Scale) -> str:
    """Images and their copies, (copies · n, c, H, W) float32, to (n, cells · 4c)."""
    H, W, c = layer.image_shape
    cells = [_of_cell(graph, part) for part, _ in parts_of_cells(graph, layer, views, (H, W))]
    x = mean_of_copies(graph, layer, stacked(graph, cells), 4 * c)
    return graph("Flatten", standardized(graph, x, scale), axis=1)


def _of_cell(graph: Graph, x: str) -> str:
    """(copies · n, c, height, width) to (copies · n, 4c)"""
    over: dict[str, Any] = {"axes": [2, 3]}
    exact = graph.cast(x, np.float64)
    mean = graph("ReduceMean", exact, **over, keepdims=1)
    away = graph("Sub", exact, mean)
    spread = graph("Sqrt", graph("ReduceMean", graph("Mul", away, away), **over, keepdims=0))
    found = [graph.cast(graph("Flatten", mean, axis=1), np.float32), graph.cast(spread, np.float32)]
    return graph.join([*found, *(graph(how, x, **over, keepdims=0) for how in ("ReduceMin", "ReduceMax"))], 1)
