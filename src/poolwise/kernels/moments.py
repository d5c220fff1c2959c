"""Second moments of activations: positions sorted by atom, so that each atom is one product.

F : (positions, outputs) activations of a tile    an atom is a rectangle that cells are unions of
"""

import numpy as np

from poolwise.kernels.compiling import compiled, evenly
from poolwise.support.types import Array


@compiled()
def group_by_atom(
    corner: tuple[int, int], high: int, wide: int, y_edges: Array, x_edges: Array, row: Array, end: Array
) -> None:
    """Where each position of a tile goes so that those of one atom are neighbours.

    row : (high · wide,), filled in: the row of each position    end : (rows, columns), filled in: behind an atom's last row
    """
    y0, x0 = corner
    filled = 0
    for i in range(len(y_edges) - 1):
        ya, yb = max(y0, y_edges[i]), min(y0 + high, y_edges[i + 1])
        for j in range(len(x_edges) - 1):
            xa, xb = max(x0, x_edges[j]), min(x0 + wide, x_edges[j + 1])
            for y in range(ya, yb):
                for x in range(xa, xb):
                    row[(y - y0) * wide + x - x0] = filled
                    filled += 1
            end[i, j] = filled


@compiled()
def activate_rows(Z: Array, row: Array, k: int, q: int, K: int, signs: Array, thetas: Array, F: Array) -> None:
    """Activations of one tile of responses, each position in its row of F.

    Z : (n, q or more)    row : (n,)    F : (positions, sides · K or fewer), columns s · K + k .. s · K + k + q are filled in,
    as far as there are so many
    """
    zero = np.float32(0)
    for n in range(Z.shape[0]):
        for s in range(len(signs)):
            sign, theta, out = signs[s], thetas[s], F[row[n], s * K + k : s * K + k + q]
            for j in range(len(out)):
                a = sign * Z[n, j] - theta
                out[j] = a if a > zero else zero


@compiled()
def add_outer_products(F: Array, end: Array, most: int, product: Array, atoms: Array) -> None:
    """atoms[i, j] += FᵀF over the rows of each atom: second moments while the activations are in cache.

    F : (positions, m), grouped by atom    end : (rows, columns)    product : (m, m), overwritten
    atoms : (rows, columns, m²), updated    most : rows in one product
    """
    start = 0
    for i in range(end.shape[0]):
        for j in range(end.shape[1]):
            if end[i, j] > start:
                even = evenly(end[i, j] - start, most)
                while start < end[i, j]:
                    part = F[start : min(start + even, end[i, j])]
                    np.dot(part.T, part, product)
                    atoms[i, j] += product.reshape(-1)
                    start += len(part)


@compiled()
def pack_upper(S: Array, power: bool, x: Array) -> None:
    """x[i] : the upper triangle of S[i], row by row, what is off the diagonal times √2; `power`: of its entries' roots.

    S : (n, K, K)    x : (n, K (K + 1) / 2), filled in
    """
    n, K, _ = S.shape
    root_two = S.dtype.type(np.sqrt(2.0))
    for i in range(n):
        end = 0
        for r in range(K):
            out = x[i, end : end + K - r]
            for c in range(K - r):
                s = S[i, r, r + c]
                if power:
                    s = np.sqrt(s) if s >= 0 else -np.sqrt(-s)
                out[c] = s if c == 0 else root_two * s
            end += K - r


@compiled()
def largest_products(F: Array, into: Array) -> None:
    """into[ij] = max(into[ij], f_i f_j) over the rows f of F, for i ≤ j, row by row."""
    outputs = F.shape[1]
    for n in range(len(F)):
        at = 0
        for i in range(outputs):
            value = F[n, i]
            for j in range(i, outputs):
                product = value * F[n, j]
                into[at] = product if product > into[at] else into[at]
                at += 1
