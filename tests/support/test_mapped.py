"""Memory maps on their way to other processes."""

import os

import numpy as np
import pytest

from poolwise.engine.tasks import Sent, call_each
from poolwise.support.mapped import as_mapped, packed, unpacked


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12).reshape(4, 3))
    return tmp_path / "a.npy"


def test_a_map_and_its_parts_come_back(path):
    mapped = np.load(path, mmap_mode="r")
    for part in (mapped, mapped[1:], mapped[2:3], np.asarray(mapped)[1:]):
        assert np.array_equal(unpacked(packed(part)), part)
        assert as_mapped(part) is not None
    for other in (mapped[:, 1:], np.array(mapped), np.load(path, mmap_mode="c")):
        assert packed(other) is other


def test_a_worker_sees_a_file_that_takes_the_place_of_another(path):
    def total():
        sent = Sent(_total, (packed(np.load(path, mmap_mode="r")),))
        return call_each([0], sent)[0]

    assert total() == 66
    np.save(path.with_name("b.npy"), np.zeros((4, 3), np.int64))
    os.utime(path.with_name("b.npy"), ns=(1, 1))  # however fast it came
    os.replace(path.with_name("b.npy"), path)
    assert total() == 0


def test_a_map_whose_file_has_gone_travels_as_its_content(path):
    mapped = np.load(path, mmap_mode="r")
    path.unlink()
    assert packed(mapped) is mapped


def _total(_shard, array):
    return int(array.sum())
