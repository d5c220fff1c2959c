"""on_error="skip": look at every file once, leave out those that cannot be used, and give up where there are too many."""

import csv
import os
from collections.abc import Callable, Iterable

import numpy as np

from poolwise.arrays import Array
from poolwise.atomic import replacing
from poolwise.engine import Threads, spans
from poolwise.images.decoding import Decoder
from poolwise.images.errors import ImageError, show
from poolwise.images.listing import Listing
from poolwise.images.sources import FileImages

_FILES = 16  # of one task
_SHARE = 100  # one of so many files may be left out,
_RUN = 20  # but fewer than so many in a row


class _Tally:
    """The files left out so far; raises when there are too many."""

    def __init__(self, root: str, n: int) -> None:
        self.skipped: list[tuple[str, str]] = []
        self._root, self._n, self._run = root, n, 0

    def good(self) -> None:
        self._run = 0

    def bad(self, name: str, reason: str) -> None:
        self.skipped.append((name, reason))
        self._run += 1
        if len(self.skipped) > max(1, self._n // _SHARE) or self._run >= _RUN:
            few = "; ".join(f"{show(name)}: {reason}" for name, reason in self.skipped[:3])
            raise ImageError(
                self._root,
                f"too many of its {self._n:,} files cannot be used: {len(self.skipped)} so far, {self._run} of them in a row; "
                f"at most one in {_SHARE} may be skipped. The first: {few}",
            )


def first_usable(listing: Listing, decode: Decoder) -> tuple[int, Array]:
    """Row and pixels of the first file that decodes: it rules the others' size."""
    tally = _Tally(listing.root, len(listing.names))
    for row, name in enumerate(listing.names):
        try:
            return row, decode(os.path.join(listing.root, name))
        except ImageError as error:
            tally.bad(name, error.reason)
    raise ImageError(listing.root, "; ".join(f"{show(name)}: {reason}" for name, reason in tally.skipped))


def without_unusable(source: FileImages, n_jobs: int | None, progress: Callable[[int], None] | None = None) -> FileImages:
    """The source without the files that do not decode or have another size; progress(files seen) now and then."""
    tally = _Tally(source._root, len(source))
    usable = np.ones(len(source), np.bool_)
    blocks = spans(len(source), _FILES)

    def look(rows: slice) -> list[str | None]:
        return [_what_is_wrong(source, row) for row in range(rows.start, rows.stop)]

    with Threads(n_jobs) as engine:
        for rows, reasons in zip(blocks, engine.map(look, blocks), strict=True):
            for row, reason in enumerate(reasons, rows.start):
                if reason is None:
                    tally.good()
                else:
                    tally.bad(str(source.names[row]), reason)
                    usable[row] = False
            if progress is not None:
                progress(rows.stop)
    return source.subset(np.flatnonzero(usable), tally.skipped) if tally.skipped else source


def _what_is_wrong(source: FileImages, row: int) -> str | None:
    try:
        source[row]
    except ImageError as error:
        return error.reason
    return None


def write_manifest(skipped: Iterable[tuple[str, str]], path: str | os.PathLike[str]) -> None:
    """Write `Images.skipped` as CSV with the columns path and reason; the file appears whole or not at all."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("path", "reason"))
        writer.writerows(skipped)
