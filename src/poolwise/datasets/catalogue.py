"""What is known of each data set without opening it: for lists of them, and for reading one by its name. Nothing heavy here."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolwise.datasets.download import Archive
    from poolwise.datasets.home import Found


@dataclass(frozen=True)
class DataSet:
    """One data set, as the commands read it.

    name : str, as users write it    what : str    shape : (H, W, c) of an image    n_classes : int
    official : its parts, and how many images each has
    cite : str, whose work it is    page : str, its official address    download : int, bytes, about
    function : which of `poolwise.datasets` reads it
    """

    name: str
    what: str
    shape: tuple[int, int, int]
    n_classes: int
    official: dict[str, int]
    cite: str
    page: str
    function: str
    download: int = 0

    @property
    def reader(self) -> Any:
        """The module that reads it, with OFFICIAL, found and, if it is downloaded, ARCHIVE."""
        return import_module(f"poolwise.datasets.{self.name}")

    @property
    def archive(self) -> "Archive | None":
        """What is downloaded; None for a data set that needs no download."""
        return getattr(self.reader, "ARCHIVE", None)

    @property
    def parts(self) -> dict[str, int]:
        """The parts of the official data set, and how many images each has."""
        return dict(self.reader.OFFICIAL)

    def found(self, home: Path) -> "Found":
        """Which parts `home` holds, where, and how many images of each; without reading them."""
        there: Found = self.reader.found(home)
        return there

    def is_complete(self, there: "Found") -> bool:
        """Whether these are all the parts, with as many images as the official ones."""
        return {part: count for part, (_, count) in there.items()} == self.parts

    def load(self, part: str, home: Path, verbose: bool) -> Any:
        """The Bunch of one part; a FileNotFoundError where it is missing, as nothing is downloaded."""
        read = getattr(self.reader, self.function)
        if self.archive is None:
            return read(subset=part)
        return read(data_home=home, subset=part, download_if_missing=False, verbose=verbose)


CATALOGUE = {
    entry.name: entry
    for entry in (
        DataSet(
            "cifar10",
            "photographs of animals and vehicles",
            (32, 32, 3),
            10,
            {"train": 50_000, "test": 10_000},
            "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
            "https://www.cs.toronto.edu/~kriz/cifar.html",
            "fetch_cifar10",
            170_000_000,
        ),
        DataSet(
            "stl10",
            "photographs of animals and vehicles, most without labels; 96×96, read at 32×32",
            (32, 32, 3),
            10,
            {"train": 5_000, "test": 8_000, "unlabeled": 100_000},
            "Coates, Lee and Ng, An Analysis of Single-Layer Networks in Unsupervised Feature Learning, 2011",
            "https://cs.stanford.edu/~acoates/stl10/",
            "fetch_stl10",
            2_600_000_000,
        ),
        DataSet(
            "cub200",
            "photographs of birds (CUB-200-2011), cut to 1.5 times the box around the bird",
            (128, 128, 3),
            200,
            {"train": 5_994, "test": 5_794},
            "Wah and others, The Caltech-UCSD Birds-200-2011 Dataset, 2011",
            "https://www.vision.caltech.edu/datasets/cub_200_2011/",
            "fetch_cub200",
            1_200_000_000,
        ),
        DataSet(
            "eurosat",
            "tiles of Sentinel-2 in 13 bands: which use of land? Every fifth tile of a class is a test tile",
            (64, 64, 13),
            10,
            {"train": 21_600, "test": 5_400},
            "Helber and others, EuroSAT: A Novel Dataset and Deep Learning Benchmark for Land Use Classification, 2019",
            "https://zenodo.org/records/7711810",
            "fetch_eurosat",
            2_065_000_000,
        ),
        DataSet(
            "photos",
            "crops of photographs and textures that ship with poolwise: which picture is it from?",
            (32, 32, 3),
            16,
            {"train": 3_200, "test": 1_600},
            "scikit-image",
            "https://scikit-image.org",
            "load_photos",
        ),
    )
}
