"""Rows that stay where the engine put them: functions go to them, in blocks, and the threads do not show."""

import numpy as np
import pytest

from poolwise.engine.threads import HeldArray, Threads
from poolwise.support.blocks import spans


@pytest.fixture
def array(rng):
    return rng.normal(size=(103, 5)).astype(np.float32)


@pytest.fixture
def held(array, engine):
    return HeldArray(array.copy(), engine)


@pytest.mark.parametrize("size", [1, 10, 103, 1000])
def test_map_gives_the_results_in_the_order_of_the_blocks(held, array, size):
    results = list(held.map(lambda block, factor: (len(block), factor * block.sum(axis=0)), 2.0, size=size))
    expected = [(len(array[rows]), 2.0 * array[rows].sum(axis=0)) for rows in spans(103, size)]
    assert [n for n, _ in results] == [n for n, _ in expected]
    np.testing.assert_array_equal([total for _, total in results], [total for _, total in expected])


def test_map_is_lazy(engine):
    seen = []
    results = HeldArray(np.arange(1000.0)[:, None], engine).map(lambda block: seen.append(1), size=1)
    assert seen == []
    next(results)
    assert len(seen) < 20


@pytest.mark.parametrize("size", [1, 10, 103, 1000])
def test_replace_changes_every_row_once(held, array, size):
    held.replace(lambda block, a, b: a * block + b, 2, 1, size=size)
    np.testing.assert_array_equal(held.array, 2 * array + 1)
    assert held.shape == (103, 5)
    assert held.array.dtype == np.float32


def test_replace_shows_the_function_one_block_at_a_time(held, array):
    held.replace(lambda block: block - block[0], size=10)
    np.testing.assert_array_equal(held.array, np.concatenate([array[rows] - array[rows][0] for rows in spans(103, 10)]))


@pytest.mark.parametrize("size", [1, 10, 103, 1000])
def test_rows_may_become_shorter(held, array, size):
    held.replace(lambda block, factor: factor * block[:, :2], 3, size=size)
    np.testing.assert_array_equal(held.array, 3 * array[:, :2])
    assert (held.shape, held.array.dtype) == ((103, 2), np.float32)
    held.replace(lambda block: block[:, ::-1], size=size)
    np.testing.assert_array_equal(held.array, 3 * array[:, 1::-1])


def test_what_replaces_a_block_must_have_its_rows(held):
    with pytest.raises(ValueError, match="could not broadcast"):
        held.replace(lambda block: block[:2], size=10)


def test_take_gives_a_copy_of_some_rows_in_their_order(held, array):
    rows = np.array([7, 0, 7, 102])
    taken = held.take(rows)
    np.testing.assert_array_equal(taken, array[rows])
    taken[:] = 0
    np.testing.assert_array_equal(held.array, array)
    assert held.take(np.empty(0, np.int64)).shape == (0, 5)


def test_an_error_in_a_block_reaches_the_caller(held):
    def fail(block):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(held.map(fail, size=10))
    with pytest.raises(ZeroDivisionError):
        held.replace(fail, size=10)


def rows_of(shard, array):
    """Where the rows belong, and what they are."""
    return shard, array[shard]


def test_hold_keeps_consecutive_rows(array, engine):
    held = engine.hold(rows_of, spans(103, 10), array, n=103)
    assert held.shape == (103, 5)
    np.testing.assert_array_equal(held.array, array)
    assert held.array.dtype == np.float32


def test_hold_scatters_rows_that_come_in_any_order(array, engine, rng):
    shards = np.array_split(rng.permutation(103), 7)
    held = engine.hold(rows_of, shards, array, n=103)
    np.testing.assert_array_equal(held.array, array)


def test_what_is_held_is_a_copy(array, engine):
    held = engine.hold(rows_of, spans(103, 103), array, n=103)
    held.replace(np.zeros_like, size=50)
    assert (array != 0).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hold_keeps_the_type_of_the_rows(engine, dtype):
    assert engine.hold(lambda rows: (rows, np.ones((3, 2), dtype)), spans(9, 3), n=9).array.dtype == dtype


def test_without_a_shard_there_is_nothing_to_hold(engine):
    with pytest.raises(ValueError, match="there are no rows to hold"):
        engine.hold(rows_of, [], np.empty((0, 3)), n=0)


def test_an_error_in_a_shard_reaches_who_holds(engine):
    with pytest.raises(IndexError):
        engine.hold(rows_of, [np.array([0]), np.array([99])], np.zeros((2, 3)), n=2)


def work(array, threads):
    """Held in shards out of order, changed in place, reduced in the order of the blocks."""
    with Threads(threads) as engine:
        held = engine.hold(rows_of, np.array_split(np.random.default_rng(1).permutation(len(array)), 13), array, n=len(array))
        held.replace(lambda block, W: block @ W, np.linalg.qr(array[:5].astype(np.float64))[0].astype(np.float32), size=10)
        total = np.zeros(5)
        for part in held.map(lambda block: block.sum(axis=0), size=7):
            total += part
        return held.array.tobytes(), total.tobytes(), held.take(np.array([5, 3])).tobytes()


def test_the_same_result_on_1_2_and_4_threads(array):
    assert work(array, 1) == work(array, 2) == work(array, 4)


def test_held_rows_need_the_context_of_their_engine(array):
    with Threads(1) as engine:
        held = HeldArray(array, engine)
    with pytest.raises(RuntimeError, match="with Threads"):
        list(held.map(len, size=10))
