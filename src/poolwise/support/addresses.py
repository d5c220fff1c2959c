"""Where things are. A cluster: `tcp://HOST:8786`, or `local:4` for four processes here. Images: a path or an address."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?=://)")  # two letters or more: c: is a drive
_CHAIN = re.compile(r"::[A-Za-z][A-Za-z0-9+.-]*(://|$)|^[A-Za-z][A-Za-z0-9+.-]*::")
_WEB = ("http", "https")


class Address(str):
    """Where fsspec reads: `s3://bucket/photos`, `memory://photos`, `http://host/list.csv`; never files of this machine.

    >>> where = Address("http://host/lists/a.csv?key=1")
    >>> where.protocol, where.suffix, where.parent, where.is_chain
    ('http', '.csv', 'http://host/lists', False)
    """

    __slots__ = ()

    @property
    def protocol(self) -> str:
        return self.partition("://")[0].lower()

    @property
    def bare(self) -> str:
        """Without the question of a web address, and without slashes at the end."""
        return (self.partition("?")[0].partition("#")[0] if self.protocol in _WEB else self).rstrip("/")

    @property
    def suffix(self) -> str:
        """Of its name, "" for that of a folder, which ends in a slash."""
        _, slash, name = self.bare.partition("://")[2].rpartition("/")
        is_host = not slash and self.protocol in _WEB
        return "" if self.endswith("/") or is_host else os.path.splitext(name)[1]

    @property
    def parent(self) -> str:
        """The folder that it lies in."""
        before, _, _ = self.bare.rpartition("/")
        return before if before.partition("://")[2] else self.bare

    @property
    def public(self) -> str:
        """Without a user's name, a password or key.

        >>> Address("https://me:secret@host/a.csv?key=1").public
        'https://host/a.csv'
        """
        protocol, _, rest = self.bare.partition("://")
        host, slash, path = rest.partition("/")
        return f"{protocol}://{host.rpartition('@')[2]}{slash}{path}"

    @property
    def is_chain(self) -> bool:
        """Whether it is several in one, as fsspec writes `zip://a.png::http://host/a.zip`."""
        return _CHAIN.search(self) is not None

    def is_dir(self) -> bool:
        """Never a folder of this machine."""
        return False

    def may_name(self, other: str) -> bool:
        """Whether a list that lies here may name another place: of the same protocol, and web pages those of the web.

        So no list from elsewhere makes this machine open its own files, or an account's.

        >>> Address("http://host/a.csv").may_name("/etc/passwd"), Address("http://host/a.csv").may_name("https://other/a.png")
        (False, True)
        """
        protocol = _PROTOCOL.match(other)
        if protocol is None:
            return not os.path.isabs(other)
        kinds = {_WEB if one in _WEB else (one,) for one in (self.protocol, protocol[0].lower())}
        return len(kinds) == 1


def is_address(where: str) -> bool:
    """Whether it is written as one, `protocol://`.

    >>> is_address("s3://bucket/photos"), is_address("photos"), is_address("C://photos")
    (True, False, False)
    """
    return _PROTOCOL.match(where) is not None


def place_of(where: str | os.PathLike[str]) -> Path | Address:
    """A path of this machine, which `file://` is too, or an address.

    >>> place_of("memory://photos"), str(place_of("file:///my%20photos"))
    ('memory://photos', '/my photos')
    """
    text = os.fspath(where)
    if not isinstance(text, str) or not is_address(text):
        return Path(where)
    if Address(text).protocol not in ("file", "local"):
        return Address(text)
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{text} names a machine, {parts.netloc}; a file:// address has three slashes: file:///folder/name")
    return Path(unquote(text.partition("://")[2].removeprefix("localhost")))


def joined(folder: str, name: str) -> str:
    """The path or address of what a folder or address, "" for none, calls so.

    >>> joined("s3://bucket/photos", "cat/1.png"), joined("lists", "http://host/1.png")
    ('s3://bucket/photos/cat/1.png', 'http://host/1.png')
    """
    if is_address(name):
        return name
    return f"{folder.rstrip('/')}/{name}" if is_address(folder) else os.path.join(folder, name)


def n_local_workers(where: str) -> int | None:
    """How many processes of this machine are asked for, 0 for one a core; None for the address of a cluster.

    >>> n_local_workers("local:4"), n_local_workers("tcp://host:8786")
    (4, None)
    """
    kind, _, count = where.partition(":")
    if where == "local":
        return 0
    if kind == "local" and count.isascii() and count.isdigit() and len(count) < 5 and int(count) > 0:
        return int(count)
    if kind != "local" and "://" in where:
        return None
    raise ValueError(f"a cluster is an address such as tcp://HOST:8786, or local:4 for 4 processes here; got {where!r}")
