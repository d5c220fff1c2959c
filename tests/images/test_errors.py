"""One error for a file that cannot be used: its name, what is wrong, and parameters that a command can spell."""

import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed
from PIL import Image

from poolwise import open_images
from poolwise.images import ImageError
from poolwise.support.parameters import NAME, Example, ParameterError


@pytest.fixture
def error():
    values = {"member": NAME, "labels": None, "resize": Example("(height, width)", "HxW")}
    return ImageError("a/x.npz", "choose with {member}, use {labels} or give {resize}", **values)


def test_in_python_it_names_parameters(error):
    assert error.reason == "choose with member, use labels=None or give resize=(height, width)"
    assert str(error) == f"a/x.npz: {error.reason}"
    assert error.path == "a/x.npz"
    assert isinstance(error, ParameterError)
    assert isinstance(error, ValueError)


def test_a_command_spells_them_and_keeps_the_path(error):
    assert error.spelled(lambda name, value: f"--{name}") == "a/x.npz: choose with --member, use --labels or give --resize"


def test_braces_that_are_not_parameters_stay():
    assert str(ImageError("{member}.npz", "there is {nothing} in it", member=NAME)) == "{member}.npz: there is {nothing} in it"


def test_a_name_that_would_break_the_line_is_quoted():
    assert str(ImageError("a\nb.png", "it is empty")) == r"'a\nb.png': it is empty"


def test_it_survives_the_way_between_processes(error):
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error)
    assert (again.path, again.reason) == (error.path, error.reason)
    spell = lambda name, value: f"--{name} {'' if value is NAME else value}"  # noqa: E731
    assert again.spelled(spell) == error.spelled(spell)


def test_an_error_of_a_worker_process_says_the_same(tmp_path):
    np.savez(tmp_path / "x.npz", x_train=np.zeros((2, 4, 4)), x_test=np.zeros((2, 4, 4)))
    with pytest.raises(ImageError, match=r"but 'x_train', 'x_test'; choose with member$"):
        Parallel(2, "loky")(delayed(open_images)(tmp_path / "x.npz") for _ in range(2))


def test_an_error_with_values_says_the_same_in_a_worker_process(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    Image.new("RGB", (5, 4)).save(tmp_path / "b.png")
    with pytest.raises(ImageError, match=r"give resize=\(height, width\), and crop=True to keep proportions$"):
        Parallel(2, "loky")(delayed(np.asarray)(open_images(tmp_path)) for _ in range(2))
