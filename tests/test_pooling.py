import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolwise.pooling import as_grids, cell_edges, cut_cells, pool_activations


@given(h=st.integers(1, 60), G=st.integers(1, 60))
def test_row_i_belongs_to_cell_floor_iG_over_h(h, G):
    if G > h:
        with pytest.raises(ValueError, match="does not fit"):
            cell_edges(h, G)
        return
    edges = cell_edges(h, G)
    assert [np.searchsorted(edges, i, side="right") - 1 for i in range(h)] == [i * G // h for i in range(h)]


def test_27_rows_split_14_and_13():
    assert cell_edges(27, 2) == [0, 14, 27]


def naive_pool(F, pool, rows, columns):
    h, w, _ = F.shape
    cells = [[[] for _ in range(columns)] for _ in range(rows)]
    for y in range(h):
        for x in range(w):
            cells[y * rows // h][x * columns // w].append(F[y, x])
    out = []
    for row in cells:
        for cell in row:
            values = np.array(cell)
            out.append(
                {
                    "average": values.sum(0) / len(values),
                    "sum": values.sum(0),
                    "max": values.max(0),
                    "rms": np.sqrt((values**2).sum(0) / len(values)),
                }[pool]
            )
    return np.array(out)


@pytest.mark.parametrize("pool", ["average", "sum", "max", "rms"])
@pytest.mark.parametrize("grid", [1, 2, (3, 2), [1, 2, (1, 3)]])
def test_pooling_against_a_loop_over_positions(rng, pool, grid):
    F = rng.normal(size=(7, 5, 3)) - 10  # all negative: a maximum that starts from zero would show
    expected = np.concatenate([naive_pool(F, pool, *g) for g in as_grids(grid)])
    np.testing.assert_allclose(pool_activations(F, pool, grid), expected)


@pytest.mark.parametrize("pool", ["average", "sum", "max", "rms"])
def test_atoms_combine_to_the_cells_of_every_level(rng, pool):
    F, grids = rng.normal(size=(11, 9, 2)), as_grids([1, 2, (3, 4)])
    cells = cut_cells((11, 9), grids)
    reduce = {"max": lambda f: f.max((0, 1)), "rms": lambda f: (f**2).sum((0, 1))}.get(pool, lambda f: f.sum((0, 1)))
    ye, xe = cells.y_edges, cells.x_edges
    atoms = np.array(
        [[reduce(F[ye[i] : ye[i + 1], xe[j] : xe[j + 1]]) for j in range(len(xe) - 1)] for i in range(len(ye) - 1)]
    )
    out = np.empty((1, 17, 2))
    cells.combine(atoms[None], pool, out)
    np.testing.assert_allclose(out[0], pool_activations(F, pool, [1, 2, (3, 4)]))


@pytest.mark.parametrize("grid", [0, -1, 2.0, True, "2", (2, 0), (1, 2, 3), [], [2, 2], [(2, 2), 2], None])
def test_senseless_grids_are_refused(grid):
    with pytest.raises(ValueError, match=r"grid|pyramid"):
        as_grids(grid)
