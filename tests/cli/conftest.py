"""A small data set of PNG files and models of it, made once; and the command, called in this process."""

from types import SimpleNamespace

import numpy as np
import pytest

from poolwise.cli import main

from serving import pack, server, write_batches
from small import NAMES, QUICK, write_pngs

__all__ = ["cifar", "made", "pack", "poolwise", "server", "three_classes"]


@pytest.fixture(scope="session")
def three_classes():
    """60 + 30 photos of three pictures: images and labels of train and test."""
    from poolwise.datasets import load_photos

    parts = {}
    for subset, count in (("train", 20), ("test", 10)):
        photos = load_photos(subset=subset)
        rows = np.concatenate([np.flatnonzero(photos.target_names[photos.target] == name)[:count] for name in NAMES])
        parts[subset] = photos.images[rows], photos.target_names[photos.target[rows]]
    return parts


@pytest.fixture(scope="session")
def made(tmp_path_factory, three_classes):
    """Folders train and test of class folders; models: classifier, features alone, selected codes, resized."""
    home = tmp_path_factory.mktemp("cli")
    for subset, (images, labels) in three_classes.items():
        write_pngs(home / subset, images, labels)
    models = {
        "model": (),
        "features": ("--classifier", "none"),
        "chosen": ("--candidates", "24"),
        "resized": ("--resize", "24x20", "--crop", "--grey"),
    }
    for name, more in models.items():
        assert main(["fit", str(home / "train"), "-o", str(home / f"{name}.safetensors"), *QUICK, *more]) == 0
    return SimpleNamespace(
        home=home,
        train=str(home / "train"),
        test=str(home / "test"),
        **{name: str(home / f"{name}.safetensors") for name in models},
    )


@pytest.fixture
def poolwise(capfd):
    """Call the command in this process: exit code, stdout and stderr."""

    def call(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def cifar(tmp_path, rng, monkeypatch):
    """The folder that POOLWISE_DATA names, with a CIFAR-10 of 40 + 8 images, declared to be all of it."""
    home = tmp_path / "data"
    write_batches(home / "cifar-10-batches-bin", rng, 8)
    monkeypatch.setattr("poolwise.datasets.cifar10.OFFICIAL", {"train": 40, "test": 8})
    monkeypatch.setenv("POOLWISE_DATA", str(home))
    return home
