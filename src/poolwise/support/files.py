"""Files written whole or not at all; and opening only regular files, never a pipe, device or folder."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path


class NotRegularError(OSError):
    """A folder, pipe or device."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives the name of an empty file next to `path`; what the body writes there replaces `path` in one step, at the end.

    Anyone who opens `path` meanwhile finds the old file or the new one, also after a crash or a power cut: the content is on
    the disk before the name is. If anything goes wrong, an interrupt included, the old file stays and the new one is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     os.listdir(folder), Path(folder, "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file and cannot be replaced by one; give another name")
    temporary = path.parent / f".poolwise-{secrets.token_hex(8)}.tmp"
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # the system applies the umask
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)  # the body may have put another file there, as safetensors does
        _flush(temporary, os.O_RDWR)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    if os.name != "nt":  # Windows has no handle on folders
        _flush(path.parent, os.O_RDONLY)


def _flush(path: Path, flags: int) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_regular(path: str | os.PathLike[str]) -> FileIO:
    """Open a regular file for reading; a pipe or device, which might block or never end, is refused without waiting for it.

    >>> open_regular("/dev/null")
    Traceback (most recent call last):
    ...
    poolwise.support.files.NotRegularError: /dev/null is a folder, pipe or device
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise NotRegularError(f"{os.fspath(path)} is a folder, pipe or device")
    # O_NONBLOCK: should it have become a pipe in the meantime, open returns all the same and fstat shows it
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    file = FileIO(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NotRegularError(f"{os.fspath(path)} is a folder, pipe or device")
    return file
