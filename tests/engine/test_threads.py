import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from poolwise.engine.blas import thread_count
from poolwise.engine.threads import Threads


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_results_come_in_order_and_lazily():
    taken = []
    with Threads(2) as engine:
        results = engine.map(lambda i: i * i, (taken.append(i) or i for i in range(1000)))
        assert next(results) == 0
        assert len(taken) < 20
        assert list(results) == [i * i for i in range(1, 1000)]


def test_blas_has_one_thread_inside_and_its_own_number_after():
    with threadpool_limits(2, user_api="blas"):
        with Threads(2):
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_overlapping_users_on_two_threads_leave_blas_as_it_was():
    before = blas_threads()
    first_in, second_in, first_out, end = (threading.Event() for _ in range(4))

    def first():
        with Threads(1):
            first_in.set()
            second_in.wait(10)
        first_out.set()
        end.wait(10)  # stays alive: threadpoolctl obeys the living thread that set a limit first

    worker = threading.Thread(target=first)
    worker.start()
    first_in.wait(10)
    with Threads(1):
        assert blas_threads() == {1}
        second_in.set()
        first_out.wait(10)
        assert blas_threads() == {1}
    assert blas_threads() == before
    end.set()
    worker.join()


def test_an_error_in_a_shard_reaches_the_caller_and_frees_blas():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), Threads(2) as engine:
        list(engine.map(lambda i: 1 // i, [1, 0, 1]))
    assert blas_threads() == before


def test_none_means_as_many_as_blas_may_use():
    with threadpool_limits(1, user_api="blas"):
        assert thread_count(None) == 1


def test_none_means_the_same_while_another_user_holds_blas():
    free = thread_count(None)
    with Threads(1):
        assert thread_count(None) == free


@pytest.mark.parametrize("n_jobs", [0, 2.5, True, "2"])
def test_senseless_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.* has no meaning"):
        thread_count(n_jobs)


def test_map_needs_the_context():
    with pytest.raises(RuntimeError, match="with Threads"):
        next(Threads(1).map(str, [1]))


def test_what_is_common_reaches_every_shard():
    with Threads(2) as engine:
        assert list(engine.map(lambda shard, a, b: (shard, a, b), range(3), "a", "b")) == [(i, "a", "b") for i in range(3)]
        seen = []
        engine.run(lambda shard, add: add(shard), range(50), seen.append)
    assert sorted(seen) == list(range(50))


def test_each_reaches_every_row():
    seen = []
    with Threads(2) as engine:
        engine.each(lambda rows: seen.extend(range(100)[rows]), 100, size=7)
    assert sorted(seen) == list(range(100))
