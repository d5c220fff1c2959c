"""One process or thread at a time."""

import os
import threading

import pytest

from poolwise.support.locking import locked


def test_the_second_waits_for_the_first(tmp_path):
    seen, waited, inside = [], threading.Event(), threading.Event()

    def first():
        with locked(tmp_path / "a.lock"):
            inside.set()
            waited.wait(60)
            seen.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait(60)
    with locked(tmp_path / "a.lock", waited.set):
        seen.append("second")
    thread.join()
    assert seen == ["first", "second"]
    assert os.listdir(tmp_path) == []


def test_an_error_lets_go(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path / "a.lock"):
        raise KeyError
    with locked(tmp_path / "a.lock"):
        assert os.listdir(tmp_path) == ["a.lock"]


def test_where_no_file_can_be_made_the_body_runs_and_its_error_is_shown(tmp_path):
    (tmp_path / "a").write_text("a file, not a folder")
    with pytest.raises(OSError, match="not here"), locked(tmp_path / "a" / "b.lock"):
        raise OSError("not here")
