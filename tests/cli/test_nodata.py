"""Tiles at the edge of a scene, from the command line: GeoTIFF with NaN and with 0, fit to report."""

import json

import numpy as np
import pytest
import tifffile

from poolwise import load, open_images

from small import QUICK

GEO = [(33550, "d", 3, (10.0, 10.0, 0.0), True), (33922, "d", 6, (0.0, 0.0, 0.0, 5e5, 5e6, 0.0), True)]  # scale and tie point


@pytest.fixture(scope="module")
def tiles():
    """24 tiles of four bands in two classes; every third lies at the edge, one outside of the scene."""
    rng = np.random.default_rng(0)
    base = rng.integers(500, 4000, size=(24, 6, 6, 4)).repeat(4, axis=1).repeat(4, axis=2)
    pixels = base + rng.integers(-300, 300, size=base.shape) * (1 + np.arange(24) % 2)[:, None, None, None]
    missing = np.zeros(pixels.shape[:3], np.bool_)
    missing[::3, :, 16:] = missing[3, :4] = missing[5] = True
    return pixels.clip(1, 10_000), missing


def write(folder, pixels, missing, dtype, number):
    """folder/a/0.tif, folder/b/1.tif, ..., with the nodata tag that GDAL writes."""
    for number_of, (image, gone) in enumerate(zip(pixels.astype(dtype), missing, strict=True)):
        image[gone] = number
        path = folder / "ab"[number_of % 2] / f"{number_of:02}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        tag = (42113, "s", 0, str(number), True)
        tifffile.imwrite(path, image, photometric="minisblack", planarconfig="contig", extratags=[*GEO, tag])
    return folder


@pytest.mark.parametrize(("dtype", "number"), [(np.float32, "nan"), (np.uint16, "0"), (np.int16, "-9999")])
def test_fit_predict_evaluate_transform_and_report(poolwise, tmp_path, tiles, dtype, number):
    folder = write(tmp_path / "tiles", *tiles, dtype, float(number) if number == "nan" else int(number))
    model, features = tmp_path / "m.safetensors", tmp_path / "f.npy"
    quick = (*QUICK, "--classifier", "svm")
    if number == "nan":
        refused = poolwise("fit", folder, "-o", model, *quick)
        assert refused.code == 3
        assert "NaN or infinite; leave them out with --nodata nan" in refused.err
    fitted = poolwise("fit", folder, "-o", model, *quick, "--nodata", number)
    assert fitted.code == 0
    assert fitted.err.count("1 of 24 images have no patch") == 1
    assert poolwise("transform", model, folder, "-o", features, "--quiet").code == 0
    X = np.load(features)
    assert np.isfinite(X).all()
    assert np.flatnonzero(~X.any(axis=1)).tolist() == [14]  # 12 of class a, then 01, 03 and 05
    value = number if number == "nan" else float(number)
    with pytest.warns(UserWarning, match="1 of 24 images have no patch"):
        expected = load(model).steps[0][1].transform(open_images(folder, nodata=value))
    np.testing.assert_array_equal(X, expected)
    found = json.loads(poolwise("evaluate", model, folder, "--json", "--quiet").out)
    assert found["images"] == 24
    assert found["accuracy"] > 0.8
    assert len(poolwise("predict", model, folder, "--quiet").out.splitlines()) == 25
    assert poolwise("report", model, folder, "-o", tmp_path / "r.html", "--quiet").code == 0
    assert b"NaN" not in (tmp_path / "r.html").read_bytes()


def test_garbage_in_missing_pixels_gives_the_same_features(poolwise, tmp_path, tiles):
    pixels, missing = tiles
    found = []
    for name, garbage in (("one", 77), ("other", 60_000)):
        changed = pixels.copy()
        changed[missing] = garbage
        changed[missing, 0] = 0  # one band is enough
        folder, model = write(tmp_path / name, changed, np.zeros_like(missing), np.uint16, 0), tmp_path / f"{name}.safetensors"
        assert poolwise("fit", folder, "-o", model, *QUICK, "--classifier", "none", "--nodata", "0").code == 0
        assert poolwise("transform", model, folder, "-o", tmp_path / f"{name}.npy", "--quiet").code == 0
        found.append(np.load(tmp_path / f"{name}.npy"))
    np.testing.assert_array_equal(*found)


def test_words_that_are_no_number_and_stacks_are_refused(poolwise, tmp_path, tiles):
    folder = write(tmp_path / "tiles", *tiles, np.uint16, 0)
    for words in (("--nodata", "black"), ("--nodata", "inf")):
        assert poolwise("fit", folder, "-o", tmp_path / "m.safetensors", *QUICK, *words).code == 2
    stacked = poolwise("fit", folder, "-o", tmp_path / "m.safetensors", *QUICK, "--nodata", "0", "--layers", "2")
    assert stacked.code != 0
    assert "use one layer for --nodata 0" in stacked.err
