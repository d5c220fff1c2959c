"""Files at addresses: bytes of `s3://`, `memory://`, `http://` and all else that fsspec reads, and which files there are.

What lies elsewhere is taken for hostile, as files are: never more than `most` bytes come, whatever a server says; several
addresses in one (`zip://a.png::http://...`) are refused, since fsspec would unpack them. A server that is busy is asked again.
"""

import io
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import unquote

from poolwise.images.errors import ImageError, reason_of
from poolwise.support.addresses import Address, is_address, place_of
from poolwise.support.files import open_regular

NEEDS_FSSPEC = "an address needs the package fsspec: pip install 'poolwise[remote]'"
MOST_BYTES = 1 << 30
_PAUSES = 0.3, 1.0  # seconds before asking again
_SECONDS = 120  # for one answer
_DEEPEST = 12  # folders in folders of a web server, which may go on for ever
_SERVER_ERROR, _TOO_MANY, _NOT_THERE, _PART = 500, 429, (404, 410, 416), 206
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
_WEB = ("http", "https")

Answer = TypeVar("Answer")


def open_file(path: str) -> io.FileIO | io.BytesIO:
    """A file of this machine, or the content of one at an address; only regular files, of bounded size."""
    place = place_of(path) if is_address(path) else path
    return io.BytesIO(fetch(place)) if isinstance(place, Address) else open_regular(place)


def open_text(place: Path | Address) -> IO[str]:
    """A list or table, whose names may hold bytes that are not text."""
    if not isinstance(place, Address):
        return place.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    return io.TextIOWrapper(io.BytesIO(fetch(place)), encoding="utf-8-sig", errors="surrogateescape", newline="")


def fetch(where: Address, most: int = MOST_BYTES) -> bytes:
    """All bytes of a file; ImageError if it cannot be read, or has more."""
    found = _asked(where, lambda: _read(where, 0, most + 1, whole=True))
    if len(found) > most:
        raise ImageError(where, f"it has more than {most:,} bytes; download it, or store it in smaller files")
    return found


def fetch_part(where: Address, start: int, stop: int) -> bytes:
    """Exactly these bytes of a file."""
    found = _asked(where, lambda: _read(where, start, stop))
    if len(found) != stop - start:
        raise ImageError(
            where, f"it ends too early: of {stop - start:,} bytes from {start:,} on there are {len(found):,}; store it again"
        )
    return found


def fetch_start(where: Address, count: int) -> bytes:
    """So many bytes of a file, or fewer where it has fewer."""
    return _asked(where, lambda: _read(where, 0, count, whole=True))


def list_names(where: Address) -> list[str]:
    """Names of all files below an address, relative to it, in any order."""

    def look() -> list[str]:
        system, path = system_of(where)
        system.invalidate_cache()
        more: dict[str, Any] = {}
        if where.protocol in _WEB:
            path = path.rstrip("/") + "/"
            system.ls(path)  # `find` says nothing of a server that does not answer
            more["maxdepth"] = _DEEPEST
        root = str(system._strip_protocol(path)).rstrip("/") + "/"
        return [str(name).removeprefix(root) for name in system.find(path, **more) if str(name).startswith(root)]

    names = _asked(where, look)
    return [_readable(name) for name in names] if where.protocol in _WEB else names


def _readable(name: str) -> str:
    """Without what links write for blanks and accents, where the name still leads there."""
    plain = unquote(name)
    return name if set(plain) & set("%?#") else plain


def system_of(where: Address) -> tuple[Any, str]:
    """fsspec's file system, and the path there; ImageError if there is none."""
    if where.is_chain:
        raise ImageError(where, "it is several addresses in one, which are not read; unpack what it names, and give a folder")
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise ImageError(where, NEEDS_FSSPEC) from error
    try:
        more = {"client_kwargs": {"timeout": _timeout()}} if where.protocol in _WEB else {}
        system, path = core.url_to_fs(str(where), **more)
    except ImportError as error:  # s3fs, gcsfs, aiohttp
        needed = "pip install 'poolwise[remote]'" if where.protocol in _WEB else reason_of(error)
        raise ImageError(where, f"{where.protocol}:// needs another package: {needed}") from error
    except ValueError as error:
        raise ImageError(
            where, f"fsspec opens no {where.protocol}:// ({reason_of(error)}); expected s3://, gs://, http://, memory://, ..."
        ) from error
    return system, str(path)


def _timeout() -> Any:
    return import_module("aiohttp").ClientTimeout(total=_SECONDS)


def _read(where: Address, start: int, stop: int, *, whole: bool = False) -> bytes:
    """Bytes start to stop, or as many as there are. `whole`: from the start, of a server that may send all."""
    system, path = system_of(where)
    if where.protocol not in _WEB:
        return bytes(system.cat_file(path, start=start, end=stop))
    headers = {} if whole else {"headers": {"Range": f"bytes={start}-{stop - 1}"}}
    with system.open(path, "rb", block_size=0, size=1, **headers) as file:  # a stream: fsspec's other ways read without a limit
        if not whole and file.r.status != _PART:
            raise ImageError(where, "its server gives no parts of files (HTTP ranges); download it, or use another server")
        pieces, missing = list[bytes](), stop - start
        while missing > 0 and (piece := file.read(missing)):
            pieces.append(piece)
            missing -= len(piece)
    return b"".join(pieces)


def _asked(where: Address, ask: Callable[[], Answer]) -> Answer:
    """The answer, asked for again where a server is busy or a connection breaks; whatever goes wrong becomes ImageError."""
    for pause in (*_PAUSES, None):
        try:
            return ask()
        except ImageError:
            raise
        except Exception as error:  # libraries behind fsspec raise nearly anything
            if pause is None or not _may_pass(error):
                raise ImageError(where, _in_words(error)) from error
        time.sleep(pause)
    raise AssertionError("the last time returns or raises")


def _may_pass(error: Exception) -> bool:
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return status >= _SERVER_ERROR or status == _TOO_MANY
    return isinstance(error, OSError) and not isinstance(error, _FINAL)


def _in_words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) or getattr(error, "status", None) in _NOT_THERE:
        return "there is no such file at this address"
    return f"it cannot be read from there ({reason_of(error)})"
