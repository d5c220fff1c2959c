"""on_error="skip": look at every file once, leave out those that cannot be used, and give up where there are too many."""

import csv
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.images.decoding import Decoded, Decoder
from poolwise.images.errors import ImageError, show
from poolwise.images.items import Items
from poolwise.images.listing import Listing
from poolwise.images.sources import FileImages
from poolwise.support.blocks import spans
from poolwise.support.files import replacing
from poolwise.support.progress import Update, silent

_FILES = 16  # of one task
_FILES_PER_SKIP = 100  # one in that many files may be left out,
_MOST_SKIPS_IN_A_ROW = 20  # but fewer than that many in a row


class _Tally:
    """The files left out so far; raises when there are too many."""

    def __init__(self, root: str, n: int) -> None:
        self.skipped: list[tuple[str, str]] = []
        self.errors: list[ImageError] = []
        self._root, self._n, self._run = root, n, 0

    def good(self) -> None:
        self._run = 0

    def bad(self, name: str, error: ImageError) -> None:
        self.skipped.append((name, error.reason))
        self.errors.append(error)
        self._run += 1
        if len(self.skipped) > max(1, self._n // _FILES_PER_SKIP) or self._run >= _MOST_SKIPS_IN_A_ROW:
            few, values = self.first(3)
            raise ImageError(
                self._root,
                f"too many of its {self._n:,} files cannot be used: {len(self.skipped)} so far, {self._run} of them in a row; "
                f"at most one in {_FILES_PER_SKIP} may be skipped. The first: {few}",
                **values,
            )

    def first(self, count: int) -> tuple[str, dict[str, Any]]:
        """The first files and what is wrong with them, and the parameters that this names."""
        pairs = list(zip(self.skipped, self.errors, strict=True))[:count]
        text = "; ".join(f"{show(name)}: {error.text}" for (name, _), error in pairs)
        return text, {key: value for _, error in pairs for key, value in error.values.items()}


def first_usable(listing: Listing | Items, decode: Decoder) -> tuple[int, Decoded]:
    """Row and image of the first file that decodes: it rules the others' size."""
    tally = _Tally(listing.root, len(listing))
    for row, name in enumerate(listing.names):
        try:
            return row, listing.read(row, decode)
        except ImageError as error:
            tally.bad(str(name), _of_image(error, listing.path(row)))
    few, values = tally.first(len(tally.errors))
    raise ImageError(listing.root, few, **values)


def without_unusable(source: FileImages, n_jobs: int | None, update: Update = silent) -> FileImages:
    """The source without the files that do not decode or have another size; update(files seen, "files") now and then."""
    tally = _Tally(source.root, len(source))
    usable = np.ones(len(source), np.bool_)
    blocks = spans(len(source), _FILES)

    def look(rows: slice) -> list[ImageError | None]:
        return [_what_is_wrong(source, row) for row in range(rows.start, rows.stop)]

    with Threads(n_jobs) as engine:
        for rows, errors in zip(blocks, engine.map(look, blocks), strict=True):
            for row, error in enumerate(errors, rows.start):
                if error is None:
                    tally.good()
                else:
                    tally.bad(str(source.names[row]), _of_image(error, source.path(row)))
                    usable[row] = False
            update(rows.stop, "files")
    return source.subset(np.flatnonzero(usable), tally.skipped) if tally.skipped else source


def _what_is_wrong(source: FileImages, row: int) -> ImageError | None:
    try:
        source[row]
    except ImageError as error:
        return error
    return None


def _of_image(error: ImageError, path: str) -> ImageError:
    """With the file's name in the reason, where it is another file of the image than that which names it."""
    return error if error.path == path else ImageError(path, f"{show(error.path)}: {error.text}", **error.values)


def write_manifest(skipped: Iterable[tuple[str, str]], path: str | os.PathLike[str]) -> None:
    """Write `Images.skipped` as CSV with the columns path and reason; the file appears whole or not at all."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("path", "reason"))
        writer.writerows(skipped)
