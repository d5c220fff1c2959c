"""Results on disk: one JSON file, an entry for each cell, written as soon as it is known."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from poolwise.reproduction.cells import Cell
from poolwise.support.files import replacing
from poolwise.support.locking import locked

FORMAT = 2  # 1 said transform where 2 says projection
NAME = "results.json"


class StoreError(ValueError):
    """A file that is not a store of results."""


class Store:
    """Results of cells, and findings that are not accuracies, in `folder`/results.json.

    Each `add` writes the whole file anew and in one step; what another process has added meanwhile is kept.

    Examples
    --------
    >>> import tempfile
    >>> from poolwise.reproduction.cells import kmeans
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Store(folder).add(kmeans("cifar10", 200), {"accuracy": 0.6888, "seconds": {}})
    ...     Store(folder).get(kmeans("cifar10", 200))["accuracy"]
    0.6888
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._content = self._read()

    @property
    def path(self) -> Path:
        return self.folder / NAME

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """What is known of a cell: at least its accuracy, a fraction."""
        found: dict[str, Any] | None = self._content["cells"].get(cell.key)
        return found

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those that nothing is known of, in their order, each once."""
        return [cell for cell in dict.fromkeys(cells) if cell.key not in self._content["cells"]]

    def add(self, cell: Cell, result: dict[str, Any]) -> None:
        """Remember a cell's result, now."""
        self._write("cells", cell.key, {**cell.to_json(), **result})

    def finding(self, name: str) -> dict[str, Any] | None:
        """What an experiment found besides accuracies."""
        found: dict[str, Any] | None = self._content["findings"].get(name)
        return found

    def add_finding(self, name: str, finding: dict[str, Any]) -> None:
        """Remember it, now."""
        self._write("findings", name, finding)

    def all(self) -> list[dict[str, Any]]:
        """Every cell's fields and results."""
        return list(self._content["cells"].values())

    def measured(self, *datasets: str) -> str:
        """The first of these protocols that it has cells of, or the last."""
        seen = {entry["dataset"] for entry in self.all()}
        return next((name for name in datasets if name in seen), datasets[-1])

    def _write(self, part: str, key: str, entry: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / f".{NAME}.lock"):  # between reading and writing nobody else writes
            content = self._read()
            content[part][key] = entry
            content[part] = dict(sorted(content[part].items()))
            with replacing(self.path) as temporary:
                temporary.write_text(_compact(content), encoding="utf-8")
        self._content = content

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"format": FORMAT, "cells": {}, "findings": {}}
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{self.path} is not JSON: {error}; give another --store, or remove it") from error
        if isinstance(content, dict) and content.get("format") == 1 and isinstance(content.get("cells"), dict):
            content = _upgraded(content)
        ok = isinstance(content, dict) and content.get("format") == FORMAT
        ok = ok and all(isinstance(content.get(part), dict) for part in ("cells", "findings"))
        ok = ok and all(_is_result(entry) for entry in content["cells"].values())
        ok = ok and all(isinstance(entry, dict) for entry in content["findings"].values())
        if not ok:
            raise StoreError(f"{self.path} is not a store of results of format {FORMAT}; give another --store, or remove it")
        return content


def _upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """A store of format 1, in which projections were called transforms."""
    cells = {
        key: {"projection" if name == "transform" else name: value for name, value in entry.items()}
        for key, entry in content["cells"].items()
        if isinstance(entry, dict)
    }
    return {**content, "format": FORMAT, "cells": cells}


def _is_result(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("accuracy"), float) and isinstance(entry.get("seconds"), dict)


def _compact(content: dict[str, Any]) -> str:
    """JSON with a line for each entry: short, and a change shows as the lines that changed."""
    parts = []
    for part in ("cells", "findings"):
        entries = ",\n".join(f"    {json.dumps(key)}: {json.dumps(entry)}" for key, entry in content[part].items())
        parts.append(f'  "{part}": {{\n{entries}\n  }}' if entries else f'  "{part}": {{}}')
    return f'{{\n  "format": {FORMAT},\n' + ",\n".join(parts) + "\n}\n"
