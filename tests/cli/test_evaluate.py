"""`poolwise evaluate`: accuracy in numbers and in words."""

import json

import numpy as np
import pytest

from poolwise import load
from poolwise.cli.commands.evaluate import _show
from poolwise.images import open_images

from small import QUICK


def test_json(made, poolwise):
    done = poolwise("evaluate", made.model, made.test, "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    images = open_images(made.test)
    predicted = load(made.model).predict(images)
    assert told["accuracy"] == np.mean(predicted == images.labels)
    assert told["images_per_second"] > 0
    assert (told["images"], told["skipped"], told["classes"]) == (30, 0, ["cat", "grass", "page"])
    expected = [[int(np.sum((images.labels == i) & (predicted == j))) for j in told["classes"]] for i in told["classes"]]
    assert told["confusion"] == expected
    assert told["per_class"]["grass"] == {"accuracy": expected[1][1] / 10, "images": 10}


def test_text(made, poolwise):
    done = poolwise("evaluate", made.model, made.test)
    assert done.out.startswith("accuracy ")
    for words in ("images/s", "grass", "confusion: a row per true class"):
        assert words in done.out


def test_of_many_classes_only_the_largest_confusions_are_shown(capsys):
    n = 200
    confusion = np.eye(n, dtype=int) * 5
    confusion[3, 7] = 4
    per_class = {f"bird{i}": {"accuracy": 1.0, "images": 5} for i in range(n)}
    _show(
        {"accuracy": 0.9, "images": 1004, "skipped": 0, "images_per_second": 1.0, "classes": list(per_class)}
        | {"per_class": per_class, "confusion": confusion.tolist()}
    )
    out = capsys.readouterr().out
    assert "4  bird3 taken for bird7, 44 % of its images" in out
    assert max(map(len, out.splitlines())) < 100


def test_some_classes_may_be_missing(made, poolwise, tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "cat").symlink_to(f"{made.test}/cat")
    told = json.loads(poolwise("evaluate", made.model, tmp_path / "some", "--json").out)
    assert told["images"] == 10
    assert told["per_class"]["page"] == {"accuracy": None, "images": 0}


@pytest.mark.parametrize("kind", [np.int64, np.float64, str])
def test_a_number_is_the_same_label_however_it_is_written(poolwise, tmp_path, three_classes, kind):
    images, labels = three_classes["train"]
    numbers = (labels == "cat").astype(int)
    np.savez(tmp_path / "a.npz", x=images, y=numbers)
    np.savez(tmp_path / "b.npz", x=images, y=numbers.astype(kind))
    assert poolwise("fit", tmp_path / "a.npz", "-o", tmp_path / "m.safetensors", *QUICK).code == 0
    done = poolwise("evaluate", tmp_path / "m.safetensors", tmp_path / "b.npz", "--json")
    assert json.loads(done.out)["accuracy"] > 0.8


def test_unknown_labels_are_named(made, poolwise, tmp_path):
    for name, of in (("cat", "cat"), ("dog", "page")):
        (tmp_path / "d" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "d" / name).symlink_to(f"{made.test}/{of}")
    done = poolwise("evaluate", made.model, tmp_path / "d")
    assert (done.code, done.out) == (3, "")
    assert "does not know the label 'dog'; it was fitted on 'cat', 'grass', 'page'" in done.err


def test_images_without_labels(made, poolwise):
    done = poolwise("evaluate", made.model, f"{made.test}/cat")
    assert done.code == 3
    assert "it has no labels to compare with" in done.err
