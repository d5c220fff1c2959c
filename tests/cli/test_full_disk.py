"""A disk that is full: known before learning, and the model is kept elsewhere if it fills up meanwhile."""

import os
import subprocess

import pytest

from poolwise import PooledFeatures, load, save

from small import QUICK

LARGE = ["--candidates", "400", "--selection", "affinity", "--classifier", "none"]  # a covariance of 1.3 MB


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    done = subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted: {done.stderr.decode()}")
    yield folder
    subprocess.run(["/bin/umount", folder], check=True)


def test_room_is_looked_for_before_learning(made, poolwise, small_disk, monkeypatch):
    monkeypatch.setattr("poolwise.estimators.pooled_features.learn", None)  # whoever gets there fails
    done = poolwise("fit", made.train, "-o", small_disk / "m.safetensors", *QUICK, *LARGE)
    assert (done.code, done.out, os.listdir(small_disk)) == (3, "", [])
    assert f"m.safetensors will take about 1.5 MB, and {small_disk} has 1.0 MB free; make room" in done.err


def test_what_was_learned_is_saved_elsewhere(made, poolwise, small_disk, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.cli.commands.fit.check_model_room", lambda *model, slim: None)  # it fills up later
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = poolwise("fit", made.train, "-o", small_disk / "m.safetensors", *QUICK, *LARGE)
    (second,) = (tmp_path / "here").iterdir()
    assert (done.code, done.out, os.listdir(small_disk)) == (3, "", [])
    assert f"{small_disk / 'm.safetensors'} cannot be written: " in done.err
    assert "No space left on device" in done.err
    assert f"what was learned is saved as {second}" in done.err
    assert load(second).n_candidates_ == 400


def test_places_that_are_gone_are_passed_over(made, poolwise, small_disk, tmp_path, monkeypatch):
    monkeypatch.setattr("poolwise.cli.commands.fit.check_model_room", lambda *model, slim: None)

    def nowhere():
        raise FileNotFoundError("No usable temporary directory found")

    for name in ("home", "gone"):
        (tmp_path / name).mkdir()
    with monkeypatch.context() as patched:
        patched.setenv("HOME", str(tmp_path / "home"))
        patched.setattr("tempfile.gettempdir", nowhere)  # as it is where every disk is full
        patched.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        done = poolwise("fit", made.train, "-o", small_disk / "m.safetensors", *QUICK, *LARGE)
    (second,) = (tmp_path / "home").iterdir()
    assert (done.code, f"what was learned is saved as {second}" in done.err) == (3, True)


def test_save_says_which_file(photos, small_disk):
    model = PooledFeatures(4, 400, n_patches=2000, selection="random", random_state=0).fit(photos)
    with pytest.raises(OSError, match=r"small/m.safetensors cannot be written: .*No space left on device"):
        save(model, small_disk / "m.safetensors")
    assert os.listdir(small_disk) == []


def test_a_table_on_a_full_disk_names_the_reason(made, poolwise, small_disk):
    (small_disk / "full").write_bytes(bytes((1 << 20) - 4096))
    done = poolwise("transform", made.model, made.test, "-o", small_disk / "t.csv")
    assert (done.code, os.listdir(small_disk)) == (3, ["full"])
    assert "No space left on device" in done.err
