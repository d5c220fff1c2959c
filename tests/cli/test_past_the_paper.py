"""Options of the parts that the paper does not have give the models that Python gives, all the way to features and labels."""

import csv

import numpy as np
import pytest

from poolwise import ZCA, KMeans, SecondOrder, Threshold, load
from poolwise.images import open_images

from settings import paper_features
from small import QUICK, QUICK_GRID

PARTS = {
    "thresholds": (["--alpha", "0.25,1", "--two-sided"], {"encoder": Threshold((0.25, 1.0), two_sided=True)}),
    "second order": (
        ["--pool", "second_order", "--normalize", "power", "--grid", "1"],
        {"pooling": SecondOrder(1, normalize="power")},
    ),
    "offset": (["--pool", "second_order", "--moment-offset", "0.5"], {"pooling": SecondOrder(2, offset=0.5)}),
    "mirror": (["--symmetry", "mirror"], {"symmetry": "mirror"}),
    "dihedral": (["--symmetry", "dihedral", "--candidates", "12"], {"symmetry": "dihedral", "n_candidates": 12}),
    "rank": (["--rank", "20"], {"whitening": ZCA(rank=20)}),
    "auto": (["--rank", "auto", "--whitening", "variance"], {"whitening": ZCA("variance", rank="auto")}),
}


@pytest.mark.parametrize(("options", "settings"), PARTS.values(), ids=PARTS)
def test_options_are_the_parameters_of_the_library(made, poolwise, tmp_path, options, settings):
    path = tmp_path / "m.safetensors"
    quick = QUICK_GRID if "--grid" in options else QUICK
    assert poolwise("fit", made.train, "-o", path, *quick, "--seed", "3", *options).code == 0
    images = open_images(made.test)
    common = {"n_codes": 8, "n_patches": 3000, "dictionary": KMeans(max_iter=5), "random_state": 3}
    expected = paper_features(**{**common, **settings}).fit(open_images(made.train))
    model = load(path)
    assert model[0].recipe == expected.recipe
    assert model[0].transform(images).tobytes() == expected.transform(images).tobytes()
    assert poolwise("transform", path, made.test, "-o", tmp_path / "f.csv", "--quiet").code == 0
    with (tmp_path / "f.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["path", *expected.get_feature_names_out()]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], np.float32), expected.transform(images))


def test_images_that_are_not_square_cannot_be_turned(made, poolwise, tmp_path):
    more = ["--symmetry", "dihedral", "--resize", "24x20"]
    done = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *more)
    assert done.code == 3
    assert "--symmetry dihedral turns images by 90°, which needs square ones; these are 24×20" in done.err
