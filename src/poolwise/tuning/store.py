"""Trials on disk: one JSON file in a folder, written after every trial, so that a search can go on where it stopped.

It belongs to one set of images and labels, one seed and one number of codes, by a fingerprint of these.
"""

import base64
import binascii
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from poolwise.support.files import replacing
from poolwise.support.types import Array
from poolwise.tuning.splits import Task

FORMAT = 1
NAME = "tune.json"
_IMAGES_LOOKED_AT = 16


class StoreError(ValueError):
    """A file that is not a store of trials, or one of another search."""


def fingerprint(task: Task, n_codes: int, seed: int) -> str:
    """Of the shape, the labels, a few images, the seed and the number of codes."""
    few = np.unique(np.linspace(0, len(task.images) - 1, _IMAGES_LOOKED_AT, dtype=np.int64))
    found = hashlib.sha256(f"{task.images.shape} {task.numbers} {n_codes} {seed}".encode())
    if task.nodata is not None:
        found.update(f" nodata {task.nodata}".encode())
    found.update(np.ascontiguousarray(task.labels, np.float64).tobytes())
    found.update(np.ascontiguousarray(task.images[few], np.float64).tobytes())
    return found.hexdigest()


class Store:
    """The scores of held-out images by the key of a trial, in `folder`/tune.json; None for a folder keeps them in memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Store(folder, "these images").add("a trial", np.array([1, 0, 1], np.float32))
    ...     Store(folder, "these images").get("a trial")
    array([1., 0., 1.], dtype=float32)
    """

    def __init__(self, folder: str | Path | None, search: str) -> None:
        self.path = None if folder is None else Path(folder) / NAME
        self._search = search
        try:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder} cannot be made the folder of a store: {error.strerror}; give another one") from error
        self._content = self._read()

    def get(self, key: str) -> Array | None:
        """(m,) float32, one for each held-out image; None for a trial that it does not know."""
        found = self._content["trials"].get(key)
        return None if found is None else self._scores(found)

    def add(self, key: str, each: Array) -> None:
        """Remember a trial, now."""
        whole = bool(np.isin(each, (0, 1)).all())
        packed = np.packbits(each.astype(np.bool_)) if whole else each.astype("<f4")
        entry = {"images": len(each), "bits": whole, "scores": base64.b64encode(packed.tobytes()).decode("ascii")}
        self._content["trials"][key] = entry
        if self.path is not None:
            with replacing(self.path) as temporary:
                temporary.write_text(json.dumps(self._content, indent=0), encoding="utf-8")

    def _scores(self, entry: Any) -> Array:
        try:
            data, n = base64.b64decode(entry["scores"], validate=True), entry["images"]
            if entry["bits"]:
                each = np.unpackbits(np.frombuffer(data, np.uint8), count=n).astype(np.float32)
            else:
                each = np.frombuffer(data, "<f4").astype(np.float32)
            length = math.ceil(n / 8) if entry["bits"] else 4 * n
            if not isinstance(n, int) or n < 1 or len(data) != length or not math.isfinite(float(each.sum())):
                raise ValueError("a wrong number of scores")
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise StoreError(f"{self.path} is damaged: a trial has no scores; give another folder, or remove it") from error
        return each

    def _read(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"format": FORMAT, "search": self._search, "trials": {}}
        if self.path is None:
            return empty
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return empty
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{self.path} is not JSON: {error}; give another folder, or remove it") from error
        ok = isinstance(content, dict) and content.get("format") == FORMAT and isinstance(content.get("trials"), dict)
        if not ok or not isinstance(content.get("search"), str):
            raise StoreError(f"{self.path} is not a store of `tune` of format {FORMAT}; give another folder, or remove it")
        if content["search"] != self._search:
            raise StoreError(
                f"{self.path} is of another search: other images, labels, codes or seed; give another folder, or remove it"
            )
        for entry in content["trials"].values():
            self._scores(entry)
        return content
