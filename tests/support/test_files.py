"""Files that are written whole or not at all."""

import os
import subprocess
import sys
import time

import pytest

from poolwise.support import files
from poolwise.support.files import replacing, temporary_name


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


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o444, 0o755])
def test_permissions_of_the_old_file_are_kept(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        assert temporary.stat().st_mode & 0o077 == mode & 0o077  # what was private is so on the way too
        (tmp_path / "own").write_text("new")
        (tmp_path / "own").chmod(0o640)
        (tmp_path / "own").replace(temporary)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files to others")
def test_the_owner_of_the_old_file_is_kept(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_a_symbolic_link_stays_and_leads_to_the_new_file(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("old")
    for link, target in (("one", "far/a"), ("two", "one"), ("dangling", "far/b")):
        (tmp_path / link).symlink_to(target)
    for link in ("two", "dangling"):
        with replacing(tmp_path / link) as temporary:
            temporary.write_text(link)
            assert temporary.parent == tmp_path / "far"
    assert all((tmp_path / link).is_symlink() for link in ("one", "two", "dangling"))
    assert ((tmp_path / "far" / "a").read_text(), (tmp_path / "far" / "b").read_text()) == ("two", "dangling")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="not a regular file"), replacing(tmp_path / "loop"):
        pass
    assert (tmp_path / "loop").is_symlink()


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_dead_processes_have_left_is_removed(tmp_path, dead, monkeypatch):
    monkeypatch.setattr(files, "_swept", set())
    own, hour = temporary_name(tmp_path).name, time.time() - 3600
    left = own.replace(f"-{os.getpid()}-", f"-{dead}-")
    kept = {
        "young": left.replace(left[-20:-4], "0" * 16),
        "alive": own,
        "another machine": left.replace(left[10:18], "01234567"),
        "another program": f".poolwise-{dead}.tmp",
        "user": "results.tmp",
    }
    for name in (left, *kept.values()):
        (tmp_path / name).write_text("half")
        if name != kept["young"]:
            os.utime(tmp_path / name, (hour, hour))
    (tmp_path / "a").symlink_to("results.tmp")
    folder = tmp_path / left.replace(left[-20:-4], "f" * 16)
    (folder / "inside").mkdir(parents=True)
    os.utime(folder, (hour, hour))
    with replacing(tmp_path / "b") as temporary:
        temporary.write_text("new")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept.values(), "a", "b"])
