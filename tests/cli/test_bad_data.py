"""Data and models that cannot be used: exit code 3, one line that says what to do, and nothing written."""

import csv
import os
import shutil

import numpy as np
import pytest
from PIL import Image

from poolwise.modelfile import describe

from small import QUICK, write_pngs


@pytest.fixture
def refused(poolwise, tmp_path, monkeypatch):
    """Call the command where it must refuse: its one line on stderr."""
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)

    def call(*arguments):
        done = poolwise(*arguments, "--quiet")
        assert (done.code, done.out) == (3, ""), done
        assert done.err.startswith("poolwise: ")
        assert done.err.count("\n") == 1
        assert os.listdir(out) == []
        return done.err

    return call


def spoil(path):
    """Half of an image."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture
def damaged(tmp_path, three_classes):
    """A folder of 120 images, the one in the middle broken."""
    images, labels = three_classes["train"]
    folder = write_pngs(tmp_path / "damaged", np.concatenate([images, images]), np.concatenate([labels, labels]))
    spoil(sorted(folder.rglob("*.png"))[60])
    return folder


COMMANDS = {
    "fit": lambda made, images: ["fit", images, "-o", "m.safetensors", *QUICK[:-1]],
    "transform": lambda made, images: ["transform", made.model, images, "-o", "f.npy"],
    "transform-csv": lambda made, images: ["transform", made.model, images, "-o", "f.csv"],
    "predict": lambda made, images: ["predict", made.model, images, "-o", "p.csv"],
    "evaluate": lambda made, images: ["evaluate", made.model, images],
}


@pytest.mark.parametrize("name", COMMANDS)
class TestImages:
    def test_missing(self, made, refused, name, tmp_path):
        assert "there is no such file or folder" in refused(*COMMANDS[name](made, tmp_path / "nowhere"))

    def test_folder_without_images(self, made, refused, name, tmp_path):
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "notes.doc").write_text("no image")
        assert "no image files in it; 1 other files" in refused(*COMMANDS[name](made, tmp_path / "empty"))

    def test_no_kind_of_source(self, made, refused, name, tmp_path):
        (tmp_path / "x.zip").write_bytes(b"PK")
        assert "images cannot be opened from it; expected an image file, a folder" in refused(
            *COMMANDS[name](made, tmp_path / "x.zip")
        )

    def test_empty_npz(self, made, refused, name, tmp_path):
        np.savez(tmp_path / "x.npz")
        assert "no arrays; choose with --member" in refused(*COMMANDS[name](made, tmp_path / "x.npz"))

    def test_npz_that_is_not_one(self, made, refused, name, tmp_path):
        (tmp_path / "x.npz").write_bytes(b"")
        assert "cannot be read as .npz" in refused(*COMMANDS[name](made, tmp_path / "x.npz"))

    def test_npy_of_two_axes(self, made, refused, name, tmp_path):
        np.save(tmp_path / "x.npy", np.zeros((5, 5)))
        assert "it has shape (5, 5)" in refused(*COMMANDS[name](made, tmp_path / "x.npy"))

    def test_no_images_in_an_array(self, made, refused, name, tmp_path):
        np.save(tmp_path / "x.npy", np.zeros((0, 32, 32, 3), np.uint8))
        assert "at least one pixel" in refused(*COMMANDS[name](made, tmp_path / "x.npy"))

    def test_broken_in_the_middle(self, made, refused, name, damaged):
        assert "it cannot be decoded" in refused(*COMMANDS[name](made, damaged))

    def test_mixed_sizes(self, made, refused, name, tmp_path):
        folder = tmp_path / "mixed"
        shutil.copytree(made.test, folder)
        Image.new("RGB", (40, 30)).save(folder / "cat" / "zz.png")
        err = refused(*COMMANDS[name](made, folder))
        assert "30×40 pixels, but the first image" in err
        assert "give --resize HEIGHTxWIDTH, and --crop to keep" in err

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_unreadable(self, made, refused, name, tmp_path):
        (tmp_path / "secret").mkdir(mode=0)
        assert "cannot be read" in refused(*COMMANDS[name](made, tmp_path / "secret"))


@pytest.mark.parametrize("name", ["fit", "transform", "predict", "evaluate"])
def test_broken_files_are_left_out_if_that_is_asked_for(made, poolwise, damaged, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = poolwise(*COMMANDS[name](made, damaged), "--on-error", "skip", "--skipped", "left.csv", "--quiet")
    assert done.code == 0
    assert done.err == "poolwise: warning: 1 of the files cannot be used and were left out; they are in left.csv\n"
    with (tmp_path / "left.csv").open(newline="") as file:
        assert [row["path"] for row in csv.DictReader(file)] == [str(sorted(damaged.rglob("*.png"))[60].relative_to(damaged))]


def test_what_was_left_out_is_listed_next_to_the_output(made, poolwise, damaged, tmp_path):
    done = poolwise(*("fit", damaged, "-o", tmp_path / "m.safetensors", "--on-error", "skip"), *QUICK)
    assert str(tmp_path / "m.skipped.csv") in done.err
    assert (tmp_path / "m.skipped.csv").exists()
    assert describe(tmp_path / "m.safetensors").provenance["skipped"] == 1


def test_without_an_output_it_is_listed_on_stderr(made, poolwise, damaged):
    done = poolwise("evaluate", made.model, damaged, "--on-error", "skip", "--quiet")
    assert done.code == 0
    assert "left out: grass/" in done.err


def test_too_many_broken_files_are_an_error(made, refused, damaged):
    for path in sorted(damaged.rglob("*.png"))[:5]:
        spoil(path)
    assert "too many of its 120 files" in refused("evaluate", made.model, damaged, "--on-error", "skip")


class TestModels:
    @pytest.fixture(params=["transform", "predict", "evaluate", "inspect"])
    def with_model(self, request, made):
        rest = {"transform": [made.test, "-o", "f.npy"], "inspect": []}.get(request.param, [made.test])
        return lambda model: [request.param, model, *rest]

    @pytest.fixture
    def told(self, poolwise):
        def call(arguments):
            done = poolwise(*arguments)
            assert (done.code, done.out) == (3, "")
            return done.err

        return call

    def test_missing(self, told, with_model):
        assert "nowhere cannot be read: No such file or directory; expected a model" in told(with_model("nowhere"))

    def test_folder(self, told, with_model, tmp_path):
        assert "poolwise: " in told(with_model(tmp_path))

    def test_png(self, told, with_model, made):
        assert "cannot be loaded" in told(with_model(next(iter(sorted((made.home / "test" / "cat").iterdir())))))

    def test_empty(self, told, with_model, tmp_path):
        (tmp_path / "m.safetensors").write_bytes(b"")
        assert "cannot be loaded" in told(with_model(tmp_path / "m.safetensors"))

    def test_damaged(self, told, made, tmp_path):
        raw = bytearray((made.home / "model.safetensors").read_bytes())
        raw[-5] ^= 1
        (tmp_path / "m.safetensors").write_bytes(raw)
        assert "checksum" in told(["evaluate", tmp_path / "m.safetensors", made.test, "--quiet"])


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_features_alone_predict_no_labels(made, refused, name):
    assert "holds features without a classifier" in refused(name, made.features, made.test)


class TestLabels:
    def test_none_where_a_classifier_is_asked_for(self, made, refused):
        err = refused("fit", f"{made.train}/cat", "-o", "m.safetensors", "--classifier", "svm")
        assert "it has no labels, which a classifier needs" in err

    def test_one_class(self, made, refused, tmp_path):
        shutil.copytree(f"{made.train}/cat", tmp_path / "one" / "cat")
        err = refused("fit", tmp_path / "one", "-o", "m.safetensors")
        assert "all its images have one label, 'cat'" in err
        assert "--classifier none" in err

    def test_images_beside_folders(self, made, refused, tmp_path):
        shutil.copytree(made.train, tmp_path / "mixed")
        shutil.copy(next((tmp_path / "mixed" / "cat").iterdir()), tmp_path / "mixed" / "a.png")
        assert "or use --classifier none to take all without labels" in refused(
            "fit", tmp_path / "mixed", "-o", "m.safetensors"
        )

    def test_images_beside_folders_cannot_be_evaluated(self, made, refused, tmp_path):
        shutil.copytree(made.test, tmp_path / "mixed")
        shutil.copy(next((tmp_path / "mixed" / "cat").iterdir()), tmp_path / "mixed" / "a.png")
        assert "or use `poolwise predict` to take all without labels" in refused("evaluate", made.model, tmp_path / "mixed")

    def test_too_few_for_folds(self, refused, tmp_path, three_classes):
        images, labels = three_classes["train"]
        write_pngs(tmp_path / "few", images[::6], labels[::6])
        assert "--classifier svm" in refused("fit", tmp_path / "few", "-o", "m.safetensors", "--classifier", "cv")

    def test_numbers_that_are_no_classes(self, refused, tmp_path, three_classes):
        np.savez(tmp_path / "x.npz", x=three_classes["train"][0], y=np.linspace(0, 1, 60))
        assert "continuous" in refused("fit", tmp_path / "x.npz", "-o", "m.safetensors")

    def test_as_many_as_images(self, refused, tmp_path, three_classes):
        np.savez(tmp_path / "x.npz", x=three_classes["train"][0], y=np.zeros(3))
        assert "labels of shape (3,) for 60 images" in refused("fit", tmp_path / "x.npz", "-o", "m.safetensors")


class TestOtherSizes:
    @pytest.fixture
    def larger(self, tmp_path):
        Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
        return tmp_path

    def test_the_remedy_is_named(self, made, refused, larger):
        err = refused("predict", made.model, larger)
        assert (
            "its images have 30×40 pixels with 3 channels, but the model was fitted on images of 32×32 pixels with 3 channels"
            in err
        )
        assert "give --resize 32x32" in err

    def test_the_remedy_works(self, made, poolwise, larger):
        assert poolwise("predict", made.model, larger, "--resize", "32x32").code == 0

    def test_a_model_of_resized_images_resizes(self, made, poolwise, larger):
        assert poolwise("predict", made.resized, larger).code == 0

    @pytest.mark.parametrize(
        ("model", "how", "remedy"), [("model", "--grey", "give --colour"), ("resized", "--colour", "give --grey")]
    )
    def test_other_channels(self, made, refused, model, how, remedy):
        assert remedy in refused("predict", getattr(made, model), made.test, how)

    def test_arrays_are_not_resized(self, made, poolwise, refused, tmp_path):
        np.save(tmp_path / "x.npy", np.zeros((2, 30, 40, 3), np.uint8))
        assert "change the array itself" in refused("predict", made.resized, tmp_path / "x.npy")
        done = poolwise("predict", made.model, tmp_path / "x.npy", "--resize", "32x32")
        assert done.code == 2
        assert "are for image files" in done.err

    def test_patches_larger_than_images(self, made, refused):
        err = refused("fit", made.train, "-o", "m.safetensors", "--patch-size", "40")
        assert "smaller --patch-size" in err


def test_too_little_memory_says_what_to_do(made, refused, monkeypatch):
    def no_memory(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("poolwise.estimators.PooledFeatures.fit_transform", no_memory)
    assert "not enough memory; give fewer --patches" in refused("fit", made.train, "-o", "m.safetensors")


def test_an_error_of_ours_is_not_hidden(made, monkeypatch, tmp_path):
    from poolwise.cli import main

    def bug(*arguments, **options):
        raise RuntimeError("ours")

    monkeypatch.setattr("poolwise.estimators.PooledFeatures.fit_transform", bug)
    with pytest.raises(RuntimeError, match="ours"):  # Python ends with 1 and a traceback
        main(["fit", made.train, "-o", str(tmp_path / "m.safetensors"), "--quiet"])
