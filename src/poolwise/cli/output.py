"""What commands write: results on stdout, the rest on stderr, files that are whole or not there."""

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO, cast

import click

from poolwise.support.files import followed, replacing
from poolwise.support.progress import tell
from poolwise.support.text import plain


def check_output(path: Path, endings: tuple[str, ...], option: str = "--output", inputs: tuple[Path | str, ...] = ()) -> None:
    """A usage error if a file cannot be written there, before any work is done.

    endings : that its name may have; () for any    inputs : files that are read, and must not be replaced
    """
    if endings and not path.name.lower().endswith(endings):
        raise click.BadParameter(f"{path} does not end in {' or '.join(endings)}", param_hint=option)
    try:
        if path.exists() and not path.is_file():  # an error if the name is too long
            kind = "a folder" if path.is_dir() else "not a regular file"
            raise click.BadParameter(f"{path} is {kind}; give the name of a file", param_hint=option)
        tempfile.TemporaryFile(dir=followed(path).parent).close()
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint=option) from error
    for source in inputs:
        with suppress(OSError):
            if path.exists() and path.samefile(source):
                raise click.BadParameter(f"{path} is also what is read; give another name", param_hint=option)


def check_report(path: Path | None, option: str = "--report", inputs: tuple[Path | str, ...] = ()) -> None:
    """The same for a page of HTML, and an error if what writes it is not installed."""
    if path is None:
        return
    check_output(path, (".html", ".htm"), option, inputs)
    if find_spec("jinja2") is None:
        raise click.UsageError(f"{option} needs jinja2, which is not installed: pip install 'poolwise[report]'")


def echo(text: str = "") -> None:
    """Text for people, on stdout: nothing in it steers the terminal."""
    click.echo(plain(text, keep="\n"))


class _Plain:
    """A terminal, for text that a file gets as it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        line = text.removesuffix("\r\n")  # which ends a row of CSV
        return self._stream.write(plain(line, keep="\n") + text[len(line) :])


def print_json(result: Mapping[str, Any]) -> None:
    """Exactly one object, on one line."""
    click.echo(json.dumps(result, allow_nan=False))


@contextmanager
def text_file(path: Path | None) -> Iterator[TextIO]:
    """Where text goes: a file that appears at the end, whole, or stdout. File names that are not text keep their bytes."""
    if path is not None:
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield file
    elif sys.stdout is None:  # closed by the caller
        with tempfile.TemporaryFile("w", encoding="utf-8", errors="surrogateescape") as nowhere:
            yield nowhere
    else:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="surrogateescape")
        yield cast(TextIO, _Plain(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        sys.stdout.flush()


def say(message: str) -> None:
    """A line for people, on stderr; print would fall back to stdout where that is closed."""
    tell(f"poolwise: {message}")


@contextmanager
def clean_warnings(spelled: Callable[[Warning | str], str] = str, *, quiet: bool = False) -> Iterator[None]:
    """Warnings as one line each, without a file name and a line of code, and each text once.

    spelled : a warning's message as the command says it
    quiet : without those of Pillow and libtiff about damage that they decode nevertheless; they name the image's file
    """
    said = set()

    def show(message: Warning | str, category: type[Warning], filename: str, *where: Any, **more: Any) -> None:
        line = " ".join(spelled(message).split())
        if Path(filename).parent.name == "PIL":
            if quiet:
                return
            line = _of_its_file(line)
        if line not in said:
            said.add(line)
            say(f"warning: {line}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _of_its_file(line: str) -> str:
    """What a decoder says, with the name of the file that it decodes."""
    from poolwise.images.errors import show
    from poolwise.images.said import being_decoded

    path = being_decoded()
    return line if path is None else f"{show(path)}: {line}"
