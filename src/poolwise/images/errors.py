"""One error for all that is wrong with a file, in one line, with its name."""

import os
from typing import Any

from poolwise.support.parameters import ParameterError, Spell, as_keyword


class ImageError(ParameterError):
    """A file, folder or list that cannot be used.

    path : str    reason : str, what is wrong and what to do; it may name parameters, as in `ParameterError`

    >>> print(ImageError("cat/1.png", "it ends too early"))
    cat/1.png: it ends too early
    """

    def __init__(self, path: str | os.PathLike[str], reason: str, **values: Any) -> None:
        self.path = os.fspath(path)
        super().__init__(reason, **values)
        self.args = (self.path, self.reason)

    @property
    def reason(self) -> str:
        """Without the path."""
        return super().spelled(as_keyword)

    def spelled(self, spell: Spell) -> str:
        return f"{show(self.path)}: {super().spelled(spell)}"

    def __str__(self) -> str:
        return self.spelled(as_keyword)


def show(name: str) -> str:
    """A file's name as it can be printed: those with line breaks or bytes that are not text are quoted and escaped.

    >>> show("a.png"), show("a\\n.png")
    ('a.png', "'a\\\\n.png'")
    """
    return name if name.isprintable() else ascii(name)


def reason_of(error: Exception) -> str:
    """An exception's message, in one line of bounded length.

    >>> reason_of(KeyError("tag"))
    "KeyError: 'tag'"
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = " ".join(text.split())[:300]
    return line if isinstance(error, OSError) and line else f"{type(error).__name__}: {line}"
