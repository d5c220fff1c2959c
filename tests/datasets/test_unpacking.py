"""Archives: what is unpacked, and what is refused."""

import errno
import os
import tarfile

import pytest

from poolwise.datasets.download import Archive, DownloadError
from poolwise.datasets.unpacking import unpack

from serving import tar_of

ARCHIVE = Archive("http://127.0.0.1/set.tar.gz", "", "set", 100_000)


@pytest.fixture
def packed(tmp_path):
    return tmp_path / "set.tar.gz"


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return home


def test_the_wanted_folder_appears_and_nothing_else(packed, home, pack):
    packed.write_bytes(pack({"set/a.bin": b"abc", "set/deep/er/b.bin": b"", "readme.txt": b"not wanted"}))
    unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == ["set"]
    assert {p.relative_to(home).as_posix() for p in home.rglob("*") if p.is_file()} == {"set/a.bin", "set/deep/er/b.bin"}
    assert (home / "set/a.bin").read_bytes() == b"abc"


def test_names_may_begin_with_a_dot(packed, home, pack):
    packed.write_bytes(pack({"./set/a.bin": b"abc"}, [member(".", tarfile.DIRTYPE)]))
    unpack(ARCHIVE, packed, home)
    assert (home / "set/a.bin").read_bytes() == b"abc"


def member(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize("name", ["/tmp/evil", "../evil", "set/../../evil", "C:\\evil", "\\evil", "..\\evil"])  # noqa: S108
def test_names_that_lead_out_are_refused(packed, home, pack, name):
    packed.write_bytes(pack({"set/a.bin": b"abc", name: b"evil"}))
    with pytest.raises(DownloadError, match="leads out of its folder"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []
    assert sorted(os.listdir(home.parent)) == ["home", "set.tar.gz"]


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "a.bin"),
        (tarfile.LNKTYPE, "set/a.bin"),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_links_devices_and_pipes_are_refused(packed, home, pack, kind, link):
    packed.write_bytes(pack({"set/a.bin": b"abc"}, [member("set/b.bin", kind, link)]))
    with pytest.raises(DownloadError, match=r"'set/b.bin' is a link, device or pipe"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_an_archive_that_unfolds_into_too_much_is_refused(packed, home, pack):
    packed.write_bytes(pack({"set/a.bin": bytes(100_001)}))
    assert packed.stat().st_size < 1000
    with pytest.raises(DownloadError, match="unfolds into more than 100,000 bytes"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_too_many_empty_files_are_too_much_as_well(packed, home, pack):
    packed.write_bytes(pack({f"set/{i}": b"" for i in range(200)}))
    with pytest.raises(DownloadError, match="unfolds into more than 100,000 bytes"):
        unpack(ARCHIVE, packed, home)


def test_a_name_that_comes_twice_is_refused(packed, home, pack):
    packed.write_bytes(pack({"set/a.bin": b"abc", "set//a.bin": b"def"}))
    with pytest.raises(DownloadError, match="exists"):
        unpack(ARCHIVE, packed, home)


def test_an_archive_that_is_cut_off_leaves_nothing(packed, home, pack):
    packed.write_bytes(pack({"set/a.bin": os.urandom(50_000)})[:30_000])
    with pytest.raises(DownloadError, match=r"set.tar.gz cannot be unpacked"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_a_file_that_is_no_archive_is_refused(packed, home):
    packed.write_bytes(b"<html>moved</html>" * 100)
    with pytest.raises(DownloadError, match=r"set.tar.gz cannot be unpacked"):
        unpack(ARCHIVE, packed, home)


def test_an_archive_without_the_folder_is_refused(packed, home, pack):
    packed.write_bytes(pack({"other/a.bin": b"abc"}))
    with pytest.raises(DownloadError, match="holds no folder set"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_an_interrupt_leaves_nothing(packed, home, pack, monkeypatch):
    packed.write_bytes(pack({"set/a.bin": b"abc"}))

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("poolwise.datasets.unpacking.shutil.copyfileobj", interrupt)
    with pytest.raises(KeyboardInterrupt):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_a_full_disk_is_reported_and_nothing_stays(packed, home, pack, monkeypatch):
    packed.write_bytes(pack({"set/a.bin": b"abc"}))

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("poolwise.datasets.unpacking.shutil.copyfileobj", full)
    with pytest.raises(DownloadError, match=f"the disk of {home} is full"):
        unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == []


def test_a_folder_that_another_process_put_there_meanwhile_stays(packed, home, pack):
    packed.write_bytes(pack({"set/a.bin": b"abc"}))
    (home / "set").mkdir()
    (home / "set/b.bin").write_bytes(b"theirs")
    unpack(ARCHIVE, packed, home)
    assert os.listdir(home) == ["set"]
    assert os.listdir(home / "set") == ["b.bin"]


def test_an_archive_in_an_archive_is_named(tmp_path):
    inner = tar_of({"set/a.bin": b"abc"})
    (tmp_path / "set.tar.gz").write_bytes(tar_of({"SET.TAR.GZ": inner}))
    archive = Archive("http://nowhere/set.tar.gz", "", "set", 1_000_000)
    with pytest.raises(DownloadError, match=r"no folder set but another archive, 'SET.TAR.GZ': unpack that yourself"):
        unpack(archive, tmp_path / "set.tar.gz", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["set.tar.gz"]
