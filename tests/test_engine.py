import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from poolwise.engine import Threads, spans, thread_count


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
    first_in, second_in = threading.Event(), threading.Event()

    def first():
        with Threads(1):
            first_in.set()
            second_in.wait(10)

    worker = threading.Thread(target=first)
    worker.start()
    first_in.wait(10)
    with Threads(1):
        assert blas_threads() == {1}
        second_in.set()
        worker.join()
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_an_error_in_a_shard_reaches_the_caller_and_frees_blas():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), Threads(2) as engine:
        list(engine.map(lambda i: 1 // i, [1, 0, 1]))
    assert blas_threads() == before


def test_none_means_as_many_as_blas_may_use():
    with threadpool_limits(1, user_api="blas"):
        assert thread_count(None) == 1


def test_zero_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs=0"):
        thread_count(0)


def test_map_needs_the_context():
    with pytest.raises(RuntimeError, match="with Threads"):
        next(Threads(1).map(str, [1]))


def test_spans_cover_everything_once():
    assert [i for s in spans(10, 3) for i in range(10)[s]] == list(range(10))
    assert spans(0, 3) == []
