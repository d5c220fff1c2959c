"""Where data sets are searched for, and how a folder that holds one is made."""

import os
import warnings
from pathlib import Path
from typing import Any

from poolwise.datasets.download import Archive, DownloadError, download
from poolwise.datasets.unpacking import unpack
from poolwise.support.locking import locked
from poolwise.support.parameters import NAME, ParameterError
from poolwise.support.progress import tell


class MissingDataError(ParameterError, FileNotFoundError):
    """A file or folder of a data set that does not exist: which, and what to do."""


VARIABLE = "POOLWISE_DATA"
ANOTHER_HOME = "name another folder with {data_home}"
Found = dict[str, tuple[Path, int]]  # where each part that was found is, and how many images it has


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder that data sets are in: `data_home`, else what POOLWISE_DATA names, else `poolwise` in scikit-learn's.

    It is not made here, as scikit-learn's `get_data_home` would: looking leaves nothing behind.

    >>> data_folder("/data").as_posix()
    '/data'
    """
    given = data_home if data_home is not None else os.environ.get(VARIABLE) or None
    if given is None:
        given = os.path.join(os.environ.get("SCIKIT_LEARN_DATA") or os.path.join("~", "scikit_learn_data"), "poolwise")
    return Path(os.path.expanduser(given))


def fetched(archive: Archive, home: Path, download_if_missing: bool, verbose: bool) -> Path:
    """The folder of a data set below `home`; it is downloaded and unpacked there if it is missing.

    An archive that lies in `home` under its official name, brought there by hand, is unpacked instead, and stays. One that was
    downloaded is removed after it was unpacked.
    """
    folder, packed = home / archive.folder, home / archive.name
    if folder.is_dir():
        return folder
    brought = packed.is_file()
    if not brought and not download_if_missing:
        raise MissingDataError(
            f"{folder} does not exist and download_if_missing=False; {{data_home}} names the folder that holds "
            f"{archive.folder}, and {archive.url} is where it comes from",
            data_home=NAME,
        )
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"{home} cannot be made to hold {archive.folder} ({error.strerror}); {ANOTHER_HOME}", data_home=NAME
        ) from error
    with locked(home / f".{archive.name}.lock", lambda: _say_waiting(archive, verbose)):
        if folder.is_dir():  # another process has brought it meanwhile
            return folder
        download(archive, packed, verbose)
        unpack(archive, packed, home, verbose)
        if not brought:
            packed.unlink(missing_ok=True)
    return folder


def _say_waiting(archive: Archive, verbose: bool) -> None:
    if verbose:
        tell(f"another process is fetching {archive.name}; waiting for it")


def warn_if_partial(path: Path, what: str, found: int, official: int) -> None:
    """Say so where a file or folder holds fewer images, or more, than the official one."""
    if found != official:
        warnings.warn(f"{path} holds {found:,} {what} images, the official data set {official:,}", UserWarning, stacklevel=3)


def parts_of(subset: Any, *more: str) -> tuple[str, ...]:
    """The parts that a subset is made of.

    >>> parts_of("all")
    ('train', 'test')
    """
    parts = {"train": ("train",), "test": ("test",), "all": ("train", "test")} | {name: (name,) for name in more}
    if not isinstance(subset, str) or subset not in parts:
        raise ValueError(f"subset must be one of {', '.join(map(repr, parts))}; got {subset!r}")
    return parts[subset]
