import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolwise.method.pooling import POOLINGS, Pool
from poolwise.method.pooling.cells import as_grids, cell_edges, cut_cells
from poolwise.method.pooling.first_order import pool_activations
from poolwise.support.blocks import spans
from poolwise.support.parameters import ParameterError

HOWS = [word for word in Pool.words if word != "auto"]


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
                    "both": np.append(values.sum(0) / len(values), values.max(0)),
                }[pool]
            )
    return np.array(out)


@pytest.mark.parametrize("pool", HOWS)
@pytest.mark.parametrize("grid", [1, 2, (3, 2), [1, 2, (1, 3)]])
def test_pooling_against_a_loop_over_positions(rng, pool, grid):
    F = rng.normal(size=(7, 5, 3)) - 10  # all negative: a maximum that starts from zero would show
    expected = np.concatenate([naive_pool(F, pool, *g) for g in as_grids(grid)])
    np.testing.assert_allclose(pool_activations(F, pool, grid), expected)
    np.testing.assert_allclose(Pool(pool, grid)(F), expected)


@pytest.mark.parametrize("pool", HOWS)
def test_atoms_combine_to_the_cells_of_every_level(rng, pool):
    F, grids = rng.normal(size=(11, 9, 2)), as_grids([1, 2, (3, 4)])
    cells = cut_cells((11, 9), grids)
    reduce = {
        "max": lambda f: f.max((0, 1)),
        "rms": lambda f: (f**2).sum((0, 1)),
        "both": lambda f: np.append(f.sum((0, 1)), f.max((0, 1))),
    }.get(pool, lambda f: f.sum((0, 1)))
    ye, xe = cells.y_edges, cells.x_edges
    atoms = np.array(
        [[reduce(F[ye[i] : ye[i + 1], xe[j] : xe[j + 1]]) for j in range(len(xe) - 1)] for i in range(len(ye) - 1)]
    )
    pooling = Pool(pool, [1, 2, (3, 4)])
    out = pooling.normalized(pooling.combine(atoms[None].astype(np.float32), cells))
    assert out.shape == (1, 17, 4 if pool == "both" else 2)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out[0], pool_activations(F, pool, [1, 2, (3, 4)]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 11, 100])
@pytest.mark.parametrize("shift", [-10, 0, 10])
def test_rows_of_positions_may_come_in_any_pieces(rng, pooling, rows, shift):
    pooling = pooling.but(grid=[1, 2, (3, 4)])
    F = (rng.normal(size=(2, 11, 9, 3)) + shift).astype(np.float32)
    cells = cut_cells((11, 9), pooling.grids)
    accumulators = []
    for f in F:
        into = pooling.start(cells, 3)
        for piece in reversed(spans(11, rows)):  # nor does their order matter
            pooling.add(f[piece], piece.start, cells, into)
        accumulators.append(into)
    out = pooling.normalized(pooling.combine(np.stack(accumulators), cells))
    assert out.shape == (2, pooling.n_cells, pooling.width(3))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, [pooling(f.astype(np.float64)) for f in F], rtol=1e-4, atol=1e-4)


def test_what_is_added_is_left_as_it_was(rng, pooling):
    F, cells = rng.normal(size=(7, 5, 3)).astype(np.float32), cut_cells((7, 5), pooling.grids)
    before = F.copy()
    pooling.add(F, 0, cells, pooling.start(cells, 3))
    np.testing.assert_array_equal(F, before)


def test_selection_sees_as_many_numbers_per_cell_as_there_are_outputs(pooling):
    assert pooling.first_order().width(7) == 7
    assert pooling.first_order().n_cells == pooling.n_cells == 4


def test_grids_become_cells():
    assert Pool("average", grid=[1, (2, 3)]).grids == ((1, 1), (2, 3))
    assert Pool("average", grid=[1, (2, 3)]).n_cells == 7


def test_a_grid_that_fits_stays_and_one_that_does_not_is_refused_or_clipped():
    assert Pool("average", grid=[1, (2, 3)]).fitted_to((5, 5)).grids == ((1, 1), (2, 3))
    with pytest.raises(ParameterError, match="a grid of 3 cells does not fit on a row or column of 2 patch positions"):
        Pool("max", grid=(1, 3)).fitted_to((5, 2))
    assert Pool("max", grid=[1, (2, 3), 4]).fitted_to((1, 2), clip=True) == Pool("max", grid=[(1, 1), (1, 2)])


@pytest.mark.parametrize("grid", [0, -1, 2.0, True, "2", (2, 0), (1, 2, 3), [], [2, 2], [(2, 2), 2], None])
def test_senseless_grids_are_refused(grid):
    with pytest.raises(ValueError, match=r"grid|pyramid"):
        as_grids(grid)
    with pytest.raises(ParameterError, match="grid must be"):
        POOLINGS.check("pooling", Pool("average", grid=grid))


@pytest.mark.parametrize("word", ["mean", "Average", "", None])
def test_an_unknown_word_is_refused(rng, word):
    F = rng.normal(size=(4, 4, 2))
    for pool in (
        lambda: pool_activations(F, word),
        lambda: Pool(word, grid=2)(F),
    ):
        with pytest.raises(ParameterError, match="how must be one of 'average', 'max', 'sum', 'rms', 'both'; got"):
            pool()
    with pytest.raises(ParameterError, match="how must be one of 'auto', 'average', 'max', 'sum', 'rms', 'both'; got"):
        POOLINGS.check("pooling", Pool(word, grid=2))
    with pytest.raises(
        ParameterError,
        match="pooling must be one of 'auto', 'average', 'max', 'sum', 'rms', 'both', 'second_order', 'both_orders', 'max_prod",
    ):
        POOLINGS.check("pooling", word)
