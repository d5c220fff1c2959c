"""IMAGES by a data set's name."""

import json
import subprocess
import sys

import numpy as np
import pytest

from poolwise import load
from poolwise.cli.names import PARTS
from poolwise.datasets import fetch_cifar10, load_photos
from poolwise.datasets.catalogue import CATALOGUE
from poolwise.modelfile import describe

from small import QUICK

COMMANDS = {
    "fit": lambda model, images: ["fit", images, "-o", "out.safetensors", *QUICK[:-1]],
    "transform": lambda model, images: ["transform", model, images, "-o", "out.npy"],
    "predict": lambda model, images: ["predict", model, images, "-o", "out.csv"],
    "evaluate": lambda model, images: ["evaluate", model, images],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def model(poolwise, cifar, here):
    """A model of the small CIFAR-10."""
    assert poolwise("fit", "cifar10", "-o", "m.safetensors", *QUICK).code == 0
    return str(here / "m.safetensors")


def test_parts_come_from_the_catalogue():
    assert {name: tuple(entry.official) for name, entry in CATALOGUE.items()} == PARTS
    assert {
        "cifar10": ("train", "test"),
        "stl10": ("train", "test", "unlabeled"),
        "cub200": ("train", "test"),
        "eurosat": ("train", "test"),
        "photos": ("train", "test"),
    } == PARTS


def test_knowing_names_and_parts_imports_no_reader_and_nothing_heavy():
    code = (
        "import sys; from poolwise.cli.names import PARTS; print(PARTS)\n"
        "heavy = ('numpy', 'sklearn', 'numba', 'scipy', 'PIL', 'skimage')\n"
        "readers = [f'poolwise.datasets.{name}' for name in (*PARTS, 'home', 'download', 'records')]\n"
        "print([name for name in (*heavy, *readers) if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{PARTS}\n[]\n"


def test_fit_takes_the_training_part_and_remembers_it(model):
    train = fetch_cifar10(subset="train")
    told = describe(model).provenance
    assert (told["source"], told["images"]) == ("cifar10:train", 40)
    assert load(model)[1].classes_.tolist() == sorted(set(train.target_names[train.target].tolist()))


def test_a_model_of_a_name_is_that_of_the_same_array(model, poolwise, here):
    train = fetch_cifar10(subset="train")
    np.savez(here / "x.npz", x=train.images, y=train.target_names[train.target])
    assert poolwise("fit", "x.npz", "-o", "array.safetensors", *QUICK).code == 0
    by_name, by_array = load(model), load(here / "array.safetensors")
    np.testing.assert_array_equal(by_name[0].codes_, by_array[0].codes_)
    np.testing.assert_array_equal(by_name[1].coef_, by_array[1].coef_)


@pytest.mark.parametrize(("images", "count"), [("cifar10", 8), ("cifar10:test", 8), ("cifar10:train", 40)])
def test_the_others_take_the_test_part_unless_another_is_named(model, poolwise, here, images, count):
    done = poolwise("transform", model, images, "-o", "f.npy", "--json")
    assert json.loads(done.out)["images"] == count
    part = fetch_cifar10(subset=images.partition(":")[2] or "test").images
    np.testing.assert_array_equal(np.load(here / "f.npy"), load(model)[0].transform(part))
    assert poolwise("predict", model, images, "--quiet").out.count("\n") == count + 1


def test_evaluate_compares_with_the_names_of_classes(model, poolwise):
    result = json.loads(poolwise("evaluate", model, "cifar10:train", "--json", "--quiet").out)
    train = fetch_cifar10(subset="train")
    assert result["images"] == 40
    assert {name: told["images"] for name, told in result["per_class"].items()} == {
        name: int((train.target_names[train.target] == name).sum()) for name in result["classes"]
    }
    assert result["accuracy"] == load(model).score(train.images, train.target_names[train.target])


@pytest.mark.parametrize(("name", "part"), [("fit", "train"), ("transform", "test"), ("predict", "test"), ("evaluate", "test")])
def test_the_part_that_was_chosen_is_named_on_stderr(made, poolwise, here, name, part):
    arguments = COMMANDS[name](made.model, "photos")
    line = (
        f"poolwise: photos is read as photos:{part}; write photos:{'test' if part == 'train' else 'train'} for another part\n"
    )
    assert line in poolwise(*arguments).err
    assert "photos is read as" not in poolwise(*COMMANDS[name](made.model, f"photos:{part}")).err
    assert "photos is read as" not in poolwise(*arguments, "--quiet").err


def test_photos_are_there_without_any_folder_of_data(made, poolwise, here, monkeypatch):
    monkeypatch.setenv("POOLWISE_DATA", str(here / "nothing"))
    assert poolwise("transform", made.model, "photos:test", "-o", "f.npy", "--quiet").code == 0
    np.testing.assert_array_equal(np.load("f.npy"), load(made.model)[0].transform(load_photos(subset="test").images))


@pytest.mark.parametrize("name", ["cifar10", "cifar10:test", "cifar10:nonsense"])
def test_a_folder_of_that_name_wins(made, poolwise, cifar, here, name):
    (here / name).symlink_to(made.test)
    done = poolwise("evaluate", made.model, name, "--json", "--quiet")
    assert json.loads(done.out)["images"] == 30


@pytest.mark.parametrize("name", COMMANDS)
class TestRefusals:
    @pytest.fixture
    def refused(self, poolwise, made, here, name):
        """Call the command where it must refuse, and leave nothing: its text on stderr."""

        def call(images, *more, code):
            done = poolwise(*COMMANDS[name](made.model, images), *more, "--quiet")
            assert (done.code, done.out) == (code, "")
            assert list(here.iterdir()) == []
            return done.err

        return call

    @pytest.mark.parametrize(
        ("option", "text"),
        [
            (["--member", "test"], "--member test chooses an array of a .npz file; cifar10:"),
            (["--columns", "a,b"], "--columns are those of a .csv file; cifar10:"),
            (["--resize", "8x8"], "--resize, --crop, --grey, --channels, --page and --stack are for image files; cifar10:"),
            (["--crop"], "which is read as it is"),
            (["--grey"], "which is read as it is"),
        ],
    )
    def test_options_of_files_and_arrays(self, refused, cifar, option, text):
        assert text in refused("cifar10", *option, code=2)

    @pytest.mark.parametrize("part", ["validation", "unlabeled", ""])
    def test_an_unknown_part(self, refused, cifar, part):
        assert f"cifar10 has the parts train, test; got {part!r}" in refused(f"cifar10:{part}", code=2)

    @pytest.mark.parametrize("images", ["cifar10:test", "stl10:unlabeled", "stl10:train", "cub200:test"])
    def test_data_that_is_not_there(self, refused, monkeypatch, tmp_path, images):
        monkeypatch.setenv("POOLWISE_DATA", str(tmp_path / "nothing"))
        err = refused(images, code=3)
        assert err.startswith(f"poolwise: {images}: it was searched for in {tmp_path / 'nothing'}, which holds no ")
        assert f"`poolwise datasets fetch {images.partition(':')[0]}` fetches it" in err
        assert err.count("\n") == 1
        assert not (tmp_path / "nothing").exists()

    def test_a_part_that_is_not_whole(self, refused, cifar):
        for path in cifar.rglob("*_batch*"):
            path.unlink()
        err = refused("cifar10:test", code=3)
        assert "test_batch.bin is missing, though" in err
        assert "another folder with POOLWISE_DATA" in err
        assert "data_home" not in err  # of the library
        assert "--data" not in err  # of `poolwise datasets`

    @pytest.mark.parametrize("images", ["cifar11", "CIFAR10", "cifar-10:train", "photos/test"])
    def test_a_name_that_is_not_one(self, refused, images):
        err = refused(images, code=3)
        assert f"poolwise: {images}: there is no such file or folder; expected" in err
        assert err.endswith("or the name of a data set: cifar10, stl10, cub200, eurosat, photos\n")


def test_images_of_another_size_than_the_models(made, poolwise):
    done = poolwise("predict", made.resized, "photos:test", "--quiet")
    assert done.code == 3
    assert "photos:test: its images have 32×32 pixels with 3 channels, but the model was fitted on images of" in done.err
    assert "24×20 pixels with 1 channel;" in done.err
    assert "a data set is read as it is" in done.err


@pytest.fixture
def unlabelled(tmp_path, rng, monkeypatch):
    """An STL-10 of nothing but 30 images without labels."""
    (tmp_path / "stl10_binary").mkdir()
    rng.integers(0, 256, (30, 3 * 96 * 96), dtype=np.uint8).tofile(tmp_path / "stl10_binary" / "unlabeled_X.bin")
    monkeypatch.setenv("POOLWISE_DATA", str(tmp_path))


def test_images_without_labels_give_features_alone(poolwise, unlabelled, here):
    done = poolwise("fit", "stl10:unlabeled", "-o", "m.safetensors", *QUICK, "--json")
    result = json.loads(done.out)
    assert (result["images"], result["image_shape"], result["classes"]) == (30, [32, 32, 3], None)
    assert "holds 30 unlabeled STL-10 images, the official data set 100,000" in done.err


def test_images_without_labels_cannot_be_evaluated(made, poolwise, unlabelled):
    done = poolwise("evaluate", made.model, "stl10:unlabeled", "--quiet")
    assert done.code == 3
    assert "stl10:unlabeled: it has no labels to compare with" in done.err
