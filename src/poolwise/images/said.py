"""What Pillow and libtiff say about a file while they decode it: of which file, in one place.

Pillow warns without the file's name. libtiff, inside Pillow, writes lines on stderr by itself; `hear_libtiff` turns these into
warnings like Pillow's, and drops those of threads that decode no file of ours.
"""

import ctypes
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from PIL import Image, _imaging

_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)  # (module, format, va_list)
_BYTES = 300

_thread = threading.local()
_heard: dict[Any, Any] = {}  # the registry of warnings: each text once


@contextmanager
def decoding(path: str) -> Iterator[None]:
    """What is said in this thread meanwhile is about this file."""
    _thread.path, _thread.complained = path, False
    try:
        yield
    finally:
        _thread.path = None


def being_decoded() -> str | None:
    """The file that this thread decodes.

    >>> with decoding("a.tif"):
    ...     being_decoded()
    'a.tif'
    """
    return getattr(_thread, "path", None)


def hear_libtiff() -> None:
    """From now on libtiff's errors are warnings, the first of each file; not where it is linked statically.

    For commands alone: a library must not take another's messages away.
    """
    with suppress(OSError, AttributeError):
        install = ctypes.CDLL(str(_imaging.__file__)).TIFFSetErrorHandler  # of the libtiff that Pillow's module is linked to
        install.argtypes, install.restype = [_HANDLER], ctypes.c_void_p
        install(_hear)


@_HANDLER
def _hear(module: bytes | None, form: bytes | None, arguments: int | None) -> None:
    if being_decoded() is None or _thread.complained or form is None:
        return
    _thread.complained = True
    text = ctypes.create_string_buffer(_BYTES)
    ctypes.pythonapi.PyOS_vsnprintf(text, ctypes.c_size_t(_BYTES), form, ctypes.c_void_p(arguments))
    line = "libtiff: " + text.value.decode(errors="replace").strip().removeprefix("tempfile.tif: ")  # Pillow's name for all
    warnings.warn_explicit(line, UserWarning, Image.__file__, 0, registry=_heard)
