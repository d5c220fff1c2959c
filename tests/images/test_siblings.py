"""Images in several files: a table with a column of paths for each channel, compared with the planes that were written."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from poolwise import Patches, open_images
from poolwise.images import ImageError

from settings import paper_features

CHANNELS = ("dna", "er", "rna")
LABELS = ["drug", "dmso", "drug", "dmso", "drug"]


@pytest.fixture
def plate(tmp_path, rng):
    """A table of five images, the folder that it is in, and (5, 6, 7, 3) what was written."""
    planes = rng.integers(0, 4096, size=(5, 6, 7, 3), dtype=np.uint16)
    lines = ["label," + ",".join(CHANNELS)]
    for row, image in enumerate(planes):
        names = [f"{channel}/{row}.tif" for channel in CHANNELS]
        for name, plane in zip(names, image.transpose(2, 0, 1), strict=True):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            tifffile.imwrite(tmp_path / name, plane)
        lines.append(",".join([LABELS[row], *names]))
    (tmp_path / "plate.csv").write_text("\n".join(lines))
    return tmp_path / "plate.csv", tmp_path, planes


@pytest.mark.parametrize("memory", [0, 2**30])
def test_files_of_an_image_are_its_bands_in_the_order_of_the_columns(plate, memory):
    table, _, planes = plate
    source = open_images(table, columns=(CHANNELS, "label"), memory=memory)
    assert (source.shape, source.dtype, source.labels.tolist()) == ((5, 6, 7, 3), np.uint16, LABELS)
    assert source.names == [f"dna/{row}.tif" for row in range(5)]
    for rows in (slice(1, 4), np.array([4, 0, 4]), slice(None)):
        np.testing.assert_array_equal(source[rows], planes[rows])
    turned = open_images(table, columns=(["rna", "dna"], None))
    assert turned.labels is None
    np.testing.assert_array_equal(turned[:], planes[..., [2, 0]])


def test_channels_and_sizes_are_those_of_the_whole(plate):
    table, _, planes = plate
    np.testing.assert_array_equal(open_images(table, columns=(CHANNELS, None), channels=(2, 1))[:], planes[..., [2, 1]])
    assert open_images(table, columns=(CHANNELS, None), resize=(3, 2)).shape == (5, 3, 2, 3)
    with pytest.raises(ImageError, match=r"0\.tif: it has 3 bands, 0 to 2; got channels=\(3,\)"):
        open_images(table, columns=(CHANNELS, None), channels=(3,))


def test_a_dataframe_has_several_columns_too(plate, monkeypatch):
    import pandas as pd

    table, folder, planes = plate
    monkeypatch.chdir(folder)
    source = open_images(pd.read_csv(table), columns=(CHANNELS, "label"))
    np.testing.assert_array_equal(source[:], planes)


def test_another_size_or_type_is_named_with_its_sibling(plate):
    table, folder, _ = plate
    tifffile.imwrite(folder / "er" / "2.tif", np.zeros((6, 8), np.uint16))
    tifffile.imwrite(folder / "rna" / "3.tif", np.zeros((6, 7), np.uint8))
    source = open_images(table, columns=(CHANNELS, "label"))
    with pytest.raises(ImageError, match=r"er/2\.tif: 6×8 pixels, but .*dna/2\.tif, another file of the same image, has 6×7"):
        source[2]
    with pytest.raises(ImageError, match=r"rna/3\.tif: its pixels are uint8, those of .*dna/3\.tif.* uint16; save all alike"):
        source[3]


def test_an_image_is_left_out_if_one_of_its_files_is_bad(plate):
    table, folder, planes = plate
    (folder / "er" / "0.tif").write_bytes(b"broken")
    source = open_images(table, columns=(CHANNELS, "label"), on_error="skip")
    assert source.names == [f"dna/{row}.tif" for row in range(1, 5)]
    assert source.labels.tolist() == LABELS[1:]
    np.testing.assert_array_equal(source[:], planes[1:])
    ((name, reason),) = source.skipped
    assert name == "dna/0.tif"
    assert reason.startswith(f"{folder / 'er' / '0.tif'}: its content is not a PNG")


def test_what_is_noted_of_a_file_is_warned_of_once(tmp_path):
    for name in ("a.png", "b.png"):
        Image.new("RGBA", (3, 2), (9, 9, 9, 128)).save(tmp_path / name)
    (tmp_path / "t.csv").write_text("a,b\na.png,b.png\n")
    with pytest.warns(UserWarning, match=r"^a\.png: what is transparent in it is laid over white\. The same") as caught:
        assert open_images(tmp_path / "t.csv", columns=(("a", "b"), None)).shape == (1, 2, 3, 6)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("dna", r"columns must be \(column of paths, column of labels or None\), or .*got 'dna'"),
        (("dna",), "columns must be"),
        (((), "label"), "columns must be"),
        ((("dna", 3), "label"), "columns must be"),
        (("dna", 3), "columns must be"),
        ((("dna", "dna"), "label"), "columns names a column twice"),
        ((("dna", "label"), "label"), "columns names a column twice"),
        ((("dna", "agp"), "label"), "there is no column 'agp' in its first line, but 'label', 'dna', 'er', 'rna'; name those"),
    ],
)
def test_wrong_columns_are_refused_in_words(plate, columns, message):
    with pytest.raises(ValueError, match=message):
        open_images(plate[0], columns=columns)


def test_a_row_without_one_of_its_paths_is_refused(plate):
    table, _, _ = plate
    table.write_text("dna,er\ndna/0.tif,\n")
    with pytest.raises(ImageError, match="line 2 has 2 fields or no path"):
        open_images(table, columns=(("dna", "er"), None))
    table.write_text("dna,dna\ndna/0.tif,dna/0.tif\n")
    with pytest.raises(ImageError, match="2 columns are called 'dna' in its first line; rename all but one"):
        open_images(table, columns=("dna", None))


def test_features_are_those_of_the_array(plate):
    table, _, planes = plate
    settings = {"n_codes": 4, "n_patches": 200, "descriptor": Patches(3), "random_state": 0}
    source = open_images(table, columns=(CHANNELS, "label"))
    np.testing.assert_array_equal(
        paper_features(**settings).fit_transform(source), paper_features(**settings).fit_transform(planes)
    )
