"""`poolwise datasets`: what is there, and what is fetched; the server is ours, on this machine."""

import json
import os
import subprocess
import sys

import pytest

from poolwise.datasets import cifar10, fetch_cifar10
from poolwise.datasets import download as downloading

FOLDER = "cifar-10-batches-bin"


def told(done, name="cifar10"):
    """What --json prints of one data set."""
    assert done.code == 0
    (entry,) = [entry for entry in json.loads(done.out)["datasets"] if entry["name"] == name]
    return entry


def shown(done, name="cifar10"):
    """The lines of one data set."""
    assert done.code == 0
    (block,) = [block for block in done.out.split("\n\n") if block.startswith(f"{name}: ")]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in block.splitlines()[1:]}


@pytest.fixture
def packed(cifar, server, pack, monkeypatch):
    """The small CIFAR-10 taken out of its folder and put on the server."""
    files = sorted((cifar / FOLDER).iterdir())
    server.content = pack({f"{FOLDER}/{path.name}": path.read_bytes() for path in files})
    for path in files:
        path.unlink()
    (cifar / FOLDER).rmdir()
    monkeypatch.setattr(cifar10, "ARCHIVE", server.archive(FOLDER))
    return cifar


class TestList:
    def test_what_is_there(self, poolwise, cifar):
        lines = shown(poolwise("datasets"))
        assert lines["images"] == "40 train, 8 test; 32×32, 3 channels, 10 classes"
        assert lines["found"] == f"40 train, 8 test in {cifar / FOLDER}"
        assert lines["download"] == "about 170 MB from https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
        assert lines["cite"].endswith("https://www.cs.toronto.edu/~kriz/cifar.html")

    def test_json(self, poolwise, cifar):
        done = poolwise("datasets", "--json")
        entry = told(done)
        assert json.loads(done.out)["folder"] == str(cifar)
        assert [entry["name"] for entry in json.loads(done.out)["datasets"]] == [
            "cifar10",
            "stl10",
            "cub200",
            "eurosat",
            "photos",
        ]
        assert entry["complete"] is True
        assert entry["found"]["train"] == {"images": 40, "where": str(cifar / FOLDER)}
        assert entry["url"] == cifar10.ARCHIVE.url
        assert told(done, "stl10")["found"] == {}
        assert told(done, "stl10")["complete"] is False

    def test_an_empty_folder_is_left_empty_and_the_way_out_is_shown(self, poolwise, tmp_path):
        done = poolwise("datasets", "--data", tmp_path / "none")
        for name, folder in (("cifar10", FOLDER), ("stl10", "stl10_binary"), ("cub200", "CUB_200_2011")):
            assert shown(done, name)["found"] == (
                f"no, there is no {tmp_path / 'none' / folder}; `poolwise datasets fetch {name}` fetches it"
            )
        assert "3,200 train, 1,600 test in " in shown(done, "photos")["found"]
        assert os.listdir(tmp_path) == []

    def test_a_part_that_is_missing(self, poolwise, cifar):
        (cifar / FOLDER / "data_batch_2.bin").unlink()
        assert list(told(poolwise("datasets", "--json"))["found"]) == ["test"]
        assert shown(poolwise("datasets"))["found"] == f"8 test in {cifar / FOLDER}; not the whole: no train"
        (cifar / FOLDER / "test_batch.bin").unlink()
        assert shown(poolwise("datasets"))["found"] == f"{cifar / FOLDER}, but no part of it is whole"

    def test_damage_of_one_does_not_hide_the_others(self, poolwise, cifar):
        (cifar / "stl10_32.npz").write_bytes(b"PK")
        (cifar / "CUB_200_2011").mkdir()
        done = poolwise("datasets")
        assert "cannot be used: " in shown(done, "stl10")["found"]
        assert "images.txt is missing; complete" in shown(done, "cub200")["found"]
        assert "another folder with --data" in shown(done, "cub200")["found"]
        assert "data_home" not in done.out
        assert shown(done)["found"] == f"40 train, 8 test in {cifar / FOLDER}"
        assert "stl10_32.npz" in told(poolwise("datasets", "--json"), "stl10")["problem"]

    def test_what_has_arrived_of_an_archive(self, poolwise, packed):
        (packed / "set.tar.gz.part").write_bytes(bytes(2_000_000))
        assert told(poolwise("datasets", "--json"))["partial_bytes"] == 2_000_000
        assert shown(poolwise("datasets"))["found"].startswith("no; 2 MB of its archive have arrived")
        (packed / "set.tar.gz").write_bytes(b"")
        assert shown(poolwise("datasets"))["found"].startswith(f"packed, as {packed / 'set.tar.gz'}")

    @pytest.mark.parametrize("arguments", [["fetsh"], ["fetch"], ["fetch", "imagenet"], ["--data", __file__], ["--quiet"]])
    def test_usage(self, poolwise, arguments):
        assert poolwise("datasets", *arguments).code == 2


