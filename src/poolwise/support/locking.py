"""One process at a time, by an advisory lock on a file: fcntl on Unix, msvcrt on Windows."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS_BETWEEN_TRIES = 0.02


@contextmanager
def locked(path: str | os.PathLike[str], waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Hold the lock `path`, a file that is made for it and removed after it; waiting() is called once, if another holds it.

    The system lets go of the lock of a process that dies, however it dies. Threads of one process exclude each other too. Where
    a file system has no locks, or the file may not be written, the body runs without one: it knows what to say of its folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(f"{folder}/a.lock"):
    ...         os.listdir(folder)
    ...     os.listdir(folder)
    ['a.lock']
    []
    """
    path, said = Path(path), False
    while True:
        handle = _open(path)
        if handle is None:
            yield
            return
        try:
            state = _try(handle)
            if state is None:
                break
            if state and _is_still(path, handle):  # its last holder may have removed it in between
                break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if not state:
            if not said:
                said = True
                waiting()
            time.sleep(_SECONDS_BETWEEN_TRIES)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not remove what is open; then it stays, empty
            path.unlink()
        os.close(handle)


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError:
        return None


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try(handle: int) -> bool | None:
        """Whether the lock could be had."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try(handle: int) -> bool | None:
        """Whether the lock could be had; None where there are no locks."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True
