"""The snippets of docs/files.md run as they stand, on files as they name them."""

import re
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
import tifffile
import zarr
from PIL import Image

import poolwise

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}
SNIPPETS = {
    name: found for name, part in SECTIONS.items() if (found := "\n".join(re.findall(r"```python\n(.*?)```", part, re.S)))
}


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """The files that the page names, in the current folder."""
    monkeypatch.chdir(tmp_path)
    images = rng.integers(0, 256, size=(6, 32, 32, 3), dtype=np.uint8)
    lines = ["dna,er,rna,compound"]
    for row, image in enumerate(images):
        names = [f"{channel}/{row}.tif" for channel in ("dna", "er", "rna")]
        for name, plane in zip(names, image.transpose(2, 0, 1), strict=True):
            Path(name).parent.mkdir(exist_ok=True)
            tifffile.imwrite(name, plane)
        lines.append(",".join([*names, "ab"[row % 2]]))
    Path("plate.csv").write_text("\n".join(lines))
    tiles = np.maximum(images.astype(np.uint16), 1)
    tiles[:, :8] = 0
    for row, tile in enumerate(tiles):
        name = Path(f"tiles/{'ab'[row % 2]}/{row}.tif")
        name.parent.mkdir(parents=True, exist_ok=True)
        tifffile.imwrite(name, tile, photometric="rgb")
    for name in "ab":
        Image.fromarray(images[0]).save(f"{name}.png")
    with h5py.File("cells.h5", "w") as file:
        file["images"], file["labels"] = images, np.arange(6) % 2
    zarr.create_array("cells.zarr", data=images, chunks=(2, 32, 32, 3))
    parts = {f"{part}_images": images for part in ("train", "test")}
    np.savez("pathmnist.npz", **parts, **{f"{part}_labels": np.arange(6)[:, None] % 2 for part in ("train", "test")})
    return images


@pytest.mark.parametrize("section", SNIPPETS)
def test_a_section_runs_and_gives_what_it_says(folder, section):
    names = {"poolwise": poolwise, "Path": Path, "pandas": pandas, "h5py": h5py, "zarr": zarr, "Image": Image}
    exec(SNIPPETS[section], names)  # noqa: S102
    if "plate" in names:
        np.testing.assert_array_equal(names["plate"][:], folder)
        assert names["plate"].names[0] == "dna/0.tif"
    elif "train" in names:
        assert names["train"].labels.tolist() == names["test"].labels.tolist() == [0, 1] * 3
    elif "Cells" in names:
        assert (names["images"].shape, names["images"].labels.tolist()) == ((6, 24, 24, 1), [0, 1] * 3)
    elif section == "Pixels without data":
        assert names["images"].shape == (6, 32, 32, 3)
        assert names["features"].nodata == 0
    elif "frame" in names:
        assert names["images"].labels.tolist() == ["cat", "dog"]
    else:
        np.testing.assert_array_equal(names["images"][:], folder)
        assert names["features"].image_shape_in_ == (32, 32, 3)


def test_all_sections_of_sources_have_a_snippet():
    assert len(SNIPPETS) == 6