class TestFetch:
    def test_it_is_downloaded_checked_and_unpacked(self, poolwise, packed, server, monkeypatch):
        monkeypatch.setattr("poolwise.support.progress._QUIET_SECONDS", 0.0)
        done = poolwise("datasets", "fetch", "cifar10")
        assert (done.code, done.out) == (0, f"cifar10: 40 train, 8 test in {packed / FOLDER}\n")
        assert "download set.tar.gz" in done.err
        assert len(fetch_cifar10(subset="all", download_if_missing=False).images) == 48
        assert os.listdir(packed) == [FOLDER]
        assert server.requested == [None]

    def test_then_its_name_can_be_given(self, poolwise, packed, made):
        refused = poolwise("transform", made.model, "cifar10", "-o", packed / "f.npy", "--quiet")
        assert refused.code == 3
        assert "`poolwise datasets fetch cifar10` fetches it" in refused.err
        assert poolwise("datasets", "fetch", "cifar10", "--quiet").err == ""
        assert poolwise("transform", made.model, "cifar10", "-o", packed / "f.npy", "--quiet").code == 0

    def test_what_is_there_is_not_downloaded_again(self, poolwise, packed, server):
        poolwise("datasets", "fetch", "cifar10", "--quiet")
        result = json.loads(poolwise("datasets", "fetch", "cifar10", "--json").out)
        assert result["was_there"] is True
        assert result["found"]["test"] == {"images": 8, "where": str(packed / FOLDER)}
        assert len(server.requested) == 1

    @pytest.mark.parametrize("before", [True, False])
    def test_another_folder(self, poolwise, packed, tmp_path, before):
        place = ["--data", tmp_path / "other", "--json"]
        done = poolwise("datasets", *(place if before else []), "fetch", "cifar10", "--quiet", *([] if before else place))
        assert json.loads(done.out)["folder"] == str(tmp_path / "other")
        assert done.err == f"poolwise: other commands find it where POOLWISE_DATA={tmp_path / 'other'} is set\n"
        assert os.listdir(tmp_path / "other") == [FOLDER]
        assert os.listdir(packed) == []

    def test_a_broken_download_goes_on(self, poolwise, packed, server):
        server.stop_after = 50_000
        done = poolwise("datasets", "fetch", "cifar10", "--quiet")
        assert (done.code, done.out) == (3, "")
        assert "the connection ended after 50,000 of " in done.err
        assert done.err.count("\n") == 1
        server.stop_after = None
        assert poolwise("datasets", "fetch", "cifar10", "--quiet").code == 0
        assert server.requested == [None, "bytes=50000-"]

    def test_an_interrupt_keeps_what_came(self, poolwise, packed, monkeypatch):
        def interrupt(have, total, rate):
            raise KeyboardInterrupt

        monkeypatch.setattr(downloading, "_note", interrupt)
        done = poolwise("datasets", "fetch", "cifar10", "--quiet")
        assert (done.code, done.err.strip()) == (130, "poolwise: interrupted")  # click ends the line of ^C first
        assert os.listdir(packed) == ["set.tar.gz.part"]

    def test_a_wrong_checksum(self, poolwise, packed, server, monkeypatch):
        monkeypatch.setattr(cifar10, "ARCHIVE", server.archive(FOLDER, content=b"another"))
        done = poolwise("datasets", "fetch", "cifar10", "--quiet")
        assert done.code == 3
        assert "gave a file with the checksum" in done.err
        assert os.listdir(packed) == []

    def test_a_folder_that_is_not_the_whole_is_reported_and_left_alone(self, poolwise, cifar, server, monkeypatch):
        monkeypatch.setattr(cifar10, "ARCHIVE", server.archive(FOLDER))
        (cifar / FOLDER / "test_batch.bin").unlink()
        done = poolwise("datasets", "fetch", "cifar10", "--quiet")
        assert done.code == 3
        assert "it is not the whole data set: it has 40 train, the official one 40 train, 8 test" in done.err
        assert len(os.listdir(cifar / FOLDER)) == 5
        assert server.requested == []

    def test_a_folder_that_cannot_be_made(self, poolwise, packed, tmp_path):
        (tmp_path / "file").write_text("in the way")
        done = poolwise("datasets", "fetch", "cifar10", "--data", tmp_path / "file" / "home", "--quiet")
        assert done.code == 3
        assert "another folder with --data" in done.err
        assert "data_home" not in done.err

    def test_photos_need_nothing(self, poolwise, tmp_path):
        done = poolwise("datasets", "fetch", "photos", "--data", tmp_path)
        assert done.code == 0
        assert "photos: already here: 3,200 train, 1,600 test in " in done.out
        assert done.err == ""
        assert os.listdir(tmp_path) == []


def test_the_help_of_fetch_loads_nothing_heavy():
    code = (
        "import sys; from poolwise.cli import main; main(['datasets', 'fetch', '--help'])\n"
        "print([m for m in ('numba', 'sklearn', 'numpy', 'PIL', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "  poolwise datasets fetch cifar10" in done.stdout.split("Examples:")[1]
    assert done.stdout.rstrip().endswith("[]")
