"""Files that are written whole or not at all."""

import os

import pytest

from poolwise.support.files import replacing


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_goes_wrong_leaves_the_old_file_alone(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")

    def half() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file_alone(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    path.write_text("old")

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="no space left"), replacing(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    calls = []

    def flush(handle):
        calls.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")

    monkeypatch.setattr(os, "fsync", flush)
    move = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("name"), move(a, b)))
    with replacing(tmp_path / "a") as temporary:
        temporary.write_text("new")
    assert calls == ["file", "name", "folder"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_is_honoured(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "a") as temporary:
            temporary.write_text("new")
        with replacing(tmp_path / "b") as temporary:  # by a writer that makes a private file of its own
            (tmp_path / "own").write_text("new")
            (tmp_path / "own").chmod(0o600)
            (tmp_path / "own").replace(temporary)
    finally:
        os.umask(before)
    assert (tmp_path / "b").stat().st_mode & 0o777 == mode
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


def test_folders_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file"), replacing(path):
            pass
    assert os.listdir(tmp_path) == ["pipe"]


def test_names_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 255)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
