"""Files written whole or not at all; and opening only regular files, never a pipe, device or folder."""

import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path


class NotRegularError(OSError):
    """A folder, pipe or device."""


_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_OURS = re.compile(r"\.poolwise-([0-9a-f]{8})-([0-9]{1,9})-[0-9a-f]{16}\.tmp")
_STALE_SECONDS = 600  # without a change
_swept: set[str] = set()


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives the name of an empty file next to `path`; what the body writes there replaces `path` in one step, at the end.

    Anyone who opens `path` meanwhile finds the old file or the new one, also after a crash or a power cut: the content is on
    the disk before the name is. If anything goes wrong, an interrupt included, the old file stays and the new one is removed.
    Permissions of the old file are kept. Of a symbolic link the file that it leads to is replaced, and the link stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     os.listdir(folder), Path(folder, "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    path = followed(path)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError(f"{path} is not a regular file and cannot be replaced by one; give another name")
    sweep(path.parent)
    temporary = temporary_name(path.parent)
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # the system applies the umask
        like = path.stat() if path.exists() else temporary.stat()
        mode = like.st_mode & 0o777
        temporary.chmod(mode | stat.S_IWUSR)
        yield temporary
        _give_owner(temporary, like)  # the body may have put another file there, as safetensors does
        _flush(temporary, os.O_RDWR, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    if os.name != "nt":  # Windows has no handle on folders
        _flush(path.parent, os.O_RDONLY)


def followed(path: str | os.PathLike[str]) -> Path:
    """The file that a symbolic link leads to, which need not exist; any other path as it is."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def temporary_name(folder: Path) -> Path:
    """A new name for what this process writes there and renames; `sweep` knows by it whose it is."""
    return folder / f".poolwise-{_HOST}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def sweep(folder: Path) -> None:
    """Remove what killed processes of this machine have left of `temporary_name`, once for each folder and process."""
    if str(folder) in _swept or os.name == "nt":  # where a process cannot be asked for without harm
        return
    _swept.add(str(folder))
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _OURS.fullmatch(entry.name)
            if found is None or found[1] != _HOST or _is_alive(int(found[2])):
                continue
            with suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < _STALE_SECONDS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


def _give_owner(path: Path, like: os.stat_result) -> None:
    """Those of another file, as far as we may."""
    now = path.stat()
    if hasattr(os, "chown") and (like.st_uid, like.st_gid) != (now.st_uid, now.st_gid):
        with suppress(OSError):
            os.chown(path, like.st_uid, like.st_gid)


def _flush(path: Path, flags: int, mode: int | None = None) -> None:
    """Wait until a file, with these permissions, or a folder's list of names is on the disk."""
    handle = os.open(path, flags)
    try:
        if mode is not None:
            path.chmod(mode)
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
