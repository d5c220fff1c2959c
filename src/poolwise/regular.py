"""Files of others, opened only if they are files."""

import os
import stat
from io import FileIO


class NotRegularError(OSError):
    """A folder, pipe or device."""


def open_regular(path: str | os.PathLike[str]) -> FileIO:
    """A regular file to read from; a pipe or device, which might block or never end, is refused without waiting for it.

    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    ...
    poolwise.regular.NotRegularError: /dev/null is a folder, pipe or device
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise NotRegularError(f"{os.fspath(path)} is a folder, pipe or device")
    # O_NONBLOCK: should it have become a pipe in the meantime, open returns all the same and fstat tells
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    file = FileIO(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegularError(f"{os.fspath(path)} is a folder, pipe or device")
    return file
