"""Where data is looked for, and how it gets there."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sklearn.datasets import get_data_home

from poolwise.datasets.download import DownloadError
from poolwise.datasets.home import data_folder, fetched, parts_of


def test_the_argument_comes_first_then_the_variable_then_scikit_learns_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    monkeypatch.setenv("POOLWISE_DATA", str(tmp_path / "variable"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder() == tmp_path / "variable"
    monkeypatch.setenv("POOLWISE_DATA", "")
    assert data_folder() == tmp_path / "sklearn" / "poolwise"
    monkeypatch.delenv("POOLWISE_DATA")
    assert data_folder() == tmp_path / "sklearn" / "poolwise"


def test_a_missing_folder_is_downloaded_and_unpacked_and_its_archive_removed(server, pack, tmp_path):
    server.content = pack({"set/a.bin": b"abc"})
    home = tmp_path / "not" / "there"
    assert fetched(server.archive(), home, True, False) == home / "set"
    assert (home / "set/a.bin").read_bytes() == b"abc"
    assert os.listdir(home) == ["set"]


def test_of_two_that_fetch_the_same_one_waits(server, pack, tmp_path, capsys):
    server.content, server.stall = pack({"set/a.bin": os.urandom(100_000)}), threading.Event()
    server.stop_after = 50_000

    def fetch(verbose):
        return fetched(server.archive(), tmp_path, True, verbose)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, False)
        while not (tmp_path / "set.tar.gz.part").exists():
            time.sleep(0.01)
        second = pool.submit(fetch, True)
        said = ""
        for _ in range(1000):
            said += capsys.readouterr().err
            if "waiting" in said:
                break
            time.sleep(0.01)
        assert "another process is fetching set.tar.gz; waiting for it\n" in said
        server.stop_after = None
        server.stall.set()
        with pytest.raises(DownloadError, match="ended after 50,000"):
            first.result()
        assert second.result() == tmp_path / "set"
    assert server.requested == [None, "bytes=50000-"]  # what the first brought was not brought again
    assert os.listdir(tmp_path) == ["set"]


def test_a_folder_that_is_there_needs_no_server(server, tmp_path):
    (tmp_path / "set").mkdir()
    assert fetched(server.archive(), tmp_path, True, False) == tmp_path / "set"
    assert server.requested == []


def test_without_download_the_folder_and_the_address_are_named(server, tmp_path):
    home = tmp_path / "home"
    with pytest.raises(FileNotFoundError, match=f"{home / 'set'} does not exist and download_if_missing=False.*{server.url}"):
        fetched(server.archive(), home, False, False)
    assert not home.exists()
    assert server.requested == []


def test_an_archive_brought_by_hand_is_unpacked_without_download_and_stays(server, pack, tmp_path):
    server.content = pack({"set/a.bin": b"abc"})
    (tmp_path / "set.tar.gz").write_bytes(server.content)
    fetched(server.archive(), tmp_path, False, False)
    assert sorted(os.listdir(tmp_path)) == ["set", "set.tar.gz"]
    assert server.requested == []


def test_nothing_is_unpacked_before_the_checksum_is_right(server, pack, tmp_path):
    server.content = pack({"set/a.bin": b"abc"})
    with pytest.raises(DownloadError, match="expected"):
        fetched(server.archive(content=b"another"), tmp_path, True, False)
    assert os.listdir(tmp_path) == []


def test_a_home_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=f"{tmp_path / 'file' / 'home'} cannot be made"):
        fetched(server.archive(), tmp_path / "file" / "home", True, False)


@pytest.mark.parametrize("subset", ["validation", None, ["train"]])
def test_an_unknown_subset_is_named(subset):
    with pytest.raises(ValueError, match="'train', 'test', 'all', 'unlabeled'; got"):
        parts_of(subset, "unlabeled")


def test_looking_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("POOLWISE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    data_folder()
    assert os.listdir(tmp_path) == []


def test_without_any_variable_it_is_where_scikit_learn_has_its_data(tmp_path, monkeypatch):
    for name in ("POOLWISE_DATA", "SCIKIT_LEARN_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == Path(get_data_home()) / "poolwise"


def test_a_user_who_is_unknown_is_part_of_a_name():
    assert data_folder("~nobody-of-that-name/x") == Path("~nobody-of-that-name/x")
