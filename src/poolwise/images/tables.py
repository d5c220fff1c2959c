"""Tables: which columns have the paths and labels of a `.csv` file, or of a DataFrame of pandas or polars."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from poolwise.images.errors import ImageError, reason_of
from poolwise.images.fetching import open_text
from poolwise.images.labelling import as_labels, as_text, check_length
from poolwise.images.listing import Listing, check_names, list_paths
from poolwise.support.addresses import Address
from poolwise.support.parameters import NAME, Example, ParameterError

Columns = tuple[str | Sequence[str], str | None]


def check_columns(columns: Any) -> tuple[tuple[str, ...], str | None]:
    """((column of paths, ...), column of labels or None) of what a user gave.

    >>> check_columns(("file", "species")), check_columns((("dna", "er"), None))
    ((('file',), 'species'), (('dna', 'er'), None))
    """
    if isinstance(columns, tuple | list) and len(columns) == 2:
        paths, label = columns
        of_files = (paths,) if isinstance(paths, str) else tuple(paths) if isinstance(paths, tuple | list) else ()
        if of_files and all(isinstance(name, str) for name in of_files) and isinstance(label, str | None):
            if len({*of_files, label}) <= len(of_files):
                raise ParameterError(f"{{columns}} names a column twice; got {columns!r}", columns=NAME)
            return of_files, label
    raise ParameterError(
        f"{{columns}} must be (column of paths, column of labels or None), or ((dna, er, ...), label) where each image is in "
        f"several files; got {columns!r}",
        columns=NAME,
    )


def list_table(path: Path | Address, columns: Columns | None = None, labelled: bool = True) -> Listing:
    """A CSV file with a header; paths are relative to its folder.

    columns : the names of the columns with paths and with labels, (…, None) for no labels. None: "path" and, if there, "label"
    labelled : whether labels are wanted, which none may lack then
    """
    rows = _table_rows(path)
    header = next(rows, (1, []))[1]
    where, label = _choose(path, "in its first line", header, columns)
    label = label if labelled else None
    names, labels = [], []
    places = [header.index(name) for name in where]
    for number, row in rows:
        if len(row) != len(header) or not all(row[place] for place in places):
            raise ImageError(path, f"line {number} has {len(row)} fields or no path; expected {len(header)} as in the header")
        names.append(tuple(row[place] for place in places))
        if label is not None:
            labels.append(check_length(path, number, row[header.index(label)]))
            if not labels[-1]:
                raise ImageError(path, f"line {number} has nothing in the column {label!r}; fill it in, or leave the line out")
    if not names:
        raise ImageError(path, "it has a header but no rows")
    check_names(path, (name for files in names for name in files))
    return _listing(str(path.parent), names, None if label is None else as_text(labels))


def list_frame(frame: Any, columns: Columns | None = None, labelled: bool = True) -> Listing:
    """The same of a DataFrame, whose paths are relative to the current folder.

    frame : anything with `columns`, and a column for each of their names
    """
    what = f"the {type(frame).__name__}"
    header = [str(name) for name in frame.columns]
    where, label = _choose(what, "in it", header, columns)
    series = {name: frame[key] for name, key in zip(header, frame.columns, strict=True) if name in (*where, label)}
    names = list(zip(*(list_paths(series[name], f"{what}'s column {name!r}") for name in where), strict=True))
    labels = None if label is None or not labelled else as_labels(series[label], len(names), f"{what}'s column {label!r}")
    return _listing("", names, labels)


def _choose(source: str | Path, there: str, header: list[str], columns: Columns | None) -> tuple[tuple[str, ...], str | None]:
    """The columns of paths and of labels, each of which must be in the header once."""
    chosen = columns if columns is not None else ("path", "label" if "label" in header else None)
    where, label = check_columns(chosen)
    for name in (*where, label):
        if name is not None and name not in header:
            raise ImageError(
                source,
                f"there is no column {name!r} {there}, but {', '.join(map(repr, header)) or 'nothing'}; name those of paths "
                f"and labels with {{columns}}",
                columns=Example("(..., ...)", "PATH,LABEL"),
            )
        if header.count(str(name)) > 1:
            raise ImageError(source, f"{header.count(str(name))} columns are called {name!r} {there}; rename all but one")
    return where, label


def _listing(root: str, names: Iterable[tuple[str, ...]], labels: Any) -> Listing:
    files = list(names)
    return Listing(root, [one[0] for one in files], labels, files if len(files[0]) > 1 else None)


def _table_rows(path: Path | Address) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row that is not empty."""
    try:
        with open_text(path) as file:
            reader = csv.reader(file)
            yield from ((reader.line_num, row) for row in reader if row)
    except (OSError, csv.Error) as error:
        raise ImageError(path, f"it cannot be read as CSV ({reason_of(error)})") from error
