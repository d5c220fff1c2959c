"""EuroSAT as 13 bands of Sentinel-2 at 32×32, from `eurosat32.npz` in the data folder: x_train, y_train, x_test, y_test."""

from pathlib import Path

from poolwise.images.stored import read_npz
from poolwise.support.types import Array

PACKED = "eurosat32.npz"


def read_packed(home: Path) -> tuple[Array, Array, Array, Array]:
    """Training images and labels, test images and labels; a FileNotFoundError where the file or its labels are missing."""
    path = home / PACKED
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not here")
    (train, train_labels), (test, test_labels) = (read_npz(path, f"x_{part}") for part in ("train", "test"))
    if train_labels is None or test_labels is None:
        raise FileNotFoundError(f"{path} has no labels y_train and y_test")
    return train, train_labels, test, test_labels
