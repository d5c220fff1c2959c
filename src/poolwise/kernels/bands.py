"""Sums, squares and extremes of every band over rectangles of pixels, in one pass.

images : (n, H, W, c) float32    an atom is a rectangle that cells are unions of
"""

import numpy as np

from poolwise.kernels.compiling import compiled
from poolwise.support.types import Array


@compiled()
def band_atoms(
    images: Array, y_edges: Array, x_edges: Array, sums: Array, squares: Array, least: Array, largest: Array
) -> None:
    """All (n, rows, columns, c), filled in: sums and squares float64 about the image's first pixel, extremes float32.

    y_edges, x_edges : borders of the atoms, in pixels
    """
    for n in range(images.shape[0]):
        origin = images[n, 0, 0]
        for i in range(len(y_edges) - 1):
            for j in range(len(x_edges) - 1):
                total, square, low, high = sums[n, i, j], squares[n, i, j], least[n, i, j], largest[n, i, j]
                total[:] = 0.0
                square[:] = 0.0
                low[:] = np.float32(np.inf)
                high[:] = np.float32(-np.inf)
                for y in range(y_edges[i], y_edges[i + 1]):
                    for x in range(x_edges[j], x_edges[j + 1]):
                        pixel = images[n, y, x]
                        for k in range(len(pixel)):
                            v = np.float64(pixel[k]) - np.float64(origin[k])
                            total[k] += v
                            square[k] += v * v
                            low[k] = min(low[k], pixel[k])
                            high[k] = max(high[k], pixel[k])
