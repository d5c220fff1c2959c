"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives the name of an empty file beside `path`; what the body writes there takes its place in one step, at the end.

    Whoever opens `path` meanwhile finds the old file or the new one, also after a crash or a loss of power: the content is on
    the disk before the name is. If anything goes wrong, an interrupt too, the old file stays and the new one is removed.

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
