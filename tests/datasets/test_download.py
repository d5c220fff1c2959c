"""Downloads: resumed, checked, refused; the server is ours, on this machine."""

import errno
import os
import sys
import threading
from dataclasses import replace

import pytest

from poolwise.datasets import download as module
from poolwise.datasets.download import DownloadError, download


@pytest.fixture
def content(server):
    server.content = os.urandom(1_000_000)
    return server.content


@pytest.fixture
def path(tmp_path):
    return tmp_path / "set.tar.gz"


@pytest.fixture
def part(path):
    return path.with_name("set.tar.gz.part")


def test_a_file_arrives_whole_and_nothing_else_stays(server, content, path):
    download(server.archive(), path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["set.tar.gz"]
    assert server.requested == [None]


def test_a_broken_connection_keeps_what_came_and_the_next_call_brings_the_rest(server, content, path, part):
    server.stop_after = 400_000
    with pytest.raises(
        DownloadError, match=r"ended after 400,000 of 1,000,000 bytes; .*set.tar.gz.part keeps what has arrived"
    ):
        download(server.archive(), path)
    assert part.read_bytes() == content[:400_000]
    assert not path.exists()
    server.stop_after = None
    download(server.archive(), path)
    assert server.requested == [None, "bytes=400000-"]
    assert path.read_bytes() == content
    assert not part.exists()


def test_an_interrupt_keeps_what_came(server, content, path, part, monkeypatch):
    def interrupt(have, total, rate):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_note", interrupt)
    with pytest.raises(KeyboardInterrupt):
        download(server.archive(), path)
    assert content.startswith(part.read_bytes())
    assert part.stat().st_size > 0


def test_a_server_without_ranges_sends_the_whole_again(server, content, path, part):
    part.write_bytes(b"x" * 1000)
    server.ranges = False
    download(server.archive(), path)
    assert path.read_bytes() == content


def test_a_range_from_elsewhere_is_not_appended(server, content, path, part):
    part.write_bytes(content[:1000])
    server.wrong_start = True
    download(server.archive(), path)
    assert server.requested == ["bytes=1000-", None]
    assert path.read_bytes() == content


def test_a_part_that_is_whole_is_only_checked(server, content, path, part):
    part.write_bytes(content)
    download(server.archive(), path)
    assert server.requested == [f"bytes={len(content)}-"]
    assert path.read_bytes() == content


def test_a_part_that_is_too_long_is_brought_anew(server, content, path, part):
    part.write_bytes(content + b"x")
    download(server.archive(), path)
    assert path.read_bytes() == content


def test_a_length_that_is_not_known_is_no_obstacle(server, content, path):
    server.length = False
    download(server.archive(), path)
    assert path.read_bytes() == content


def test_a_wrong_checksum_names_both_and_removes_the_file(server, content, path):
    right = server.archive(content=b"another file")
    with pytest.raises(DownloadError, match=f"checksum {server.archive().md5}, expected {right.md5}"):
        download(right, path)
    assert os.listdir(path.parent) == []


def test_a_file_that_is_there_is_checked_and_not_removed(server, content, path):
    path.write_bytes(b"brought by hand")
    with pytest.raises(DownloadError, match="remove it to download it again"):
        download(server.archive(), path)
    assert path.read_bytes() == b"brought by hand"
    assert server.requested == []


def test_a_file_that_is_there_and_right_is_not_downloaded(server, content, path):
    path.write_bytes(content)
    download(server.archive(), path)
    assert server.requested == []


@pytest.mark.parametrize(("status", "text"), [(404, "404 Not Found"), (503, "503 Service Unavailable")])
def test_an_http_error_is_named(server, path, status, text):
    server.status = status
    with pytest.raises(DownloadError, match=f"{server.url} could not be downloaded: the server answers {text}"):
        download(server.archive(), path)
    assert os.listdir(path.parent) == []


def test_a_silent_server_is_given_up(server, path):
    server.silent = threading.Event()
    with pytest.raises(DownloadError, match=r"nothing came for 0.2 seconds"):
        download(server.archive(), path, timeout=0.2)


def test_a_server_that_falls_silent_is_given_up_and_what_came_is_kept(server, content, path, part):
    server.stop_after, server.stall = 400_000, threading.Event()
    with pytest.raises(DownloadError, match=r"nothing came for 0.5 seconds; .*set.tar.gz.part keeps"):
        download(server.archive(), path, timeout=0.5)
    assert content.startswith(part.read_bytes())
    assert part.stat().st_size > 0


def test_no_server_at_all(server, path):
    archive = replace(server.archive(), url="http://127.0.0.1:1/set.tar.gz")
    with pytest.raises(DownloadError, match="no connection"):
        download(archive, path)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/a", "/etc/passwd", "data:,a"])
def test_only_http_addresses_are_opened(server, path, url):
    with pytest.raises(DownloadError, match="is not an http or https address"):
        download(replace(server.archive(), url=url), path)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1:1/a"])
def test_a_redirection_to_elsewhere_is_refused(server, path, url):
    server.location = url
    with pytest.raises(DownloadError, match="could not be downloaded"):
        download(server.archive(), path)
    assert os.listdir(path.parent) == []


def test_a_redirection_is_followed_and_resumed(server, content, path, part):
    part.write_bytes(content[:1000])
    server.location = server.url.replace("set.tar.gz", "elsewhere")
    download(server.archive(), path)
    assert server.requested == ["bytes=1000-", "bytes=1000-"]
    assert path.read_bytes() == content


def test_more_bytes_than_there_can_be_are_refused(server, content, path):
    with pytest.raises(DownloadError, match="expected fewer than 1,000"):
        download(server.archive(max_bytes=1000), path)


def test_an_endless_file_of_unknown_length_is_refused(server, content, path):
    server.length = False
    with pytest.raises(DownloadError, match="expected fewer than 300,000"):
        download(server.archive(max_bytes=300_000), path)
    assert os.listdir(path.parent) == []


def test_too_little_room_is_reported_before_the_download(server, content, path, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 10_000}))
    with pytest.raises(DownloadError, match=r"needs 1 MB and .* has 0 MB free"):
        download(server.archive(), path)
    assert os.listdir(path.parent) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is always full")
def test_a_full_disk_is_reported(server, content, path, part):
    part.symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=f"the disk of {path.parent} is full") as caught:
        download(server.archive(), path)
    assert caught.value.__cause__.errno == errno.ENOSPC


def test_progress_shows_the_time_left_on_stderr(server, content, path, capsys, monkeypatch):
    monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
    download(server.archive(), path, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "of 1,000,000" in err
    assert "MB/s" in err
    assert "left" in err
    assert err.splitlines()[-1].startswith("check set.tar.gz.part")


def test_a_quiet_download_says_nothing(server, content, path, capsys):
    download(server.archive(), path)
    assert capsys.readouterr() == ("", "")
    assert sys.stderr is not None
