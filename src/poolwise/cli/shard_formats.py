"""What shards of features look like in a folder. A shard is there if its last file is; each file appears whole or not at all.

FOLDER          00000.csv: row and path; 00000.npy: (images, features) float32
NAME.zarr       a group of zarr, format 2, without compression: features (n, d) float32, path (n,) text; a shard is a chunk
NAME.parquet    00000.parquet: row, path, features (a list of d float32); needs pyarrow
"""

import csv
import json
import struct
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.support.files import replacing

if TYPE_CHECKING:
    from poolwise.support.types import Array

_DIGITS = 5


class Npy:
    """Arrays of NumPy, each with a table of its rows."""

    about = "shards.json"

    def check(self) -> None:
        """A usage error if what writes this is not installed."""

    def begin(self, folder: Path, n: int, n_features: int, size: int) -> None:
        """Write what is common to n images in shards of `size`."""

    def path(self, folder: Path, number: int) -> Path:
        """The file of a shard that is written last."""
        return folder / f"{number:0{_DIGITS}}.npy"

    def write(self, folder: Path, number: int, X: "Array", rows: slice, names: Sequence[Any], size: int) -> None:
        """One shard, of (len(names), features)."""
        import numpy as np

        path = self.path(folder, number)
        with (
            replacing(path.with_suffix(".csv")) as temporary,
            temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as text,
        ):
            writer = csv.writer(text)
            writer.writerow(["row", "path"])
            writer.writerows(zip(range(rows.start, rows.stop), names, strict=True))
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, X)


class Zarr(Npy):
    """Written without zarr: a chunk that is not compressed is its numbers, as they are."""

    def begin(self, folder: Path, n: int, n_features: int, size: int) -> None:
        plain = {"zarr_format": 2, "compressor": None, "order": "C", "filters": None}
        arrays = {
            "features": {"shape": [n, n_features], "chunks": [size, n_features], "dtype": "<f4", "fill_value": "NaN"},
            "path": {"shape": [n], "chunks": [size], "dtype": "|O", "fill_value": "", "filters": [{"id": "vlen-utf8"}]},
        }
        _write_json(folder / ".zgroup", {"zarr_format": 2})
        for name, about in arrays.items():
            (folder / name).mkdir(exist_ok=True)
            _write_json(folder / name / ".zarray", plain | about)

    def path(self, folder: Path, number: int) -> Path:
        return folder / "features" / f"{number}.0"

    def write(self, folder: Path, number: int, X: "Array", rows: slice, names: Sequence[Any], size: int) -> None:
        import numpy as np

        texts = [str(name).encode("utf-8", "backslashreplace") for name in names] + [b""] * (size - len(names))
        with replacing(folder / "path" / str(number)) as temporary:  # as numcodecs.VLenUTF8 has it
            temporary.write_bytes(b"".join([struct.pack("<I", size), *(struct.pack("<I", len(one)) + one for one in texts)]))
        with replacing(self.path(folder, number)) as temporary, temporary.open("wb") as file:
            file.write(np.ascontiguousarray(X, "<f4").data)
            file.write(np.full((size - len(X), X.shape[1]), np.nan, "<f4").data)  # chunks have one size


class Parquet(Npy):
    """Files that pandas, polars, DuckDB and Dask read as one table."""

    about = "_shards.json"  # they pass over names that begin so

    def check(self) -> None:
        if find_spec("pyarrow") is None:
            raise click.UsageError("-o NAME.parquet needs pyarrow, which is not installed: pip install pyarrow")

    def path(self, folder: Path, number: int) -> Path:
        return folder / f"{number:0{_DIGITS}}.parquet"

    def write(self, folder: Path, number: int, X: "Array", rows: slice, names: Sequence[Any], size: int) -> None:
        import numpy as np

        arrow = import_module("pyarrow")
        numbers = arrow.array(np.ascontiguousarray(X, np.float32).ravel())
        table = arrow.table(
            {
                "row": arrow.array(np.arange(rows.start, rows.stop)),
                "path": arrow.array([str(name).encode("utf-8", "backslashreplace").decode() for name in names]),
                "features": arrow.FixedSizeListArray.from_arrays(numbers, X.shape[1]),
            }
        )
        with replacing(self.path(folder, number)) as temporary:
            import_module("pyarrow.parquet").write_table(table, temporary)


FORMATS = {"": Npy(), ".zarr": Zarr(), ".parquet": Parquet()}


def format_of(folder: Path) -> Npy:
    """By its name's ending; shards of .npy where that says nothing."""
    return FORMATS.get(folder.suffix.lower(), FORMATS[""])


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
