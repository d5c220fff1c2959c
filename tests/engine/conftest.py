"""Tests that kill processes end by themselves: nothing waits for ever."""

import signal

import pytest

MOST_SECONDS = 540


@pytest.fixture(autouse=True)
def deadline(request):
    """An error where one of `make test-cluster` takes as long as all of them may."""
    if request.node.get_closest_marker("cluster") is None:
        yield
        return

    def end(*_):
        raise TimeoutError(f"not done after {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
