"""One error for all that is wrong with a file, in one line, with its name."""

import os


class ImageError(ValueError):
    """A file, folder or list that cannot be used.

    path : str    reason : str, what is wrong and what to do

    >>> print(ImageError("cat/1.png", "it ends too early"))
    cat/1.png: it ends too early
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(os.fspath(path), reason)
        self.path, self.reason = os.fspath(path), reason

    def __str__(self) -> str:
        return f"{show(self.path)}: {self.reason}"


def show(name: str) -> str:
    """A file's name as it can be printed: those with line breaks or bytes that are no text are quoted and escaped.

    >>> show("a.png"), show("a\\n.png")
    ('a.png', "'a\\\\n.png'")
    """
    return name if name.isprintable() else ascii(name)


def reason_of(error: Exception) -> str:
    """What an exception says, in one line of bounded length.

    >>> reason_of(KeyError("tag"))
    "KeyError: 'tag'"
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = " ".join(text.split())[:300]
    return line if isinstance(error, OSError) and line else f"{type(error).__name__}: {line}"
