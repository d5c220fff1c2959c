"""`poolwise inspect`: what a file holds, read from its header alone."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from poolwise import ZCA, KMeans, Pool, PooledFeatures, load, save
from poolwise.images import open_images
from poolwise.method.descriptors.patches import draw_tiles
from poolwise.report import draw_clusters, draw_codes
from poolwise.report.draw.pictures import whitened_pictures

from make import images
from settings import paper_features
from small import PAST_THE_PAPER, QUICK, QUICK_GRID

GOLDEN = Path(__file__).parents[1] / "golden"


def test_in_words(made, poolwise):
    done = poolwise("inspect", made.chosen)
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0]
    assert first == (
        "32 features of 32×32 colour images: 8 codes of 6×6 pixels selected from 24 by affinity propagation, average pooling "
        "over 2×2 cells, Nyström projection, and a linear SVM for 3 classes"
    )
    for words in ("LinearSVMCV, gamma ", ", converged in", "poolwise fit", "multiply-adds per image", "scikit-learn"):
        assert words in done.out


def test_each_part_has_a_line_with_its_parameters(made, poolwise):
    lines = {line.split()[0]: line[12:] for line in poolwise("inspect", made.chosen).out.splitlines()[2:]}
    assert lines["descriptor"] == "patches, size 6x6, stride 1, contrast std, offset 10"
    assert lines["whitening"] == "std, offset 0.1, rank none"
    assert lines["dictionary"].startswith("kmeans, init patches, max iter 5, tol 0.0001")
    assert "3,000 patches" in lines["dictionary"]
    assert lines["encoder"] == "threshold, alpha 0.25, two sided no"
    assert lines["pooling"] == "average, grid 2x2, root no"
    assert lines["scale"] == "shared, offset 0.01"
    assert (lines["bands"], lines["statistics"], lines["nodata"]) == ("as they are", "none", "none")


@pytest.mark.parametrize(("nodata", "shown"), [(float("nan"), "nan"), (-3.4028234663852886e38, "-3.4028234663852886e+38")])
def test_bands_statistics_and_nodata(poolwise, rng, tmp_path, nodata, shown):
    """Gains and shifts are those of the model; a number has all its digits."""
    path = tmp_path / "m.safetensors"
    pixels = rng.integers(0, 4000, (20, 12, 12, 8)).astype(np.float32)
    ranges = [(0, 255), (0, 510), (100, 151), *[(-4000, 6000)] * 5]
    settings = {"pooling": Pool("max", 2), "nodata": nodata, "bands": ranges, "statistics": True}
    save(PooledFeatures(4, None, n_patches=500, random_state=0, **settings).fit(pixels), path)
    done = poolwise("inspect", path)
    lines = {line.split()[0]: line[12:] for line in done.out.splitlines()[2:]}
    scaled = "scaled, 1 x + 0, 0.5 x + 0, 5 x - 500, 0.0255 x + 102, 0.0255 x + 102, 0.0255 x + 102 and 2 more"
    assert lines["bands"] == scaled
    assert lines["statistics"] == "32 of bands in each cell"
    assert lines["nodata"] == shown
    told = json.loads(poolwise("inspect", path, "--json").out)
    assert (told["statistics"], told["nodata"]) == (4 * 32, "nan" if shown == "nan" else nodata)
    gain, shift = np.array(told["bands"], np.float32).T
    np.testing.assert_array_equal([gain, shift], [load(path).bands_.gain, load(path).bands_.shift])


def test_json(made, poolwise):
    told = json.loads(poolwise("inspect", made.chosen, "--json").out)
    sizes = {"codes": 8, "candidates": 24, "features": 32, "classes": 3, "image_shape": [32, 32, 3]}
    assert sizes.items() <= told.items()
    assert told["bytes"] == os.path.getsize(made.chosen)
    assert told["multiply_adds"] == {
        "encoding": 27 * 27 * 108 * 8,
        "pooling": 0,
        "projection": 4 * 8 * 8,
        "classifier": 3 * 32,
    }
    assert told["provenance"]["images"] == 60
    assert told["classifier"]["converged"]


def test_json_has_the_layer_and_its_parts(made, poolwise):
    shown = json.loads(poolwise("inspect", made.chosen, "--json").out)
    (layer,) = shown["layers"]
    assert layer["encoder"] == {"part": "Threshold", "alpha": 0.25, "two_sided": False}
    assert (layer["descriptor"]["part"], layer["descriptor"]["stride"], layer["pooling"]["how"]) == ("Patches", 1, "average")
    assert shown["parameters"]["dictionary"] == {
        "part": "KMeans",
        "method": "kmeans",
        "init": "patches",
        "max_iter": 5,
        "tol": 0.0001,
    }
    assert shown["parameters"]["projection"] == "nystrom"
    assert not any(name in shown["parameters"] for name in ("alpha", "patch_size", "transform"))


def test_no_array_is_read_without_a_picture(made, poolwise, monkeypatch):
    monkeypatch.setattr("poolwise.modelfile.read_arrays", None)
    assert poolwise("inspect", made.chosen).code == 0


def test_pictures(made, poolwise, tmp_path):
    done = poolwise("inspect", made.chosen, "--codes", tmp_path / "a.png", "--clusters", tmp_path / "b.png")
    assert done.code == 0
    assert [Image.open(tmp_path / name).format for name in ("a.png", "b.png")] == ["PNG", "PNG"]


@pytest.mark.parametrize("name", ["chosen", "model", "resized"])
def test_pictures_are_those_of_the_library_pixel_by_pixel(made, poolwise, tmp_path, name):
    assert poolwise("inspect", getattr(made, name), "--codes", tmp_path / "codes.png").code == 0
    model = load(getattr(made, name))[0]
    drawn = np.asarray(Image.open(tmp_path / "codes.png"))
    np.testing.assert_array_equal(drawn, np.asarray(draw_codes(model)))
    assert not np.array_equal(drawn, np.asarray(draw_codes(model, whitened=True)))  # as they would be in an image


def test_pictures_of_clusters_are_those_of_the_library_pixel_by_pixel(made, poolwise, tmp_path):
    assert poolwise("inspect", made.chosen, "--clusters", tmp_path / "clusters.png").code == 0
    model = load(made.chosen)[0]
    drawn = np.asarray(Image.open(tmp_path / "clusters.png"))
    np.testing.assert_array_equal(drawn, np.asarray(draw_clusters(model)))
    assert not np.array_equal(drawn, np.asarray(draw_clusters(model, whitened=True)))


def test_clusters_of_two_sided_codes(made, poolwise, tmp_path):
    fitted = poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, "--candidates", "16", "--two-sided")
    assert fitted.code == 0
    assert poolwise("inspect", tmp_path / "m.safetensors", "--clusters", tmp_path / "b.png").code == 0


@pytest.mark.parametrize("more", PAST_THE_PAPER.values(), ids=PAST_THE_PAPER)
def test_pictures_of_parts_past_the_paper(made, poolwise, tmp_path, more):
    path, codes, clusters = (tmp_path / name for name in ("m.safetensors", "a.png", "b.png"))
    assert poolwise("fit", made.train, "-o", path, *QUICK, "--candidates", "16", *more).code == 0
    shown = poolwise("inspect", path, "--codes", codes, "--clusters", clusters)
    assert (shown.code, shown.err) == (0, "")
    model = load(path)[0]
    pictures = model.layer_.whitening.undo(model.codes_)  # (8, 108), whatever the rank
    tiles = draw_tiles(pictures, (6, 6, 3))
    drawn = np.asarray(Image.open(codes))
    np.testing.assert_array_equal(drawn[3:51:8, 3:51:8], tiles[0])  # 8 pixels for one, behind a gap of 3
    assert min(Image.open(clusters).size) > 50


def test_whitened_codes_of_a_rank_are_those_of_full_whitening(made):
    """A code of r directions, turned back, is what full whitening makes of the picture, in these directions."""
    images = open_images(made.train)
    model = paper_features(8, whitening=ZCA(rank=30), n_patches=3000, dictionary=KMeans(max_iter=5), random_state=0).fit(images)
    layer = model.layer_
    whole = paper_features(8, n_patches=3000, dictionary=KMeans(max_iter=5), random_state=0).fit(images).layer_.whitening
    found = whitened_pictures(layer, layer.codes)
    np.testing.assert_allclose(found, layer.whitening.undo(layer.codes) @ whole.W, atol=1e-5)


def test_the_summary_names_symmetry_and_second_order(made, poolwise, tmp_path):
    path = tmp_path / "m.safetensors"
    more = ("--pool", "second_order", "--grid", "1", "--symmetry", "dihedral", "--classifier", "none", "--rank", "20")
    assert poolwise("fit", made.train, "-o", path, *QUICK_GRID, *more).code == 0
    text = poolwise("inspect", path).out
    assert text.splitlines()[0] == (
        "36 features of 32×32 colour images: 8 codes of 6×6 pixels, second-order pooling over 1×1 cells, averaged over the "
        "eight turns and mirrors of the image"
    )
    assert "8 codes in 20 of 108 directions, 36 features" in text
    encoding, pooling = 8 * 27 * 27 * (108 * 20 + 20 * 8), 8 * 27 * 27 * 8 * 8
    assert f"encoding {encoding:,} + pooling {pooling:,}, for 8 copies of it" in text


def test_the_summary_names_both_orders(made, poolwise, tmp_path):
    path = tmp_path / "m.safetensors"
    more = ("--pool", "both_orders", "--pairs", "3", "--first-order", "max", "--symmetry", "none", "--classifier", "none")
    assert poolwise("fit", made.train, "-o", path, *QUICK, *more).code == 0
    text = poolwise("inspect", path).out
    assert "8 codes of 6×6 pixels, first- and second-order pooling over 2×2 cells" in text.splitlines()[0]
    assert "both_orders, grid 2x2, pairs 3, first max, normalize root, offset 0.1" in text
    assert f"pooling {27 * 27 * 3 * 3:,}; matrix roots or logarithms are not counted" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "was fitted without --candidates"),
        (("--candidates", "16", "--slim"), "was saved with --slim"),
        (("--candidates", "16", "--projection", "pca"), "keeps all its candidates (--projection pca)"),
    ],
)
def test_models_without_clusters(made, poolwise, tmp_path, more, message):
    assert poolwise("fit", made.train, "-o", tmp_path / "m.safetensors", *QUICK, *more).code == 0
    done = poolwise("inspect", tmp_path / "m.safetensors", "--clusters", tmp_path / "b.png")
    assert (done.code, done.out) == (3, "")
    assert message in done.err
    assert os.listdir(tmp_path) == ["m.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--codes", "a.gif"], "does not end in .png"),
        (["--clusters", "no/a.png"], "No such file"),
        (["--codes", "a.png", "--clusters", "a.png"], "different names"),
    ],
)
def test_usage(made, poolwise, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = poolwise("inspect", made.chosen, *arguments)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("kind", ["features", "pipeline", "searched"])
def test_a_model_of_the_first_format(poolwise, tmp_path, kind):
    path = GOLDEN / f"1-{kind}.safetensors"
    shown = json.loads(poolwise("inspect", path, "--json").out)
    model = load(path)
    features = model if kind == "features" else model[0]
    assert (shown["format"], shown["codes"], shown["features"]) == (1, len(features.codes_), features.layer_.n_features)
    assert shown["layers"][0]["encoder"]["two_sided"] is (kind != "searched")
    assert shown["layers"][0]["pooling"]["part"] == "Pool"
    assert shown["parameters"]["descriptor"]["part"] == "Patches"
    assert "format 1" in poolwise("inspect", path, "--codes", tmp_path / "codes.png").out
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "codes.png")), np.asarray(draw_codes(features)))
    np.save(tmp_path / "x.npy", images())
    assert poolwise("transform", path, tmp_path / "x.npy", "-o", tmp_path / "f.npy", "--quiet").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), features.transform(images()))


def test_a_strangers_text_cannot_steer_the_terminal(made, poolwise, tmp_path):
    from poolwise import load, save

    save(load(made.features), tmp_path / "m.safetensors", provenance={"note": "\x1b[2Jgone"})
    assert "\x1b" not in poolwise("inspect", tmp_path / "m.safetensors").out
