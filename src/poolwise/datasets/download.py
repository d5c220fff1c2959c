"""Download an archive over http or https, so that a broken line costs only what was on its way.

NAME.part      what has arrived; the next call resumes at its end, by an HTTP Range, where the server can do that
NAME           the whole archive: it gets its name after its checksum was found right
"""

import errno
import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import NoReturn
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from poolwise.support.parameters import NAME, ParameterError
from poolwise.support.progress import Stages, Update

TIMEOUT = 60.0  # seconds without a byte
_BYTES_PER_BLOCK = 1 << 18


@dataclass(frozen=True)
class Archive:
    """A data set's packed file.

    url : str    md5 : str    folder : str, the folder in it that is wanted    max_bytes : int, what it may unpack into
    """

    url: str
    md5: str
    folder: str
    max_bytes: int

    @property
    def name(self) -> str:
        """The file's name, the last part of its address."""
        return urlsplit(self.url).path.rpartition("/")[2]


class DownloadError(ParameterError, OSError):
    """A data set that could not be brought here: why, and what to do."""


def download(archive: Archive, path: Path, verbose: bool = False, timeout: float | None = None) -> None:
    """Download an archive to `path` and check it; an existing one is only checked."""
    stages = Stages(verbose)
    if path.is_file():
        found = _md5(path, stages)
        if found != archive.md5:
            raise DownloadError(f"{path} has the checksum {found}, expected {archive.md5}; remove it to download it again")
        return
    part = path.with_name(path.name + ".part")
    try:
        _fetch(archive, part, timeout or TIMEOUT, stages)
        found = _md5(part, stages)
    except DownloadError:
        raise
    except HTTPError as error:
        _fail(archive, part, f"the server answers {error.code} {error.reason}", error)
    except TimeoutError as error:
        _fail(archive, part, f"nothing came for {timeout or TIMEOUT:g} seconds", error)
    except URLError as error:
        timed_out = isinstance(error.reason, TimeoutError)
        reason = f"nothing came for {timeout or TIMEOUT:g} seconds" if timed_out else f"no connection ({error.reason})"
        _fail(archive, part, reason, error)
    except (HTTPException, OSError) as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        _fail(archive, part, f"the disk of {path.parent} is full" if full else f"{type(error).__name__}: {error}", error)
    if found != archive.md5:
        part.unlink()
        raise DownloadError(
            f"{archive.url} gave a file with the checksum {found}, expected {archive.md5}; it was removed: try again, "
            f"and if that does not help, the file behind the address has changed"
        )
    part.replace(path)


def _fail(archive: Archive, part: Path, reason: str, error: Exception) -> NoReturn:
    kept = f"; {part} keeps what has arrived, call again to go on from there" if part.exists() else ""
    raise DownloadError(f"{archive.url} could not be downloaded: {reason}{kept}") from error


def _fetch(archive: Archive, part: Path, timeout: float, stages: Stages) -> None:
    """Bring what is missing of the .part file."""
    have = part.stat().st_size if part.exists() else 0
    try:
        response = _open(archive.url, have, timeout)
    except HTTPError as error:
        if error.code != 416 or have == 0:
            raise
        if error.headers.get("Content-Range") == f"bytes */{have}":  # there is nothing after our last byte
            return
        response = _open(archive.url, 0, timeout)
    if response.status == 206 and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        response.close()
        response = _open(archive.url, 0, timeout)
    with response:
        have = have if response.status == 206 else 0  # a server without ranges answers 200 and sends the whole
        length = response.headers.get("Content-Length", "")
        total = have + int(length) if length.isdecimal() else None
        _check_room(archive, part, have, total)
        try:
            with part.open("ab" if have else "wb") as file, stages.stage(f"download {archive.name}", total) as update:
                _copy(response, file.write, archive, (have, total), update)
        except DownloadError:  # more than the file can have: nothing to go on from
            part.unlink()
            raise


def _check_room(archive: Archive, part: Path, have: int, total: int | None) -> None:
    if total is None:
        return
    _check_size(archive, total)
    free = shutil.disk_usage(part.parent).free
    if total - have > free:
        raise DownloadError(
            f"{archive.url} needs {(total - have) / 1e6:,.0f} MB and {part.parent} has {free / 1e6:,.0f} MB free "
            f"(unpacked it takes more); make room, or name another folder with {{data_home}}",
            data_home=NAME,
        )


def _check_size(archive: Archive, size: int) -> None:
    if size > archive.max_bytes:
        raise DownloadError(
            f"{archive.url} sends {size:,} bytes or more, expected fewer than {archive.max_bytes:,}: not the file"
        )


def _copy(
    response: HTTPResponse, write: Callable[[bytes], object], archive: Archive, span: tuple[int, int | None], update: Update
) -> None:
    have, total = span
    start, first = time.perf_counter(), have
    while block := response.read(_BYTES_PER_BLOCK):
        write(block)
        have += len(block)
        _check_size(archive, have)
        update(have, _note(have, total, (have - first) / max(time.perf_counter() - start, 1e-9)))
    if total is not None and have < total:
        raise HTTPException(f"the connection ended after {have:,} of {total:,} bytes")


def _note(have: int, total: int | None, rate: float) -> str:
    """How fast it comes, and the time left.

    >>> _note(20_000_000, 170_000_000, 2e6)
    '2.0 MB/s, 1:15 left'
    """
    speed = f"{rate / 1e6:.1f} MB/s"
    if total is None:
        return speed
    minutes, seconds = divmod(round((total - have) / rate), 60)
    return f"{speed}, {minutes}:{seconds:02} left"


def _open(url: str, start: int, timeout: float) -> HTTPResponse:
    """The answer to a GET from byte `start` on. Only http and https have a handler here, for redirections too."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"{url} is not an http or https address")
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    headers = {"User-Agent": "poolwise", "Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    return opener.open(request.Request(url, headers=headers), timeout=timeout)  # noqa: S310 - the scheme was checked


def _md5(path: Path, stages: Stages) -> str:
    """The official checksums are md5: they detect a broken file, and hardly anybody can forge a second one to a given sum."""
    digest = hashlib.md5(usedforsecurity=False)
    done = 0
    with stages.stage(f"check {path.name}", total=path.stat().st_size) as update, path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            done += len(block)
            update(done)
    return digest.hexdigest()
