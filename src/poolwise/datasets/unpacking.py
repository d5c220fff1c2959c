"""Unpack a tar or zip archive into a folder that appears whole or not at all.

Only regular files and folders whose names stay below the destination are written: absolute names, `..`, links, devices and
pipes are refused, and so is an archive that unfolds into more than its `max_bytes`. Content is copied by us: owners and modes
in the archive are ignored.
"""

import errno
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath

from poolwise.datasets.download import Archive, DownloadError
from poolwise.support.files import sweep, temporary_name
from poolwise.support.progress import Stages, Update

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
_HEADER = 512  # bytes of a member without content: many empty files are too much as well


def unpack(archive: Archive, packed: Path, home: Path, verbose: bool = False) -> None:
    """Unpack `archive.folder` of the file `packed` to `home / archive.folder`; other folders in it are left out."""
    sweep(home)
    temporary = temporary_name(home)
    try:
        temporary.mkdir()
        with Stages(verbose).stage(f"unpack {packed.name}", packed.stat().st_size) as update:
            extract = _extract_zip if zipfile.is_zipfile(packed) else _extract
            extract(packed, temporary, archive.max_bytes, update)
        if not (temporary / archive.folder).is_dir():
            inner = next((path.name for path in temporary.rglob("*") if path.name.lower().endswith(_ARCHIVES)), None)
            nested = "" if inner is None else f" but another archive, {inner!r}: unpack that yourself, or"
            raise DownloadError(f"{packed} holds no folder {archive.folder}{nested or ';'} remove it to download it again")
        _put(temporary / archive.folder, home / archive.folder)
    except (tarfile.TarError, zipfile.BadZipFile, RuntimeError, EOFError, zlib.error) as error:  # RuntimeError: encrypted
        raise DownloadError(f"{packed} cannot be unpacked ({error}); remove it to download it again") from error
    except DownloadError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = f"the disk of {home} is full" if full else str(error)
        raise DownloadError(f"{packed} cannot be unpacked: {reason}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(packed: Path, into: Path, max_bytes: int, update: Update) -> None:
    total = 0
    with packed.open("rb") as file, tarfile.open(fileobj=file, mode="r|gz") as members:
        for member in members:
            _check_member(packed, member, into)
            total += _HEADER + member.size
            if total > max_bytes:
                raise DownloadError(f"{packed} unfolds into more than {max_bytes:,} bytes: not what it should be")
            target = into / member.name
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            content = members.extractfile(member)
            assert content is not None  # noqa: S101 - it is a regular file
            with content, target.open("xb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            update(file.tell())


def _extract_zip(packed: Path, into: Path, max_bytes: int, update: Update) -> None:
    total = done = 0
    with zipfile.ZipFile(packed) as members:
        for member in members.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            _check_name(packed, member.filename, is_plain=kind in (0, stat.S_IFREG, stat.S_IFDIR))
            total += _HEADER + member.file_size  # more than that is never read: zipfile checks it
            if total > max_bytes:
                raise DownloadError(f"{packed} unfolds into more than {max_bytes:,} bytes: not what it should be")
            target = into / member.filename
            if member.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with members.open(member) as content, target.open("xb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            done += member.compress_size
            update(done)


def _check_name(packed: Path, member: str, *, is_plain: bool) -> None:
    """Refuse what is not a plain file or folder below the destination."""
    names = (PurePosixPath(member), PureWindowsPath(member))
    outside = any(name.is_absolute() or name.drive or name.root or ".." in name.parts for name in names)
    if outside or not is_plain:
        what = "leads out of its folder" if outside else "is a link, device or pipe"
        raise DownloadError(f"{packed}: {member!r} {what}; nothing of it was unpacked")


def _check_member(packed: Path, member: tarfile.TarInfo, into: Path) -> None:
    """The same of a tar archive; tarfile's own filter checks it as well."""
    _check_name(packed, member.name, is_plain=member.isreg() or member.isdir())
    if hasattr(tarfile, "data_filter"):  # Python 3.11.4
        tarfile.data_filter(member, str(into))


def _put(source: Path, target: Path) -> None:
    """Rename a folder; where another process was faster, its folder stays."""
    try:
        os.rename(source, target)
    except OSError:
        if not target.is_dir():
            raise
